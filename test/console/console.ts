import type { Role } from '../../src/console/page.ts';
import { type TestService, type TestServiceOptions, startTestService } from '../service.ts';

/** A service with a console. Each request names its person by a header, in place of a sign-in. */
export interface TestConsole extends TestService {
  /** A page as `ada` sees it, who may operate. */
  get(path: string, as?: Visitor): Promise<Shown>;
  /** What a form of this console sends, as `ada`. */
  send(path: string, form: Readonly<Record<string, string>>, as?: Visitor): Promise<Shown>;
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

/** `start` starts its service, such as one on the store of a `StoreHost`. */
export async function startTestConsole(
  options: TestServiceOptions = {},
  start: (options: TestServiceOptions) => Promise<TestService> = startTestService,
): Promise<TestConsole> {
  const service = await start({
    ...options,
    async identify({ rawHeaders }) {
      const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === HEADER);
      return at === -1 ? undefined : (JSON.parse(decodeURIComponent(rawHeaders[at + 1] ?? '')) as Visitor);
    },
  });
  async function ask(path: string, request: RequestInit, visitor: Visitor): Promise<Shown> {
    const headers = new Headers(request.headers);
    if (visitor !== undefined) headers.set(HEADER, encodeURIComponent(JSON.stringify(visitor)));
    const response = await fetch(`${service.ops}${path}`, { ...request, headers, redirect: 'manual' });
    const [, notice = ''] = /countersign-notice=([^;]*)/.exec(response.headers.get('set-cookie') ?? '') ?? [];
    return {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
      to: response.headers.get('location'),
      notice: decodeURIComponent(notice),
    };
  }
  return {
    ...service,
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
  };
}
