import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../test/eventually.ts';
import { CountersignError } from '../../src/errors.ts';
import type { JournalEntry, Store } from '../../src/store/store.ts';
import { type Audited, audit } from './auditor.ts';
import type { Fault } from './faults.ts';
import type { History, Planned, Recovery, Span } from './history.ts';
import { createOperator } from './operator.ts';
import { createPlan } from './plan.ts';
import { type Random, createRandom } from './random.ts';
import type { Receiver } from './receivers.ts';
import { type LoadOptions, type Sender, createSender } from './sender.ts';
import type { Topology } from './topology.ts';

export interface RunOptions {
  readonly seed: number;
  /** How long faults are injected; or how often each of them alone. */
  readonly forMs?: number;
  readonly rounds?: number;
  readonly load: LoadOptions;
  /** How long a fault is there, and how long there is none: at least and at most. */
  readonly holdMs: readonly [number, number];
  readonly calmMs: readonly [number, number];
  readonly marginMs: number;
  /** Within which each receiver approves again after a fault. */
  readonly recoveryMs: number;
  readonly report: (line: string) => void;
}

/** One or more faults at once, from when the first was begun until the last was mended. */
export interface Episode extends Span {
  readonly faults: readonly string[];
}

export interface Run {
  readonly topology: string;
  readonly seed: number;
  readonly episodes: readonly Episode[];
  readonly history: History;
  readonly audited: readonly Audited[];
}

/** In so many of a hundred episodes there are two faults at once. */
const TOGETHER = 45;

/** Faults after faults under load, then the audit. The same seed makes the same plan. */
export async function run(topology: Topology, options: RunOptions): Promise<Run> {
  const { receivers, store } = topology;
  const sender = createSender(receivers);
  const operator = createOperator(store, createRandom(options.seed + 1));
  const plan = createPlan(createRandom(options.seed), topology.name.slice(0, 1));
  const calm = stopwatch();
  const recoveries: Recovery[] = [];
  const episodes: Episode[] = [];
  const recovered = async (faults: string): Promise<void> => {
    const { recoveryMs } = options;
    const fromMs = performance.now();
    const [isQuiet, found] = await Promise.all([
      operator.quiet(),
      recoveryOf(faults, receivers, { sender, probe: plan.probe, recoveryMs }),
    ]);
    const tookMs = isQuiet ? performance.now() - fromMs : undefined;
    recoveries.push(...found, { fault: faults, receiver: 'the operator', tookMs });
    operator.resume();
  };

  await operator.begin();
  await recovered('the start');
  operator.start();
  const load = sender.load(plan, options.load);
  calm.start();
  const random = createRandom(options.seed + 2);
  const schedule = scheduleOf(topology.faults, random);
  const endsAtMs = performance.now() + (options.forMs ?? Infinity);
  const most = options.rounds === undefined ? Infinity : options.rounds * topology.faults.length;
  try {
    while (performance.now() < endsAtMs && episodes.length < most) {
      await pause(random.whole(...options.calmMs));
      const faults = schedule();
      const names = faults.map(({ name }) => name);
      const isHarmless = faults.every(({ harmless }) => harmless);
      options.report(names.join(' + '));
      if (!isHarmless) calm.stop();
      const fromMs = Date.now();
      await inject(faults, random, options.holdMs);
      episodes.push({ faults: names, fromMs, untilMs: Date.now() });
      await recovered(names.join(' + '));
      calm.start();
    }
  } finally {
    await Promise.all([operator.stop(), load.stop()]);
    calm.stop();
    sender.close();
  }
  const history: History = {
    exchanges: sender.exchanges,
    acts: operator.acts,
    outages: receivers.flatMap((receiver) => receiver.outages()),
    recoveries,
    calm: calm.spans,
    journal: await journalsOf(store),
    answerTimeoutMs: topology.answerTimeoutMs,
    marginMs: options.marginMs,
    journalLagMs: topology.journalLagMs,
  };
  return { topology: topology.name, seed: options.seed, episodes, history, audited: audit(history) };
}

/**
 * Each fault alone, in an order of the seed's; then any, and often two at once that are not done to the same
 * thing.
 */
function scheduleOf(faults: readonly Fault[], random: Random): () => readonly Fault[] {
  const [first, ...rest] = faults;
  if (first === undefined) throw new Error('there is no fault to inject');
  let alone: readonly Fault[] = shuffled(faults, random);
  return () => {
    const [next, ...left] = alone;
    alone = left;
    if (next !== undefined) return [next];
    const one = random.oneOf([first, ...rest]);
    const other = shuffled(faults, random).find(({ to }) => to !== one.to);
    return other !== undefined && random.percent(TOGETHER) ? [one, other] : [one];
  };
}

function shuffled<T>(all: readonly T[], random: Random): readonly T[] {
  return all
    .map((each) => ({ each, order: random.next() }))
    .sort((a, b) => a.order - b.order)
    .map(({ each }) => each);
}

/** Begins them one after the other, and mends them in the same order. */
async function inject(faults: readonly Fault[], random: Random, holdMs: RunOptions['holdMs']): Promise<void> {
  const mends: (() => Promise<void>)[] = [];
  for (const fault of faults) {
    mends.push(await fault.begin(random));
    await pause(random.whole(...holdMs) / faults.length);
  }
  for (const mend of mends) await mend();
}

interface Probing {
  readonly sender: Sender;
  readonly probe: () => Planned;
  readonly recoveryMs: number;
}

/** Asks each receiver until it approves what is in order, or until it had the time for that. */
export function recoveryOf(
  fault: string,
  receivers: readonly Receiver[],
  { sender, probe, recoveryMs }: Probing,
): Promise<readonly Recovery[]> {
  const fromMs = performance.now();
  return Promise.all(
    receivers.map(async (receiver): Promise<Recovery> => {
      for (;;) {
        const { answer } = await sender.send(probe(), receiver);
        const tookMs = performance.now() - fromMs;
        if (answer === 'SUCCESS') return { fault, receiver: receiver.name, tookMs };
        if (tookMs > recoveryMs) return { fault, receiver: receiver.name, tookMs: undefined };
        await pause(20);
      }
    }),
  );
}

function stopwatch(): {
  readonly spans: readonly Span[];
  readonly start: () => void;
  readonly stop: () => void;
} {
  const spans: Span[] = [];
  let fromMs: number | undefined;
  return {
    spans,
    start: () => void (fromMs ??= Date.now()),
    stop() {
      if (fromMs !== undefined) spans.push({ fromMs, untilMs: Date.now() });
      fromMs = undefined;
    },
  };
}

/**
 * The whole journal of each source, oldest first. After a failover the operator may find the new primary later
 * than the receivers, so a page that can't be read is asked for again.
 */
export async function journalsOf(store: Store): Promise<ReadonlyMap<string, readonly JournalEntry[]>> {
  const journals = new Map<string, JournalEntry[]>();
  for (const source of ['shop', 'vault']) {
    const found: JournalEntry[] = [];
    for (;;) {
      const after = found.at(-1)?.id ?? '';
      const page = await eventually('the journal can be read', () =>
        store.entries({ source, after, limit: 1000 }).catch((thrown: unknown) => {
          if (thrown instanceof CountersignError && thrown.code === 'STORE_UNREACHABLE') return undefined;
          throw thrown;
        }),
      );
      if (page.length === 0) break;
      found.push(...page);
    }
    journals.set(source, found);
  }
  return journals;
}
