import { createHash } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../../certificates.ts';
import { place } from '../terminal.ts';
import { diagnosis, ofCheck } from './diagnosis.ts';

const SECRET = 'a-secret-that-is-long-enough';
const MODULE = 'export default () => ({ verdict: "yes" });';
const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

interface Found {
  readonly code: number;
  /** `state: because`, of services and modules, and of policies where something is odd. */
  readonly asked: readonly string[];
  readonly notified: readonly string[];
  readonly odd: readonly string[];
}

/** What doctor finds; the settings are made from the path of a file in the folder. */
async function found(
  settings: (path: (name: string) => string) => Readonly<Record<string, unknown>>,
  files: Readonly<Record<string, string>> = {},
  policies?: Readonly<Record<string, string>>,
): Promise<Found> {
  const folder = place(policies === undefined ? {} : { policies });
  const all = { 'risk.secret': SECRET, 'own.mjs': MODULE, ...files };
  const paths = new Map(Object.entries(all).map(([name, text]) => [name, folder.write(name, text)]));
  const written = settings((name) => paths.get(name) ?? `${folder.folder}/${name}`);
  const { run } = place({ ...(policies === undefined ? {} : { policies }), settings: written });
  if (policies !== undefined) await run`policy push --message x`;
  const diagnosed = await diagnosis(run);
  expect(JSON.stringify(diagnosed)).not.toContain(SECRET);
  const odd = ofCheck(diagnosed, 'policies').filter((line) => !line.startsWith('ok'));
  const [asked, notified] = [ofCheck(diagnosed, 'asked'), ofCheck(diagnosed, 'notified')];
  return { code: diagnosed.code, asked, notified, odd };
}

const service = (secret: object, over: object = {}): object => ({
  name: 'risk',
  url: 'https://risk.example/ask?token=hush',
  secret,
  ...over,
});

