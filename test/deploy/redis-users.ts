import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';

/** Whoever may give rights on a server, and see what was denied. */
export interface Admin {
  ask(command: string, ...args: readonly string[]): Promise<unknown>;
}

export function adminOf(client: Redis): Admin {
  return { ask: (command, ...args) => client.call(command, [...args]) };
}

/** Gives a server the lines, one command each. */
export async function grant(admin: Admin, lines: readonly string[]): Promise<void> {
  for (const line of lines) {
    const [command = '', ...args] = line.split(/\s+/);
    await admin.ask(command, ...args);
  }
}

/** A client of the administrator, or of one of the users; closed when the test is over. */
export function clientOf(port: number, username?: string, password?: string): Redis {
  const client = new Redis({
    host: '127.0.0.1',
    port,
    enableReadyCheck: false,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  });
  onTestFinished(() => client.disconnect());
  return client;
}

/** What was denied since the log was last emptied, a sentence each. */
export async function denied(admin: Admin): Promise<readonly string[]> {
  const entries = await admin.ask('ACL', 'LOG');
  if (!Array.isArray(entries)) throw new Error('ACL LOG is no list');
  return entries.map((entry: unknown) => {
    const fields = new Map(
      Array.isArray(entry)
        ? entry.flatMap((name: unknown, at) => (at % 2 === 0 ? [[String(name), String(entry[at + 1])]] : []))
        : Object.entries(Object(entry)).map(([name, value]) => [name, String(value)]),
    );
    const of = (name: string): string => fields.get(name) ?? '';
    return `${of('username')}: ${of('reason')} ${of('object')} (${of('context')})`;
  });
}
