import { usageError } from '../../src/errors.ts';
import { answerControl } from './control.ts';
import { createCosigner } from './cosigner.ts';
import { createFaults } from './faults.ts';
import { createSandboxLog } from './log.ts';
import { OPERATIONS } from './operations/registry.ts';
import { answerRequest, refusedUnread } from './platform.ts';
import type { SandboxOptions } from './running.ts';
import { seedState } from './seed.ts';
import { listen } from './server.ts';
import { type Zone, createClock, createZone } from './time.ts';

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
  const zone = zoneNamed(options.zone);
  checkPaths(options.denied);
  const clock = createClock(options.clock, options.standsAtMs);
  const state = seedState({ seed: options.seed, scale: options.scale, seededAtMs: clock.nowMs() });
  const log = createSandboxLog(clock.nowMs, options.onEntry);
  const running = { ...options, state, clock, zone, log, faults: createFaults(options.seed, options.faults) };
  const cosigner = createCosigner(running);
  const server = await listen({
    host: options.host,
    port: options.port,
    bytesMax: REQUEST_BYTES_MAX,
    option: '--port',
    answer: (request) => answerRequest(request, running),
    failed: (message) => ({ status: 200, body: refusedUnread(message) }),
  });
  const control = await listen({
    host: '127.0.0.1',
    port: options.controlPort,
    bytesMax: CONTROL_BYTES_MAX,
    option: '--control-port',
    answer: (request) => answerControl(request, { ...running, cosigner }),
    failed: (message) => ({ status: 500, body: JSON.stringify({ message }) }),
  }).catch(async (thrown: unknown) => {
    await server.stop();
    throw thrown;
  });
  const polls = options.pollMs === 0 ? undefined : setInterval(() => void cosigner.poll(), options.pollMs);
  return {
    url: `${server.url}/platformapi/${options.segment}/open`,
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

function checkPaths(denied: readonly string[]): void {
  const known = OPERATIONS.map(({ path }) => path);
  const unknown = denied.find((path) => !known.includes(path));
  if (unknown === undefined) return;
  throw usageError(`--deny ${unknown} is no operation. Give one of ${known.join(', ')}`);
}