describe('doctor and services', () => {
  it('in order: names origin and secret, and not the rest of the URL', async () => {
    const { code, asked } = await found((path) => ({ services: [service({ file: path('risk.secret') })] }));
    expect(code).toBe(0);
    expect(asked).toEqual([
      expect.stringMatching(
        /^ok: service risk is called at https:\/\/risk\.example, with the secret in file .*risk\.secret$/,
      ),
    ]);
  });

  it('a secret or an authority that can not be read is a fault, and hides no other', async () => {
    const { code, asked } = await found(
      (path) => ({
        services: [
          service({ file: path('nowhere') }),
          service({ file: path('risk.secret') }, { name: 'a', ca: path('nowhere.pem') }),
          service({ file: path('risk.secret') }, { name: 'b', ca: path('no.pem') }),
        ],
      }),
      { 'no.pem': 'no certificate' },
    );
    expect(code).toBe(1);
    expect(asked).toEqual([
      expect.stringMatching(/^fault: file .*nowhere can't be read/),
      expect.stringMatching(/^fault: the ca of service a: can't read .*nowhere\.pem/),
      expect.stringMatching(/^fault: .*no\.pem is not a PEM certificate/),
    ]);
  });

  it.each([
    ['http://localhost:9000/ask', 0],
    ['http://127.1.2.3:9000/ask', 0],
    ['http://[::1]:9000/ask', 0],
    ['http://10.0.0.7:9000/ask', 1],
    ['http://127.0.0.1.risk.example/ask', 1],
    ['http://risk/ask', 1],
  ])('%s: %d warnings', async (url, warnings) => {
    const { code, asked } = await found((path) => ({
      services: [service({ file: path('risk.secret') }, { url })],
    }));
    expect(code).toBe(0);
    const told = asked.filter((line) => line.startsWith('warning'));
    expect(told).toHaveLength(warnings);
    for (const line of told) expect(line).toContain('others on the network can read every callback');
  });

  it('a short secret, and an authority without use, are warnings', async () => {
    const authority = createAuthority();
    onTestFinished(() => authority.close());
    const over = { url: 'http://localhost/', ca: authority.certificate.certFile };
    const { asked } = await found((path) => ({ services: [service({ file: path('short') }, over)] }), {
      short: 'fifteen letters',
    });
    expect(asked.slice(1)).toEqual([
      expect.stringContaining('the secret of service risk is short'),
      expect.stringContaining('has no effect on an http URL'),
    ]);
  });
});

describe('doctor and notifications', () => {
  const receiver = (secret: object, over: object = {}): object => ({
    url: 'https://chat.example/hook/hush',
    secret,
    events: ['freeze', 'alarm'],
    ...over,
  });

  it('in order: names events, origin and secret, and not the rest of the URL', async () => {
    const { code, notified } = await found((path) => ({
      notifications: [receiver({ file: path('risk.secret') })],
    }));
    expect(code).toBe(0);
    expect(notified).toEqual([
      expect.stringMatching(
        /^ok: freeze, alarm: notifications are sent to https:\/\/chat\.example, with the secret in file .*risk\.secret$/,
      ),
    ]);
  });

  it('what others can read and a short secret are warnings', async () => {
    const over = { url: 'http://10.0.0.7/' };
    const { code, notified } = await found(
      (path) => ({ notifications: [receiver({ file: path('short') }, over)] }),
      { short: 'fifteen letters' },
    );
    expect(code).toBe(0);
    expect(notified.slice(1)).toEqual([
      'warning: the secret of notifications to http://10.0.0.7 is short; make one with `openssl rand -hex 32` for both sides',
      'warning: freeze, alarm: notifications are sent to http://10.0.0.7, where others on the network can read them; use https',
    ]);
  });

  it('a secret that can not be read is a fault, and hides no other', async () => {
    const { code, notified } = await found((path) => ({
      notifications: [
        receiver({ file: path('nowhere') }),
        receiver({ file: path('risk.secret') }, { url: 'https://b.example/' }),
      ],
    }));
    expect(code).toBe(1);
    expect(notified).toEqual([
      expect.stringMatching(/^fault: file .*nowhere can't be read/),
      expect.stringMatching(/^ok: freeze, alarm: notifications are sent to https:\/\/b\.example/),
    ]);
  });
});

describe('doctor and modules', () => {
  const module = (file: string, sha256: string): object => ({
    modules: [{ name: 'own-check', file, sha256 }],
  });

  it('in order: it is loaded', async () => {
    const { code, asked } = await found((path) => ({ ...module(path('own.mjs'), digestOf(MODULE)) }));
    expect(code).toBe(0);
    expect(asked).toEqual([
      expect.stringMatching(/^ok: module own-check is .*own\.mjs, has the right SHA-256 and loads$/),
    ]);
  });

  it('another file, and one that does not load, are faults with their cure', async () => {
    const other = await found((path) => ({ ...module(path('own.mjs'), '0'.repeat(64)) }));
    expect(other.code).toBe(1);
    expect(other.asked[0]).toContain(`has the SHA-256 ${digestOf(MODULE)}`);
    const broken = await found((path) => ({ ...module(path('own.mjs'), digestOf('no')) }), {
      'own.mjs': 'no',
    });
    expect(broken.code).toBe(1);
    expect(broken.asked[0]).toMatch(/^fault: module own-check: .*ReferenceError/);
  });
});

describe('doctor and policies that ask', () => {
  const policyText = `policy: asking
callback: payment
rules:
  - ask: { service: rsik }
  - ask: { service: rsik, with: { a: b } }
  - ask: { service: risk }
  - module: { name: risk }
`;
  const others = `---
policy: transfers
callback: transfer
rules:
  - amount-limit: { max: 1 }
---
policy: web3
callback: web3
rules:
  - amount-limit: { max: 1 }
`;

  it('whom the settings do not name: a warning each', async () => {
    const { code, odd } = await found(
      (path) => ({ services: [service({ file: path('risk.secret') })] }),
      {},
      { 'all.yaml': policyText + others },
    );
    expect(code).toBe(0);
    expect(odd).toEqual([
      'warning: asking calls the service rsik, which the settings do not name under services, so each callback it judges is refused; the services are risk',
      'warning: asking calls the module risk, which the settings do not name under modules, so each callback it judges is refused; there are no modules',
    ]);
  });
});
