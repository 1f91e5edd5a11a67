import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { fencedLines, textOf } from './documents.ts';

/** Passwords as the document writes them, and as the tests give them. */
export const PASSWORDS = {
  'SERVICE-PASSWORD': 'password-of-the-service',
  'OPERATOR-PASSWORD': 'password-of-the-operator',
  'ADMINISTRATOR-PASSWORD': 'password-of-the-administrator',
  'SENTINEL-PASSWORD': 'password-of-the-sentinels',
  'REPLICA-PASSWORD': 'password-of-the-replicas',
} as const;

export type Section =
  | 'service'
  | 'operator'
  | 'administrator'
  | 'probe'
  | 'default'
  | 'prices'
  | 'console'
  | 'push'
  | 'cluster'
  | 'newer'
  | 'sentinel'
  | 'replica';

/** The `ACL SETUSER` lines of docs/redis.md, by the language of their fence: `acl-service` and so on. */
export function documentedUsers(): Readonly<Record<Section, readonly string[]>> {
  const markdown = textOf('docs/redis.md').replaceAll(/^```acl (\w+)$/gm, '```acl_$1');
  const lines = (section: Section): readonly string[] =>
    fencedLines(markdown, `acl_${section}`).map((line) =>
      Object.entries(PASSWORDS).reduce((text, [name, password]) => text.replaceAll(name, password), line),
    );
  return {
    service: lines('service'),
    operator: lines('operator'),
    administrator: lines('administrator'),
    probe: lines('probe'),
    default: lines('default'),
    prices: lines('prices'),
    console: lines('console'),
    push: lines('push'),
    cluster: lines('cluster'),
    newer: lines('newer'),
    sentinel: lines('sentinel'),
    replica: lines('replica'),
  };
}

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
