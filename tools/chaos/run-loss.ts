import { setTimeout as pause } from 'node:timers/promises';
import { lossesIn } from '../../src/store/freezes.ts';
import type { JournalEntry } from '../../src/store/store.ts';
import { audit } from './auditor.ts';
import { eventually } from '../../test/eventually.ts';
import type { Act, History } from './history.ts';
import { createOperator } from './operator.ts';
import { createPlan } from './plan.ts';
import { createRandom } from './random.ts';
import { type Run, type RunOptions, journalsOf, recoveryOf } from './run.ts';
import { createSender } from './sender.ts';
import type { LossTopology } from './topologies/loss.ts';

const BEFORE_MS = 2500;
/** Longer than any window: what was approved before the loss is in none of those after it. */
const LOST_MS = 5000;
const STILL_FROZEN_MS = 700;
const AFTER_MS = 2500;
const FAULT = 'the data lost';

/**
 * The store loses all that it knew, under load; then nothing may be approved, not by a receiver that is
 * started anew either, until an operator has brought lists and policies back and said to go on.
 */
export async function runLoss(topology: LossTopology, options: RunOptions): Promise<Run> {
  const { receivers, store } = topology;
  const sender = createSender(receivers);
  const operator = createOperator(store, createRandom(options.seed + 1));
  const planOf = (name: string, offset: number): ReturnType<typeof createPlan> =>
    createPlan(createRandom(options.seed + offset), name);
  const acts: Act[] = [];
  const probe = planOf('probe', 0).probe;
  const recovered = (fault: string): ReturnType<typeof recoveryOf> =>
    recoveryOf(fault, receivers, { sender, probe, recoveryMs: options.recoveryMs });

  await operator.begin();
  const started = await recovered('the start');
  operator.start();
  const first = sender.load(planOf('before', 3), options.load);
  await pause(BEFORE_MS);
  await Promise.all([first.stop(), operator.stop()]);
  const before = await journalsOf(store);

  // What is approved from here to the loss is in no journal that could be read: it is sent, and not judged.
  const judged = sender.exchanges.length;
  const load = sender.load(planOf('lost', 4), options.load);
  await pause(500);
  options.report(`${topology.name}: ${FAULT}`);
  const begunAtMs = Date.now();
  await topology.lose();
  acts.push({ type: 'loss', begunAtMs, endedAtMs: Date.now(), certain: true });
  const lostAtMs = Date.now();
  await untilFrozen(topology);
  const [restarted] = receivers;
  await restarted?.kill();
  await restarted?.start();
  await pause(Math.max(0, lostAtMs + LOST_MS - Date.now()));

  await operator.begin();
  // All is there again, but nobody has said to go on.
  await pause(STILL_FROZEN_MS);
  await load.stop();
  await operator.unfreeze();
  const goesOn = await recovered(FAULT);
  const last = sender.load(planOf('after', 5), options.load);
  await pause(AFTER_MS);
  await last.stop();
  sender.close();

  const history: History = {
    exchanges: sender.exchanges.filter((each, index) => index < judged || each.sentAtMs > lostAtMs),
    acts: [...operator.acts, ...acts],
    outages: receivers.flatMap((receiver) => receiver.outages()),
    recoveries: [...started, ...goesOn],
    calm: [],
    journal: joined(before, await journalsOf(store)),
    answerTimeoutMs: topology.answerTimeoutMs,
    marginMs: options.marginMs,
    journalLagMs: topology.journalLagMs,
  };
  const episodes = [{ faults: [FAULT], fromMs: begunAtMs, untilMs: lostAtMs + LOST_MS }];
  return { topology: topology.name, seed: options.seed, episodes, history, audited: audit(history) };
}

/** Somebody has noticed. Whether anything was approved until then is for the auditor to say. */
async function untilFrozen({ store }: LossTopology): Promise<void> {
  await eventually('a receiver has frozen the store that lost its data', () =>
    store.control().then(
      ({ frozen }) => lossesIn(frozen).length > 0 || undefined,
      () => undefined,
    ),
  ).catch(() => undefined);
}

function joined(...journals: readonly History['journal'][]): History['journal'] {
  const sources = new Set(journals.flatMap((journal) => [...journal.keys()]));
  return new Map(
    [...sources].map((source): [string, readonly JournalEntry[]] => [
      source,
      journals.flatMap((journal) => journal.get(source) ?? []),
    ]),
  );
}
