import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Role } from '../../src/act/act.ts';
import { createPages } from '../../src/console/pages.ts';
import { createConsole } from '../../src/http/console.ts';
import { type TestConsole, startTestConsole } from './console.ts';

/** All forms, and the role that each needs. A new form is added here. */
const FORMS: Readonly<Record<string, Role>> = {
  '/freeze': 'operate',
  '/unfreeze': 'operate',
  '/approvals/approve': 'read',
  '/approvals/sign': 'operate',
  '/approvals/agree': 'operate',
  '/approvals/reject': 'operate',
  '/limits/lift': 'operate',
  '/try': 'read',
  '/policies/candidate': 'read',
  '/policies/backtest': 'operate',
  '/policies/backtest/cancel': 'operate',
  '/policies/push': 'operate',
  '/lists': 'operate',
  '/lists/:source/:list': 'operate',
  '/orders': 'operate',
  '/orders/cancel': 'operate',
  '/prices': 'operate',
  '/prices/remove': 'operate',
  '/journal/close': 'operate',
};
/** What somebody sends who has not signed in. */
const SIGN_IN = ['/sign-in/options', '/sign-in', '/invite/:token/options', '/invite/:token', '/sign-out'];

const { pages, forms } = createPages({} as never);
const VISITORS: readonly (readonly Role[] | undefined)[] = [
  undefined,
  [],
  ['read'],
  ['operate'],
  ['read', 'operate'],
];
const cases = VISITORS.flatMap((roles) => [
  ...forms.map(({ path }) => ({ method: 'POST', path, role: FORMS[path] ?? 'none', roles })),
  ...pages.map(({ path }) => ({ method: 'GET', path, role: 'read', roles })),
]).map((each) => ({ ...each, by: each.roles === undefined ? 'nobody' : `[${each.roles.join(', ')}]` }));

it('the routes that change something are the forms of the pages and those of signing in', () => {
  expect(Object.fromEntries(forms.map(({ path, role }) => [path, role]))).toEqual(FORMS);
  expect(forms).toHaveLength(Object.keys(FORMS).length);
  const { stack } = createConsole(
    { pages, forms, passkeys: {} as never, identify: {} as never, frozen: {} as never, fourEyes: undefined },
    () => undefined,
  );
  type Layer = (typeof stack)[number];
  const routesOf = ({ route, handle }: Layer): readonly string[] =>
    route === undefined
      ? ((handle as { readonly stack?: readonly Layer[] }).stack ?? []).flatMap(routesOf)
      : route.stack.filter(({ method }) => method !== 'get').map(({ method }) => `${method} ${route.path}`);
  expect(stack.flatMap(routesOf).sort()).toEqual(
    [...SIGN_IN, ...Object.keys(FORMS)].map((path) => `post ${path}`).sort(),
  );
});

describe('each page and act', () => {
  let console: TestConsole;
  beforeAll(async () => {
    console = await startTestConsole();
  });
  afterAll(() => console.stop());

  it.each(cases)('$method $path, which needs $role, by $by', async ({ method, path, role, roles }) => {
    const before = await stateOf(console);
    const visitor = encodeURIComponent(JSON.stringify({ name: 'visitor', roles }));
    const response = await fetch(
      `${console.ops}/console${path.replace(':source', 'shop').replace(':list', 'none').replaceAll(/:\w+/g, 'none')}`,
      {
        method,
        redirect: 'manual',
        headers: {
          'sec-fetch-site': 'same-origin',
          ...(roles !== undefined && { 'x-test-person': visitor }),
        },
        ...(method === 'POST' && { body: new URLSearchParams() }),
      },
    );
    const text = await response.text();
    const isAllowed = roles?.some((each) => each === role || role === 'read') === true;
    const refused = roles === undefined ? 401 : 403;
    expect(outcomeOf(response.status)).toBe(isAllowed ? 'allowed' : refused);
    // Somebody outside sees nothing, not even the names of the pages.
    const isInside = roles !== undefined && roles.length > 0;
    expect(!isInside && /<nav|Readiness|frozen/.test(text)).toBe(false);
    expect(text.includes('You are visitor, but have no role in this console')).toBe(roles?.length === 0);
    // The forms are empty, so none of them changes anything.
    expect(await stateOf(console)).toEqual(before);
  });
});

const outcomeOf = (status: number): number | 'allowed' =>
  [401, 403, 500].includes(status) ? status : 'allowed';

async function stateOf({ store }: TestConsole): Promise<object> {
  const [control, lists, prices, entries] = await Promise.all([
    store.control(),
    store.lists('shop'),
    store.prices(),
    store.journalSize('shop'),
  ]);
  return { frozen: control.frozen, revision: control.revision, lists, prices: prices.version, entries };
}
