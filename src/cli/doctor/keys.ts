import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { messageOf } from '../../errors.ts';
import { startModule } from '../../plugins/module.ts';
import { demoCredentials, readPem } from '../../settings/secrets.ts';
import type { Settings, SourceSettings } from '../../settings/schema.ts';
import { sharedKeys } from '../../signature/authenticate.ts';
import { authenticatorOf } from '../../start/sources.ts';
import type { PortName } from '../../start/files.ts';
import { isLoopback } from '../../values/loopback.ts';
import { type ReadSecret, type SecretRef, acceptedSecrets, nameOfSecret } from '../../values/secret.ts';
import { counted, isoTime } from '../print.ts';
import {
  type Examined,
  type Found,
  type Problem,
  fault,
  guarded,
  guardedEach,
  hasFault,
  ok,
  problemsOf,
  warning,
} from './finding.ts';

/** Checks the keys of each source and the certificate of each port. Then reports weaknesses. */
export async function checkKeys({ session, settings }: Examined): Promise<readonly Found[]> {
  const secrets = session.secrets();
  const found = [
    ...(await guardedEach(settings.sources, (source) => keysOfSource(settings, source, secrets.read))),
  ];
  if (!hasFault(found)) {
    const shared = sharedKeys(authenticatorOf(settings, secrets.read).describe());
    found.push(...shared.map((because) => warning(because)));
  }
  const { token } = settings.ops;
  const tokens = await guarded(() => (token === undefined ? [] : [tokenOf(token, secrets.read)]));
  const ports = await guardedEach(['public', 'ops'] as const, (port) =>
    certificateOfPort(port, settings[port].tls, secrets.read, session.clock()),
  );
  const weak = [...demoCredentials(settings, secrets.read), ...secrets.warnings()];
  return [...found, ...tokens, ...ports, ...weak.map((because) => warning(because))];
}

function keysOfSource(settings: Settings, source: SourceSettings, readSecret: ReadSecret): readonly Found[] {
  const described = authenticatorOf({ ...settings, sources: [source] }, readSecret).describe();
  return described.flatMap(({ source: name, accepts, keys, warnings }) => {
    const lines = keys.map(({ role, fingerprint }) => `\n  ${role} ${fingerprint}`).join('');
    return [
      ok(`${name} authenticates by ${accepts.join(', ')}${lines}`),
      ...warnings.map((because) => warning(`${name}: ${because}`)),
    ];
  });
}

function tokenOf(token: SecretRef, readSecret: ReadSecret): Found {
  const accepted = acceptedSecrets(token, readSecret).length;
  return ok(`the API accepts ${counted(accepted, 'token')}, in ${nameOfSecret(token)}`);
}

const EXPIRES_SOON_MS = 30 * 86_400_000;

function certificateOfPort(
  port: PortName,
  tls: Settings['public']['tls'],
  readSecret: ReadSecret,
  nowMs: number,
): readonly Found[] {
  if (tls === undefined) return [];
  const cert = readPem(tls.certificate, `${port}.tls.certificate`);
  try {
    const ca = tls.clientCa === undefined ? undefined : readPem(tls.clientCa, `${port}.tls.clientCa`);
    createSecureContext({ cert, key: readSecret(tls.key), ca });
  } catch (thrown) {
    const cure = 'the certificate and the key must be PEM and belong together';
    return [fault(`${port}.tls: ${messageOf(thrown)}`, cure)];
  }
  const untilMs = Date.parse(new X509Certificate(cert).validTo);
  const because = `the certificate of ${port}.tls is valid until ${isoTime(untilMs)}`;
  if (untilMs <= nowMs) return [fault(because, 'replace it')];
  return [untilMs - nowMs < EXPIRES_SOON_MS ? warning(because, 'replace it soon') : ok(because)];
}

/**
 * Checks the secret and certificate of each service, and whether each module loads and has its SHA-256. Sends
 * no question.
 */
export async function checkPlugins({ session, settings }: Examined): Promise<readonly Found[]> {
  const { read } = session.secrets();
  return [
    ...(await guardedEach(settings.services, (service) => {
      const what = `service ${service.name}`;
      return checkCalled({ ...service, what, calls: `${what} is called at`, sends: 'every callback' }, read);
    })),
    ...(await guardedEach(settings.modules, checkModule)),
  ];
}

/** Checks the secret and certificate of each receiver. Sends nothing, because people would read it. */
export function checkNotifications({ session, settings }: Examined): Promise<readonly Found[]> {
  return guardedEach(settings.notifications, ({ events, ...receiver }) => {
    const what = `notifications to ${new URL(receiver.url).origin}`;
    const calls = `${events.join(', ')}: notifications are sent to`;
    return checkCalled({ ...receiver, what, calls, sends: 'them' }, session.secrets().read);
  });
}

/** What is called by HTTP, signed with a secret. */
interface Called {
  readonly url: string;
  readonly secret: SecretRef;
  readonly ca?: string | undefined;
  readonly what: string;
  /** The start of a sentence that ends with the address. */
  readonly calls: string;
  readonly sends: string;
}

/** The least number of characters. A shorter secret can be found by brute force. */
const SHORT_SECRET = 16;

const CALLED_PROBLEMS: readonly Problem<{ called: Called; url: URL; shortest: number }>[] = [
  {
    state: 'warning',
    if: ({ shortest }) => shortest < SHORT_SECRET,
    because: ({ called }) => `the secret of ${called.what} is short`,
    cure: 'make one with `openssl rand -hex 32` for both sides',
  },
  {
    state: 'warning',
    if: ({ url }) => url.protocol === 'http:' && !isLoopback(url.hostname),
    because: ({ called, url }) =>
      `${called.calls} ${url.origin}, where others on the network can read ${called.sends}`,
    cure: 'use https',
  },
  {
    state: 'warning',
    if: ({ called, url }) => called.ca !== undefined && url.protocol === 'http:',
    because: ({ called }) => `the ca of ${called.what} has no effect on an http URL`,
    cure: 'delete it',
  },
];

function checkCalled(called: Called, readSecret: ReadSecret): readonly Found[] {
  const { secret, ca, what } = called;
  const url = new URL(called.url);
  const accepted = acceptedSecrets(secret, readSecret).map(({ text }) => text);
  const facts = { called, url, shortest: Math.min(...accepted.map(({ length }) => length)) };
  if (ca !== undefined) expectCertificate(ca, what);
  return [
    ok(`${called.calls} ${url.origin}, with the secret in ${nameOfSecret(secret)}`),
    ...problemsOf(CALLED_PROBLEMS, facts),
  ];
}

function expectCertificate(ca: string, what: string): void {
  const pem = readPem(ca, `the ca of ${what}`);
  try {
    void new X509Certificate(pem);
  } catch (thrown) {
    throw new Error(`${ca} is not a PEM certificate: ${messageOf(thrown)}`, { cause: thrown });
  }
}

async function checkModule(module: Settings['modules'][number]): Promise<readonly Found[]> {
  const loaded = await startModule({ ...module, concurrency: 1 }, () => undefined);
  await loaded.close();
  return [ok(`module ${module.name} is ${module.file}, has the right SHA-256 and loads`)];
}
