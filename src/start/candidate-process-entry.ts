import { setPriority } from 'node:os';
import { setImmediate as breathe } from 'node:timers/promises';
import { checkCandidate } from '../console/check-candidate.ts';
import { CountersignError, usageError } from '../errors.ts';
import { compileRelease } from '../policy/compile.ts';
import { diffReleases } from '../policy/diff.ts';
import type { Release } from '../policy/release.ts';
import { diffFrom, diffText } from '../release/diff-text.ts';
import { invalidPolicies } from '../release/files.ts';
import { unmatchedText } from '../release/lists.ts';
import { backtest, countsByGroup } from '../simulation/backtest.ts';
import { backtestText } from '../simulation/backtest-text.ts';
import type { RecordItem } from '../journal/record.ts';
import { storeRecord } from '../simulation/store-record.ts';
import { loadSettings } from '../settings/load.ts';
import type { Settings } from '../settings/schema.ts';
import { createSecrets } from '../settings/secrets.ts';
import type { Store } from '../store/store.ts';
import { systemClock } from '../values/clock.ts';
import { answerQuestions } from '../values/worker.ts';
import type { Progress, Task } from './candidate-process.ts';
import { policyWarnings, unmatchedInStore } from './policies.ts';
import { groupsOf, openStore } from './store.ts';

/* The process of a candidate. It does one task. */

/** With one CPU, callbacks come first. */
const PRIORITY = 10;
/** Changed callbacks that a backtest lists. */
const SHOWN = 20;
/** Items that are read before messages are sent. */
const BREATH_ITEMS = 500;

setPriority(PRIORITY);
await answerQuestions<Task, unknown>(() => (task, note) => {
  if (task.task === 'check') return check(task);
  if (task.task === 'backtest') return runBacktest(task, note);
  return diffText(diffReleases(task.before, task.after));
});

function check(task: Extract<Task, { task: 'check' }>): Promise<unknown> {
  const settings = loadSettings({ file: task.settingsFile, env: process.env });
  const sources = settings.sources.map(({ name }) => name);
  return withStore(settings, (store) =>
    checkCandidate(task, {
      outputs: settings.public.limits.outputs,
      settingsWarnings: (release) => policyWarnings(settings, release),
      listFaults: async (release) =>
        (await unmatchedInStore(settings, store, release)).map((each) => `${unmatchedText(each)}.`),
      diffFrom: (release) => diffFrom(store, { before: task.inForce, release, sources }),
    }),
  );
}

async function withStore<T>(settings: Settings, use: (store: Store) => Promise<T>): Promise<T> {
  const { read } = createSecrets({ env: process.env });
  const groups = groupsOf(settings);
  const store = await openStore(settings.store, read, systemClock, { as: 'background', groups });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

async function runBacktest(
  task: Extract<Task, { task: 'backtest' }>,
  note: (progress: Progress) => void,
): Promise<string> {
  const release = compiled(task.document);
  const settings = loadSettings({ file: task.settingsFile, env: process.env });
  return withStore(settings, async (store) => {
    const sources = settings.sources.map(({ name }) => name);
    const sizes = await Promise.all(sources.map((source) => store.journalSize(source)));
    const size = sizes.reduce((sum, each) => sum + each, 0);
    if (size === 0) throw new CountersignError('NOT_FOUND', 'the journal has no entries yet');
    if (size > task.entriesMax) throw tooMany(size, task.entriesMax);
    const warnings: string[] = [];
    const report = await backtest({
      release,
      record: breathing(storeRecord(store, sources, undefined, warnings)),
      fromMs: task.fromMs,
      groups: countsByGroup(release) ? groupsOf(settings) : new Map(),
      show: SHOWN,
      progress: (callbacks) => note({ callbacks, part: Math.min(1, callbacks / size) }),
    });
    return backtestText({ ...report, warnings: [...warnings, ...report.warnings] }, SHOWN);
  });
}

const tooMany = (size: number, most: number): CountersignError =>
  usageError(
    `the journal has ${size} entries, and the console reads at most ${most}. Run ` +
      '`countersign policy backtest`, which has no such limit',
  );

function compiled(document: string): Release {
  const result = compileRelease(document);
  if (result.ok) return result.release;
  throw invalidPolicies('the policies of the candidate', result.faults);
}

/** Messages, and the end of the service, are noticed between items. */
async function* breathing(items: AsyncIterable<RecordItem>): AsyncGenerator<RecordItem> {
  let count = 0;
  for await (const item of items) {
    yield item;
    if (++count % BREATH_ITEMS === 0) await breathe();
  }
}
