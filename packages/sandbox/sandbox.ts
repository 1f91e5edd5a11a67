import { usageError } from '../../src/errors.ts';
import type { Clock } from '../../src/values/clock.ts';
import { confirmPayment } from './confirmation.ts';
import { answerControl } from './control.ts';
import { type CosignerCredential, createCosigner } from './cosigner.ts';
import type { Credentials } from './credentials.ts';
import { type FaultRates, createFaults } from './faults.ts';
import { type Entry, createSandboxLog } from './log.ts';
import { OPERATIONS } from './operations/registry.ts';
import { answerRequest, refusedUnread } from './platform.ts';
import { seedState } from './seed.ts';
import { listen } from './server.ts';
import type { Scheme } from './signing.ts';
import type { Payment } from './state.ts';
import { type Zone, createClock, createZone } from './time.ts';

export interface SandboxOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly controlPort: number;
  readonly seed: string;
  /** Multiplies the numbers of seeded records. */
  readonly scale: number;
  readonly clock: Clock;
  /** The instant at which the clock of the sandbox stands; undefined for one that goes with `clock`. */
  readonly standsAtMs: number | undefined;
  /** The platform's time zone, such as Asia/Shanghai. */
  readonly zone: string;
  readonly segment: string;
  readonly denied: readonly string[];
  readonly dailyLimit: number;
  readonly credentials: Credentials;
  /** The address of the receiver of confirmations, without a path. */
  readonly receiver: string;
  readonly withdrawUrl: string;
  readonly web3Url: string;
  readonly cosignerCredential: CosignerCredential;
  readonly timeoutMs: number;
  /** 0 for polls by command only. */
  readonly pollMs: number;
  readonly refusalsMax: number;
  readonly faults: FaultRates;
  readonly lateMs: number;
  readonly onEntry: (entry: Entry) => void;
}

export interface Sandbox {
  readonly url: string;
  readonly controlUrl: string;
  stop(): Promise<void>;
}

const REQUEST_BYTES_MAX = 1_048_576;
/** A snapshot comes as one request. */
const CONTROL_BYTES_MAX = 268_435_456;

/** Starts the platform, its co-signer and the control port. Throws USAGE. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { seed, scale, credentials, segment, dailyLimit, lateMs, timeoutMs, receiver } = options;
  const zone = zoneNamed(options.zone);
  const clock = createClock(options.clock, options.standsAtMs);
  const state = seedState({ seed, scale, seededAtMs: clock.nowMs() });
  const log = createSandboxLog(clock.nowMs, options.onEntry);
  const faults = createFaults(seed, options.faults);
  const outgoing = { state, credentials, faults, lateMs, timeoutMs, log, now: clock.nowMs };
  const confirmation = { ...outgoing, receiver };
  const cosigner = createCosigner({
    ...outgoing,
    urls: { transfer: options.withdrawUrl, web3: options.web3Url },
    credential: options.cosignerCredential,
    refusalsMax: options.refusalsMax,
  });
  const platform = {
    state,
    clock,
    zone,
    credentials,
    segment,
    dailyLimit,
    faults,
    log,
    denied: deniedPaths(options.denied),
    confirm: (payment: Payment, scheme: Scheme) => confirmPayment(payment, scheme, confirmation),
  };
  const server = await listen({
    host: options.host,
    port: options.port,
    bytesMax: REQUEST_BYTES_MAX,
    option: '--port',
    answer: (request) => answerRequest(request, platform),
    failed: (message) => ({ status: 200, body: refusedUnread(message) }),
  });
  const control = await listen({
    host: '127.0.0.1',
    port: options.controlPort,
    bytesMax: CONTROL_BYTES_MAX,
    option: '--control-port',
    answer: (request) => answerControl(request, { seed, scale, state, clock, cosigner, log }),
    failed: (message) => ({ status: 500, body: JSON.stringify({ message }) }),
  }).catch(async (thrown: unknown) => {
    await server.stop();
    throw thrown;
  });
  const polls = options.pollMs === 0 ? undefined : setInterval(() => void cosigner.poll(), options.pollMs);
  return {
    url: `${server.url}/platformapi/${segment}/open`,
    controlUrl: control.url,
    async stop() {
      clearInterval(polls);
      await Promise.all([server.stop(), control.stop()]);
    },
  };
}

function zoneNamed(name: string): Zone {
  try {
    return createZone(name);
  } catch {
    throw usageError(`--zone ${name} is not a time zone. Give one such as Asia/Shanghai`);
  }
}

function deniedPaths(paths: readonly string[]): ReadonlySet<string> {
  const known = OPERATIONS.map(({ path }) => path);
  const unknown = paths.find((path) => !known.includes(path));
  if (unknown === undefined) return new Set(paths);
  throw usageError(`--deny ${unknown} is no operation. Give one of ${known.join(', ')}`);
}
