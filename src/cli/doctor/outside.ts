import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { createServer } from 'node:net';
import { z } from 'zod';
import { expectDirectory, lockDirectory } from '../../archive/folder.ts';
import { createPeople } from '../../console/sign-in/people.ts';
import { CountersignError, messageOf } from '../../errors.ts';
import { createPlatform } from '../../../packages/platform/index.ts';
import { dateAt, dateBefore, readDay } from '../../reconcile/day.ts';
import { readRecords } from '../../reconcile/records.ts';
import { stateOf } from '../../reconcile/state.ts';
import { consoleAddress, isWithService, originOf } from '../../settings/console.ts';
import { platformWarning } from '../../settings/platform.ts';
import type { Settings } from '../../settings/schema.ts';
import { readPem } from '../../settings/secrets.ts';
import type { Store } from '../../store/store.ts';
import type { Clock } from '../../values/clock.ts';
import { askOps, opsUrl } from '../health.ts';
import { connect } from '../platform/connection.ts';
import { counted, isoTime } from '../print.ts';
import type { SourceOf } from '../sender-keys.ts';
import { type Examined, type Found, fault, guarded, hasFault, ok, warning } from './finding.ts';

// ---- the platform ----

const PLATFORM_TIMEOUT_MS = 5000;

/**
 * Checks the address of the platform, and the credentials of each payment source: whether the keys can be
 * read, and whether the platform answers a request for yesterday's bill. The service decides without the
 * platform, so what fails is a fault only if the service reconciles.
 */
export async function checkPlatform(examined: Examined): Promise<readonly Found[]> {
  const { platform, sources } = examined.settings;
  if (platform.url === undefined) return [];
  const weak = platformWarning(platform);
  const payments = sources.filter((source) => source.callback === 'payment');
  return [
    ...(weak === undefined ? [] : [warning(weak)]),
    ...(await Promise.all(payments.map((source) => askForBill(examined, source)))),
  ];
}

async function askForBill({ session, settings }: Examined, source: SourceOf<'payment'>): Promise<Found> {
  const { zone, directory } = settings.reconcile;
  const day = dateBefore(dateAt(session.clock(), zone));
  try {
    const bounds = { timeoutMs: PLATFORM_TIMEOUT_MS, retries: 0 };
    const { config, parts } = connect(session, source, bounds);
    const { count } = await createPlatform(config, parts).bill.list({ day, pageNum: '1', pageSize: '1' });
    const { origin } = new URL(config.url);
    const has = `its bill of ${day} has ${counted(count, 'record')}`;
    return ok(`${origin} answers ${source.name} with ${config.credentials.scheme}; ${has}`);
  } catch (thrown) {
    const because = `${source.name}: ${messageOf(thrown)}`;
    return directory === undefined ? warning(because) : fault(because);
  }
}

// ---- the console ----

/** Checks whether browsers can use passkeys with these settings, and says who can enter. */
export async function checkConsole({ session, settings, store }: Examined): Promise<readonly Found[]> {
  const { console, ops } = settings;
  if (console === undefined) return [];
  const { passkeys, proxy } = console;
  // The console has the TLS of the ops port also on a port of its own.
  const port = isWithService(console)
    ? ({ name: 'the ops port', number: ops.port } as const)
    : ({ name: 'the port of the console', number: consoleAddress(console).port } as const);
  return [
    ...(passkeys === undefined ? [] : [checkOrigin(originOf(passkeys), ops.tls, port)]),
    ...(passkeys === undefined || store === undefined ? [] : [await whoHasPasskeys(store, session.clock)]),
    ...(proxy === undefined ? [] : [whoIsNamed(proxy)]),
  ];
}

function checkOrigin(
  origin: string,
  tls: Settings['ops']['tls'],
  port: { readonly name: string; readonly number: number },
): Found {
  const { protocol, hostname, port: named } = new URL(origin);
  const address = `people sign in with passkeys at ${origin}/console/`;
  if (tls === undefined && protocol === 'https:') {
    return ok(`${address}; a proxy before ${port.name} must end TLS, because ops.tls is not set`);
  }
  if (tls !== undefined && !coversHost(tls.certificate, hostname)) {
    return fault(
      `${address}, but the certificate of ops.tls is not valid for ${hostname}`,
      'use one that has the name among its subject alternative names',
    );
  }
  const seen = named === '' ? '443' : named;
  if (port.number === 0 || seen === `${port.number}`) return ok(address);
  return warning(
    `${address}, but ${port.name} is ${port.number}`,
    `write that port in console.passkeys.origin, unless something forwards ${seen} to it`,
  );
}

const coversHost = (file: string, host: string): boolean =>
  new X509Certificate(readPem(file, 'ops.tls.certificate')).checkHost(host) !== undefined;

async function whoHasPasskeys(store: Store, clock: Clock): Promise<Found> {
  const people = await createPeople(store, clock).all();
  const named = counted(people.length, 'person', 'people');
  return people.length === 0
    ? ok('nobody has a passkey yet; invite somebody with `countersign console invite NAME --role operate`')
    : ok(`${named} with passkeys: \`countersign console people\` lists them`);
}

