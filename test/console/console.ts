import { join } from 'node:path';
import { Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { startConsole } from '../../src/start/console.ts';
import type { Role } from '../../src/act/act.ts';
import { createLog } from '../../src/observe/log.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { systemClock } from '../../src/values/clock.ts';
import { type TestService, type TestServiceOptions, startTestService } from '../service.ts';

/**
 * A service, and a console in the process of the test. Each request names its person by a header, in place of
 * a sign-in.
 */
export interface TestConsole extends Omit<TestService, 'ops'> {
  /** Where the console is, in place of the ops port of the service. */
  readonly ops: string;
  /** A page as `ada` sees it, who may operate. */
  get(path: string, as?: Visitor): Promise<Shown>;
  /** What a form of this console sends, as `ada`. */
  send(path: string, form: Readonly<Record<string, string>> | URLSearchParams, as?: Visitor): Promise<Shown>;
}

/** `undefined` has not signed in. */
export type Visitor = { readonly name: string; readonly roles: readonly Role[] } | undefined;

export interface Shown {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where a form leads, and what it says there. */
  readonly to: string | null;
  readonly notice: string;
}

export const ADA: NonNullable<Visitor> = { name: 'ada', roles: ['read', 'operate'] };
export const READER: NonNullable<Visitor> = { name: 'rita', roles: ['read'] };

const HEADER = 'x-test-person';

export interface TestConsoleOptions extends TestServiceOptions {
  /** Whether the console knows nothing of a service. */
  readonly alone?: boolean;
}

/** `start` starts its service, such as one on the store of a `StoreHost`. */
export async function startTestConsole(
  { alone = false, ...options }: TestConsoleOptions = {},
  start: (options: TestServiceOptions) => Promise<TestService> = startTestService,
): Promise<TestConsole> {
  const service = await start(options);
  const settingsFile = join(service.folder, 'settings.yaml');
  const { env = {}, clock = systemClock } = options;
  const settings = loadSettings({ file: settingsFile, env: {} });
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().trim().split('\n'))
        lines.push(JSON.parse(line) as Record<string, unknown>);
      done();
    },
  });
  const program = await startConsole({
    settings: { ...settings, console: { ...settings.console, port: 0 } },
    settingsFile,
    env,
    clock,
    log: createLog({ level: 'info', stream }),
    ...(!alone && { askService: service.state }),
    async identify({ rawHeaders }) {
      const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === HEADER);
      return at === -1 ? undefined : (JSON.parse(decodeURIComponent(rawHeaders[at + 1] ?? '')) as Visitor);
    },
  });
  async function ask(path: string, request: RequestInit, visitor: Visitor): Promise<Shown> {
    const headers = new Headers(request.headers);
    if (visitor !== undefined) headers.set(HEADER, encodeURIComponent(JSON.stringify(visitor)));
    const response = await fetch(`${program.url}${path}`, { ...request, headers, redirect: 'manual' });
    const [, notice = ''] = /countersign-notice=([^;]*)/.exec(response.headers.get('set-cookie') ?? '') ?? [];
    return {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
      to: response.headers.get('location'),
      notice: decodeURIComponent(notice),
    };
  }
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= program.close());
  // Such a service is stopped at the end of its test.
  if (start !== startTestService) onTestFinished(close);
  return {
    ...service,
    ops: program.url,
    get log() {
      return [...service.log, ...lines];
    },
    get: (path, ...[as = ADA]) => ask(path, {}, as),
    send: (path, form, ...[as = ADA]) =>
      ask(
        path,
        {
          method: 'POST',
          headers: { 'sec-fetch-site': 'same-origin' },
          body: new URLSearchParams(form),
        },
        as,
      ),
    async stop(how) {
      await close();
      await service.stop(how);
    },
  };
}
