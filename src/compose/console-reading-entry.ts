import { setPriority } from 'node:os';
import { env, platform } from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { createReading } from '../console/reading.ts';
import { CountersignError, messageOf } from '../errors.ts';
import { createSecrets } from '../settings/secrets.ts';
import { systemClock } from '../values/clock.ts';
import type { ReadingAnswer, ReadingCall, ReadingData } from './console-reading.ts';
import { openStore } from './store.ts';

/*
 * The thread that reads for the console. It answers each call by its id.
 */

const SECRETS_POLL_MS = 1000;
/** Where cores are few, callbacks come first. */
const PRIORITY = 19;

async function run(): Promise<void> {
  const port = parentPort;
  if (port === null) return;
  // Only on Linux, this is the priority of a thread, and not that of the whole process.
  if (platform === 'linux') setPriority(PRIORITY);
  const { store: settings, groups }: ReadingData = workerData;
  const { read } = createSecrets({ env, pollMs: SECRETS_POLL_MS });
  const opened = openStore(settings, read, systemClock, { as: 'background', groups }).then((store) =>
    createReading(store, (source) => groups.get(source)),
  );
  // Each call that needs it rejects.
  opened.catch(() => undefined);
  port.on('message', ({ id, method, given }: ReadingCall) => {
    void opened
      .then(async (reading) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `given` are the arguments of this method
        const call = reading[method] as (...given: readonly unknown[]) => Promise<unknown>;
        return { id, ok: true, value: await call(...given) } as const;
      })
      .catch((thrown: unknown): ReadingAnswer => {
        if (!(thrown instanceof CountersignError)) {
          return { id, ok: false, code: undefined, message: messageOf(thrown), data: {} };
        }
        const { code, message, data } = thrown;
        return { id, ok: false, code, message, data };
      })
      .then((answer: ReadingAnswer) => port.postMessage(answer));
  });
  await opened;
}

await run();
