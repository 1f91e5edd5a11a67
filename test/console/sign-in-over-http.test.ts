import express from 'express';
import request from 'supertest';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createInvitations } from '../../src/console/sign-in/invitations.ts';
import { createPeople } from '../../src/console/sign-in/people.ts';
import { createConsole } from '../../src/http/console.ts';
import { systemClock } from '../../src/values/clock.ts';
import { onNextPort } from '../ports.ts';
import { type TestService, startTestService } from '../service.ts';
import { createAuthenticator } from './authenticator.ts';

const COOKIE = 'countersign';
const SAME = { 'sec-fetch-site': 'same-origin' };
const NOT_SENT_HERE = 'The form was not sent by a page of this console';

/** A service with passkeys, and with `proxy` also a single sign-on proxy at this machine. */
async function started({ proxy = false }: { readonly proxy?: boolean } = {}) {
  const named = {
    proxy: {
      header: 'x-signed-in',
      addresses: ['127.0.0.0/8', '::1'],
      people: [{ name: 'rita', roles: ['read'] }],
    },
  };
  const service = await onNextPort((port) =>
    startTestService({
      settings: {
        ops: { port: `${port}`, hosts: ['ops.example'] },
        console: {
          passkeys: { host: 'localhost', origin: `http://localhost:${port}` },
          ...(proxy && named),
        },
      },
    }),
  );
  onTestFinished(() => service.stop());
  const origin = `http://localhost:${new URL(service.ops).port}`;
  const people = createPeople(service.store, systemClock);
  const invitations = createInvitations(service.store, people, systemClock);
  const device = createAuthenticator({ host: 'localhost', origin });
  const send = (path: string, headers: Headers, body?: object): Promise<Response> =>
    fetch(`${service.ops}/console${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
  const json = async (path: string, body: object, cookie?: string): Promise<Response> =>
    send(
      path,
      new Headers({ ...SAME, 'content-type': 'application/json', ...(cookie !== undefined && { cookie }) }),
      body,
    );
  const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${service.ops}/console${path}`, { redirect: 'manual', headers });
  const invite = (name: string): Promise<string> =>
    invitations.create({ name, roles: ['operate'], keepMs: 60_000 });
  const optionsOf = async (path: string): Promise<never> => (await (await json(path, {})).json()) as never;
  async function enrolled(name: string, cookie?: string, by = device): Promise<string> {
    const token = await invite(name);
    const answer = by.enrol(await optionsOf(`/invite/${token}/options`));
    return sessionOf(await json(`/invite/${token}`, answer, cookie));
  }
  const signedIn = async (cookie?: string): Promise<string> =>
    sessionOf(await json('/sign-in', device.signIn(await optionsOf('/sign-in/options')), cookie));
  /** Who sees the first page with this cookie, and other headers. */
  async function seenAs(cookie: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
    const response = await get('/', { ...headers, cookie });
    return /class="person"[^>]*>([^<]*)</.exec(await response.text())?.[1] ?? `${response.status}`;
  }
  return {
    service,
    origin,
    people,
    invitations,
    device,
    send,
    json,
    get,
    invite,
    enrolled,
    signedIn,
    seenAs,
  };
}