function whoIsNamed({
  header,
  addresses,
  people,
}: NonNullable<NonNullable<Settings['console']>['proxy']>): Found {
  const named = counted(people.length, 'person', 'people');
  return ok(`${addresses.join(', ')} may name ${named} in the header ${header}`);
}

// ---- the reconciliation ----

const MINUTE_MS = 60_000;

/** Checks the directory in which the service reconciles: its disk, its records, and what is overdue. */
export async function checkReconcile({ session, settings }: Examined): Promise<readonly Found[]> {
  const { directory } = settings.reconcile;
  if (directory === undefined) return [];
  const usable = await guarded(() => checkDirectory(directory));
  if (hasFault(usable)) return usable;
  return [...usable, ...(await guarded(() => checkRuns(directory, settings.reconcile, session.clock())))];
}

function checkDirectory(directory: string): readonly Found[] {
  expectDirectory(directory);
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    lockDirectory(directory, 'reconciliation').release();
    return [];
  } catch (thrown) {
    if (!(thrown instanceof CountersignError)) {
      return [fault(messageOf(thrown), 'let the user that runs the service write to it')];
    }
    const isRunning = thrown.data['held'] === true;
    return [isRunning ? ok(`a reconciliation is running in ${directory}`) : fault(thrown.message)];
  }
}

function checkRuns(
  directory: string,
  { zone, settleMinutes, delayMinutes, firstDay }: Settings['reconcile'],
  nowMs: number,
): readonly Found[] {
  const { days, last, next = firstDay, open } = stateOf(readRecords(directory));
  if (last !== undefined && last.zone !== zone) {
    return [
      fault(
        `the runs in ${directory} have days of ${last.zone}, and reconcile.zone is ${zone}`,
        'write that zone, or name another directory',
      ),
    ];
  }
  const has = last === undefined ? 'no run yet' : `${counted(days, 'day')} up to ${last.day}`;
  const found = [ok(`${directory} has ${has}`)];
  if (open.length > 0) {
    found.push(
      warning(`${counted(open.length, 'exception')} open`, '`countersign reconcile show` lists them'),
    );
  }
  const dueMs =
    next === undefined ? Infinity : readDay(next, zone).untilMs + (settleMinutes + delayMinutes) * MINUTE_MS;
  if (dueMs < nowMs) {
    found.push(
      warning(
        `${next} is due since ${isoTime(dueMs)} and not reconciled`,
        'see `reconcile-failed` in the log of the service',
      ),
    );
  }
  return found;
}

// ---- the ports ----

/** Checks whether the ports are free, or whether a running service is ready. */
export async function checkPorts({
  settings: { public: publicPort, ops },
}: Examined): Promise<readonly Found[]> {
  const running = await readinessAt(ops);
  if (running === undefined) return [await checkFree('public', publicPort), await checkFree('ops', ops)];
  const because = `a Countersign service is running at ${opsUrl(ops)}`;
  const used = await keysUsed(ops);
  if (running.ready) return [ok(`${because}, and ready`), ...used];
  const wrong = running.checks.filter((check) => !check.ok);
  const why = wrong.map((check) => `${check.name}: ${check.because}`).join('; ');
  return [fault(`${because}, and not ready: ${why}`), ...used];
}

const KEY_LAST_USED = /^countersign_key_last_used_timestamp_seconds\{owner="(.*)",key="(.*)"\} (\S+)$/gm;

/** When the running service last used each key and secret: what an operator must know to remove an old one. */
async function keysUsed(ops: Settings['ops']): Promise<readonly Found[]> {
  const metrics = await askOps(ops, '/metrics').catch(() => undefined);
  const lines = [...(metrics?.body ?? '').matchAll(KEY_LAST_USED)].map(([, owner, key, seconds]) => {
    const used = seconds === '0' ? 'not used' : `last used ${isoTime(Number(seconds) * 1000)}`;
    return `\n  ${owner}: ${key}: ${used}`;
  });
  return lines.length === 0
    ? []
    : [ok(`since it started, that service has used these keys and secrets:${lines.join('')}`)];
}

const readiness = z.object({
  ready: z.boolean(),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), because: z.string() })),
});

/** The readiness of a service at the ops port; undefined if no Countersign answers. */
async function readinessAt(ops: Settings['ops']): Promise<z.output<typeof readiness> | undefined> {
  if (ops.port === 0) return undefined;
  try {
    const { body } = await askOps(ops, '/readyz');
    return readiness.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

async function checkFree(
  name: 'public' | 'ops',
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Found> {
  const server = createServer();
  const cannot = await new Promise<string | undefined>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => resolve(undefined));
  });
  if (cannot === undefined) {
    server.close();
    await once(server, 'close');
    return ok(`${name} ${host}:${port} is free`);
  }
  return cannot === 'EADDRINUSE'
    ? fault(`${name} ${host}:${port} is in use by another program`, `stop it, or set another ${name}.port`)
    : fault(
        `${name} ${host}:${port} can't be opened (${cannot})`,
        `set a ${name}.host of this machine and a ${name}.port that this user may open`,
      );
}
