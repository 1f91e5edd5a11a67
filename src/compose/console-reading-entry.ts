import { type Reading, createReading } from '../console/reading.ts';
import { CountersignError, messageOf } from '../errors.ts';
import { createSecrets } from '../settings/secrets.ts';
import { systemClock } from '../values/clock.ts';
import type { ReadingAnswer, ReadingCall, ReadingData } from './console-reading.ts';
import { runWhenIdle } from './idle-priority.ts';
import { openStore } from './store.ts';

/*
 * The process that reads for the console. It answers each call by its id, and ends with the service that started
 * it, not before: a signal to all processes of the service leaves the pages that are still asked for.
 */

const SECRETS_POLL_MS = 1000;

const { read } = createSecrets({ env: process.env, pollMs: SECRETS_POLL_MS });
runWhenIdle();
process.once('disconnect', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined);
process.once('message', (data: ReadingData) => {
  let opening: Promise<Reading> | undefined;
  process.on('message', (call: ReadingCall) => {
    const opened = (opening ??= openReading(data));
    // The next call tries again.
    opened.catch(() => (opening = undefined));
    // Nobody waits for an answer once the service has gone.
    void answered(opened, call).then((answer) =>
      process.send?.(answer, undefined, undefined, () => undefined),
    );
  });
});

async function openReading({ store: settings, groups }: ReadingData): Promise<Reading> {
  const store = await openStore(settings, read, systemClock, { as: 'background', groups });
  return createReading(store, (source) => groups.get(source));
}

async function answered(
  opened: Promise<Reading>,
  { id, method, given }: ReadingCall,
): Promise<ReadingAnswer> {
  try {
    const reading = await opened;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `given` are the arguments of this method
    const call = reading[method] as (...given: readonly unknown[]) => Promise<unknown>;
    return { id, ok: true, value: await call(...given) };
  } catch (thrown) {
    if (!(thrown instanceof CountersignError)) {
      return { id, ok: false, code: undefined, message: messageOf(thrown), data: {} };
    }
    const { code, message, data } = thrown;
    return { id, ok: false, code, message, data };
  }
}