/** The token in the cookie of a sign-in. */
function sessionOf(response: Response): string {
  expect(response.status).toBe(200);
  const cookie = response.headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(/^countersign=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  return cookie.slice(`${COOKIE}=`.length, cookie.indexOf(';'));
}

describe('a request that another page sends', () => {
  const foreign: readonly (readonly [string, (origin: string) => Readonly<Record<string, string>>])[] = [
    ['without a header', () => ({})],
    ['typed by hand', () => ({ 'sec-fetch-site': 'none' })],
    ['of another site', () => ({ 'sec-fetch-site': 'cross-site' })],
    ['of another host of the site', () => ({ 'sec-fetch-site': 'same-site' })],
    ['of another site that names this origin', (origin) => ({ 'sec-fetch-site': 'cross-site', origin })],
    ['of a null origin', () => ({ origin: 'null' })],
    ['of an empty origin', () => ({ origin: '' })],
    ['of another host', () => ({ origin: 'https://evil.example' })],
    ['of another port', () => ({ origin: 'http://localhost:1' })],
    ['of another scheme', (origin) => ({ origin: origin.replace('http:', 'ftp:') })],
    ['of the same host over TLS', (origin) => ({ origin: origin.replace('http:', 'https:') })],
    ['of the address of the host', (origin) => ({ origin: origin.replace('localhost', '127.0.0.1') })],
    ['of an origin with a path', (origin) => ({ origin: `${origin}/` })],
    ['of an origin with a user', (origin) => ({ origin: origin.replace('//', '//x@') })],
  ];

  it('neither signs in nor out, nor uses an invitation', async () => {
    const { origin, device, send, invite, invitations, enrolled, seenAs } = await started();
    const session = await enrolled('ada');
    const token = await invite('eve');
    const paths = [
      '/sign-in/options',
      '/sign-in',
      `/invite/${token}/options`,
      `/invite/${token}`,
      '/sign-out',
      '/freeze',
    ];
    for (const [name, headersOf] of foreign) {
      for (const path of paths) {
        const headers = new Headers({ 'content-type': 'application/json', cookie: `${COOKIE}=${session}` });
        for (const [header, value] of Object.entries(headersOf(origin))) headers.set(header, value);
        const response = await send(path, headers, device.signIn({ challenge: 'AAAA' }));
        expect([name, path, response.status]).toEqual([name, path, 403]);
        expect(await response.text()).toContain(NOT_SENT_HERE);
        expect(response.headers.get('set-cookie')).toBeNull();
      }
    }
    expect(await seenAs(`${COOKIE}=${session}`)).toBe('ada');
    expect(await invitations.find(token)).toMatchObject({ name: 'eve' });
    // It is the request that is refused, not the route.
    for (const headers of [SAME, { origin }]) {
      const form = new Headers({ 'content-type': 'application/json', ...headers });
      expect((await send('/sign-in/options', form, {})).status).toBe(200);
    }
  });

  it('is not needed to learn at which address a passkey works', async () => {
    const { origin, get } = await started({ proxy: false });
    for (const path of ['/', '/sign-in']) {
      expect(await (await get(path)).text()).toContain(`It works only at ${origin}/console/`);
    }
  });

  it('is known by its origin where a proxy names people, too', async () => {
    const { service, origin, send } = await started({ proxy: true });
    const port = new URL(service.ops).port;
    const statusOf = async (from: string): Promise<number> => {
      const headers = new Headers({ 'content-type': 'application/json', origin: from });
      return (await send('/sign-in/options', headers, {})).status;
    };
    // The proxy may speak TLS, and the browser calls it by the host that it passes on.
    const host = `127.0.0.1:${port}`;
    for (const own of [origin, `http://${host}`, `https://${host}`]) expect(await statusOf(own)).toBe(200);
    for (const other of [
      `ftp://${host}`,
      'https://127.0.0.1',
      'http://localhost:1',
      `${origin}.evil`,
      'null',
    ])
      expect([other, await statusOf(other)]).toEqual([other, 403]);
  });
});

describe('a session', () => {
  it('is never one that was planted before the sign-in', async () => {
    const { enrolled, signedIn, seenAs } = await started();
    const planted = 'P'.repeat(43);
    const first = await enrolled('ada', `${COOKIE}=${planted}`);
    const second = await signedIn(`${COOKIE}=${planted}`);
    expect(new Set([planted, first, second]).size).toBe(3);
    expect(await seenAs(`${COOKIE}=${planted}`)).toBe('401');
    expect(await seenAs(`${COOKIE}=${second}`)).toBe('ada');
  });

  it('of somebody else that was planted stays theirs', async () => {
    const { origin, enrolled, signedIn, seenAs } = await started();
    const theirs = await enrolled('eve', undefined, createAuthenticator({ host: 'localhost', origin }));
    await enrolled('ada', `${COOKIE}=${theirs}`);
    const own = await signedIn(`${COOKIE}=${theirs}`);
    expect(own).not.toBe(theirs);
    expect(await seenAs(`${COOKIE}=${theirs}`)).toBe('eve');
    expect(await seenAs(`${COOKIE}=${own}`)).toBe('ada');
  });

  it('is nobody’s, and ends for nobody, where a second cookie has the name', async () => {
    const { send, enrolled, seenAs } = await started();
    const session = await enrolled('ada');
    for (const other of [session, 'P'.repeat(43), '']) {
      for (const cookie of [
        `${COOKIE}=${session}; ${COOKIE}=${other}`,
        `${COOKIE}=${other}; ${COOKIE}=${session}`,
      ]) {
        expect(await seenAs(cookie)).toBe('401');
        expect((await send('/sign-out', new Headers({ ...SAME, cookie }))).status).toBe(200);
      }
    }
    expect(await seenAs(`${COOKIE}=${session}`)).toBe('ada');
    await send('/sign-out', new Headers({ ...SAME, cookie: `${COOKIE}=${session}` }));
    expect(await seenAs(`${COOKIE}=${session}`)).toBe('401');
  });

  it('goes before the name that a proxy says, and ends without it', async () => {
    const { send, enrolled, seenAs, people } = await started({ proxy: true });
    const session = await enrolled('ada');
    const named = { 'x-signed-in': 'rita' };
    expect(await seenAs('', named)).toBe('rita');
    expect(await seenAs(`${COOKIE}=${session}`)).toBe('ada');
    expect(await seenAs(`${COOKIE}=${session}`, named)).toBe('ada');
    expect(await seenAs(`${COOKIE}=${'P'.repeat(43)}`, named)).toBe('rita');
    expect(await seenAs('', { 'x-signed-in': 'ada' })).toBe('401');
    await people.change('ada', (member) => member && { ...member, roles: [] });
    expect(await seenAs(`${COOKIE}=${session}`, named)).toBe('403');
    await send('/sign-out', new Headers({ ...SAME, ...named, cookie: `${COOKIE}=${session}` }));
    expect(await seenAs(`${COOKIE}=${session}`, named)).toBe('rita');
    expect(await seenAs(`${COOKIE}=${session}`)).toBe('401');
  });
});

describe('the notice of an act', () => {
  const planted = `countersign-notice=${encodeURIComponent('Call 555')}`;

  it('is shown to nobody who has not signed in', async () => {
    const { get, enrolled } = await started();
    for (const path of ['/', '/sign-in', '/invite/x', '/none', '/decisions']) {
      const response = await get(path, { cookie: planted });
      expect(await response.text()).not.toContain('555');
    }
    const cookie = `${COOKIE}=${await enrolled('ada')}; ${planted}`;
    expect(await (await get('/', { cookie })).text()).toContain('Call 555');
  });

  it.each([
    ['http', 'http://localhost:9090', {}, false],
    ['TLS, as the settings say', 'https://localhost:9090', {}, true],
  ])('goes over %s', async (_name, origin, headers, isSecure) => {
    const service: TestService = await startTestService({
      settings: { console: { passkeys: { host: 'localhost', origin } } },
    });
    onTestFinished(() => service.stop());
    const people = createPeople(service.store, systemClock);
    const invitations = createInvitations(service.store, people, systemClock);
    const device = createAuthenticator({ host: 'localhost', origin });
    const token = await invitations.create({ name: 'ada', roles: ['operate'], keepMs: 60_000 });
    const post = (path: string, body: string, type: string, cookie = ''): Promise<Response> =>
      fetch(`${service.ops}/console${path}`, {
        method: 'POST',
        redirect: 'manual',
        headers: { ...SAME, ...headers, 'content-type': type, cookie },
        body,
      });
    const options = await (await post(`/invite/${token}/options`, '{}', 'application/json')).json();
    const answer = JSON.stringify(device.enrol(options as never));
    const enrolled = await post(`/invite/${token}`, answer, 'application/json');
    const [session = ''] = (enrolled.headers.get('set-cookie') ?? '').split(';');
    expect(session).toMatch(isSecure ? /^__Host-countersign=/ : /^countersign=/);
    const form = 'reason=drill&confirmation=freeze';
    const frozen = await post('/freeze', form, 'application/x-www-form-urlencoded', session);
    expect(frozen.status).toBe(303);
    expect(frozen.headers.get('set-cookie')).toMatch(
      isSecure ? /^countersign-notice=.*; Secure$/ : /^countersign-notice=.*; SameSite=Strict$/,
    );
  });
});

it('the log has no token of an invitation whose page failed', async () => {
  const token = 'T'.repeat(43);
  const failed: string[] = [];
  const broken = (): Promise<never> => Promise.reject(new Error('broken'));
  const parts = {
    fourEyes: undefined,
    pages: [],
    forms: [],
    identify: broken,
    frozen: broken,
    passkeys: {
      passkeys: { invitation: broken, enrolmentOptions: broken, enrol: broken },
      failures: { areTooMany: () => false },
      challenges: { areTooMany: () => false, count: () => undefined },
    } as never,
  };
  const app = express();
  app.use(
    '/console',
    createConsole(parts, (name) => void failed.push(name)),
  );
  const send = (path: string) => request(app).post(path).set(SAME).type('application/json').send('{}');
  expect((await request(app).get(`/console/invite/${token}`)).status).toBe(500);
  expect((await request(app).get(`/CONSOLE/invite/${token}/`)).status).toBe(500);
  expect((await send(`/console/invite/${token}`)).status).toBe(500);
  expect((await send(`/console/invite/${token}/options`)).status).toBe(500);
  expect((await request(app).get('/console/decisions')).status).toBe(500);
  expect(failed).toEqual([
    'GET /console/invite/TOKEN',
    'GET /CONSOLE/invite/TOKEN/',
    'POST /console/invite/TOKEN',
    'POST /console/invite/TOKEN/options',
    'GET /console/decisions',
  ]);
});
