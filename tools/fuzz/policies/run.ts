import { inspect, isDeepStrictEqual } from 'node:util';
import { callbackKinds } from '../../../src/callback/kinds.ts';
import { type DecideParts, decide as decideOn } from '../../../src/pipeline/decide.ts';
import { createTrace } from '../../../src/pipeline/outcome.ts';
import { readPolicyFiles } from '../../../src/policy/compile.ts';
import type { CallbackReport } from '../../../src/observe/report.ts';
import type { OrderSource } from '../../../src/orders/orders.ts';
import { releaseApproval } from '../../../src/orders/release.ts';
import { type LiveSimulation, simulateLive } from '../../../src/simulation/simulate-live.ts';
import type { Release } from '../../../src/policy/release.ts';
import { createFollower } from '../../../src/release/follow.ts';
import { explain } from '../../../src/policy/explain.ts';
import type {
  SettlePreview,
  SettleRequest,
  SettleResult,
  Store,
  Lockout as StoredLockout,
} from '../../../src/store/store.ts';
import { readMembers } from '../../../src/values/members.ts';
import { type Random, anyOf, randomOf } from '../random.ts';
import {
  Counts,
  Ledger,
  type Lockout,
  type Policy,
  countRefusal,
  decide,
  units,
} from '../reference/policies.ts';
import {
  ASSETS,
  type Asked,
  askedAgain,
  randomCallback,
  randomListed,
  randomPolicies,
  randomPrice,
  withOtherLimits,
  writtenPolicies,
} from './generate.ts';

/*
 * Rounds of random policies and callbacks. Each callback is decided on every store, and by the second
 * reading. A round has stores of its own, and seed and number repeat it.
 */

export interface RunOptions {
  readonly seed: number;
  readonly firstRound: number;
  /** How many callbacks to decide on each of the stores, up to the end of a round. */
  readonly steps: number;
  /** Ends earlier at this instant of `performance.now()`. */
  readonly untilMs: number;
  /** Opens empty stores with this clock. Each has a name. */
  readonly open: (clock: () => number) => Promise<readonly OpenStore[]>;
  readonly onRound?: (tally: Tally) => void;
}

export interface OpenStore {
  readonly name: string;
  readonly store: Store;
  readonly close: () => Promise<void>;
}

export interface Tally {
  steps: number;
  rounds: number;
  /** Among the steps, those of the second reading that approve. */
  approved: number;
  /** Of callbacks that were asked about before. */
  again: number;
  /** Lock-outs that were lifted. */
  lifted: number;
  /** What differs, with all that repeats it. At most a few. */
  readonly differences: string[];
}

/** Each of the first has no group. The others are in groups of six. */
const ALONE = 8;
const GROUP_SIZE = 6;
const SOURCES = Array.from({ length: 32 }, (_, at) => `source-${at + 1}`);
const groupOf = (source: string): string | undefined => {
  const at = SOURCES.indexOf(source) - ALONE;
  return at < 0 ? undefined : `group-${Math.floor(at / GROUP_SIZE) + 1}`;
};
const TICKS = 60;
const START_MS = Date.UTC(2026, 2, 2, 9, 0);
const DIFFERENCES_MAX = 5;
/**
 * Also to both sides of the instant at which a window of ten minutes or an hour no longer counts an approval.
 */
const STEPS_MS = [
  0, 0, 0, 1000, 60_000, 300_000, 599_999, 600_000, 609_999, 610_000, 3_599_999, 3_600_000, 3_659_999,
  3_660_000, 20_000_000,
] as const;

export async function run(options: RunOptions): Promise<Tally> {
  const tally: Tally = { steps: 0, rounds: 0, approved: 0, again: 0, lifted: 0, differences: [] };
  for (let round = options.firstRound; tally.steps < options.steps; round++) {
    if (performance.now() >= options.untilMs || tally.differences.length >= DIFFERENCES_MAX) break;
    await runRound(options, round, tally);
    tally.rounds++;
    options.onRound?.(tally);
  }
  return tally;
}

/** What one source was asked, and what it has. */
interface Lane {
  readonly source: string;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly asked: Asked[];
  /** By id, what was approved and neither refused nor released since. */
  readonly approved: Map<string, Asked>;
  /** For a report. */
  readonly history: string[];
  /** Whether a store said something else. Nothing after that can be compared. */
  differs: boolean;
}

async function runRound(options: RunOptions, round: number, tally: Tally): Promise<void> {
  const { seed, open } = options;
  const random = randomOf(Math.imul(seed, 65_537) + round);
  let { policies, release } = validPolicies(random);
  let nowMs = START_MS;
  const stores = await open(() => nowMs);
  const groups = new Map<string, Counts>();
  const lanes = SOURCES.map((source): Lane => {
    const group = groupOf(source);
    const counts = group === undefined ? undefined : (groups.get(group) ?? new Counts());
    if (group !== undefined && counts !== undefined) groups.set(group, counts);
    return {
      source,
      random: randomOf(random.below(2 ** 31)),
      ledger: new Ledger(source, counts),
      asked: [],
      approved: new Map(),
      history: [],
      differs: false,
    };
  });
  // What the sources of a group are asked depends on the order.
  const inTurn = [...Map.groupBy(lanes, ({ source }) => groupOf(source) ?? source).values()];
  try {
    const deciders = await Promise.all(stores.map((each) => decider(each, release, () => nowMs)));
    const prices = new Map<string, { readonly price: bigint; readonly asOfMs: number }>();
    for (let tick = 0; tick < TICKS; tick++) {
      nowMs += random.pick(STEPS_MS);
      if (tick === TICKS / 2) {
        const expected = release.revision;
        const other = compiledPolicies(withOtherLimits(random, policies));
        if (other !== undefined && other.release.revision !== expected) {
          ({ policies, release } = other);
          const push = { ...documentOf(release), expected, by: 'fuzz', message: '' };
          await Promise.all(stores.map(({ store }) => store.push(push)));
          await Promise.all(deciders.map(({ refresh }) => refresh()));
          for (const { history } of lanes) history.push(`${nowMs} pushed\n${writtenPolicies(policies)}`);
        }
      }
      if (tick === 0 || random.oneIn(8)) {
        const { symbol, price } = randomPrice(random);
        prices.set(symbol, { price: units(price), asOfMs: nowMs });
        const set = [{ asset: symbol, price: units(price), asOfMs: nowMs }];
        await Promise.all(stores.map(({ store }) => store.changePrices({ set, remove: [], by: 'fuzz' })));
        // Before the first price, nothing tells the service at once.
        if (tick === 0) await Promise.all(deciders.map(({ refresh }) => refresh()));
        for (const { ledger, history } of lanes) {
          ledger.prices = new Map(prices);
          history.push(`${nowMs} price of ${symbol} ${price}`);
        }
      }
      await Promise.all(
        inTurn.map(async (together) => {
          for (const lane of together) {
            if (together.some(({ differs }) => differs)) break;
            await step({ lane, tick, nowMs, policies, stores, deciders, tally });
          }
        }),
      );
    }
    const different = inTurn.find((together) => together.some(({ differs }) => differs));
    if (different !== undefined) {
      const histories = different.map(({ source, history }) => `${source}\n${history.join('\n')}`);
      const text = `--seed ${seed} --round ${round}\n${writtenPolicies(policies)}\n${histories.join('\n')}`;
      tally.differences.push(text);
    }
  } finally {
    await Promise.all(stores.map(({ close }) => close()));
  }
}

/** Random policies that are no fault. */
function validPolicies(random: Random): Compiled {
  for (;;) {
    const found = compiledPolicies(randomPolicies(random));
    if (found !== undefined) return found;
  }
}

interface Compiled {
  readonly policies: readonly Policy[];
  readonly release: Release;
}

/** Undefined if the policies are a fault. */
function compiledPolicies(policies: readonly Policy[]): Compiled | undefined {
  const files = { 'assets.yaml': ASSETS, 'policies.yaml': writtenPolicies(policies) };
  const written = Object.entries(files).map(([name, text]) => ({ name, text }));
  const compiled = readPolicyFiles(written, () => undefined);
  return compiled.ok ? { policies, release: compiled.release } : undefined;
}

const documentOf = ({ revision, document }: Release) => ({ revision, document });

interface Step {
  readonly lane: Lane;
  readonly tick: number;
  readonly nowMs: number;
  readonly policies: readonly Policy[];
  readonly stores: readonly OpenStore[];
  readonly deciders: readonly Decider[];
  readonly tally: Tally;
}

/** Mostly asks one callback; now and then a list changes before. */
async function step({ lane, tick, nowMs, policies, stores, deciders, tally }: Step): Promise<void> {
  const { source, random, ledger, asked, approved, history } = lane;
  const failed = random.oneIn(12) ? anyOf(random, [...approved.values()]) : undefined;
  if (failed !== undefined) {
    const { facts } = failed;
    const { kind, id } = facts;
    const request = { source, kind, id, members: {}, message: 'it failed', by: 'fuzz' };
    await Promise.all(stores.map(({ store }) => releaseApproval(store, RELEASING, request)));
    ledger.release(facts);
    approved.delete(id);
    history.push(`${nowMs} released ${kind} ${id}`);
  }
  if (random.oneIn(6)) {
    const { list, value } = randomListed(random);
    const had = ledger.lists.get(list) ?? new Map<string, number>();
    ledger.lists.set(list, had);
    const has = had.has(value);
    if (has) had.delete(value);
    else had.set(value, nowMs);
    history.push(`${nowMs} list ${list} ${has ? 'without' : 'with'} ${value}`);
    const change = {
      source,
      list,
      add: has ? [] : [value],
      remove: has ? [value] : [],
      by: 'fuzz',
      message: '',
    };
    await Promise.all(stores.map(({ store }) => store.changeList(change)));
  }
  if (random.oneIn(6)) await liftLockout({ lane, nowMs, stores, tally });
  const before = random.oneIn(3) ? anyOf(random, asked) : undefined;
  const one = before === undefined ? randomCallback(random, `${source}-${tick}`) : askedAgain(random, before);
  if (before === undefined) asked.push(one);
  else tally.again++;
  const decided = decide(policies, one.facts, ledger, nowMs);
  const { approves, took } = decided;
  if (approves) approved.set(one.facts.id, one);
  else approved.delete(one.facts.id);
  const expected = approves ? `SUCCESS by ${took.join()}` : 'FAILURE';
  const came = await Promise.all(deciders.map(({ decides }) => decides(source, one)));
  const isRefusedAnew = came[0]?.how === 'decided RULE_REFUSED';
  if (isRefusedAnew) countRefusal(decided, one.facts, ledger, nowMs);
  tally.steps++;
  if (approves) tally.approved++;
  const isSame = came.every(({ said, how }) => said === expected && how === came[0]?.how);
  lane.differs ||= !isSame;
  const others = came.map(({ said, how, because }, at) => `${stores[at]?.name} ${said} (${how}), ${because}`);
  const said = isSame ? expected : `DIFFERS: ${expected}, but ${others.join('; ')}`;
  history.push(`${nowMs} ${JSON.stringify({ ...one.wire, scheme: one.facts.scheme })} ${said}`);
}

/** Compares who is locked out. Then, mostly, lifts one of the lock-outs. */
async function liftLockout({
  lane,
  nowMs,
  stores,
  tally,
}: Pick<Step, 'lane' | 'nowMs' | 'stores' | 'tally'>): Promise<void> {
  const { source, random, ledger, history } = lane;
  const expected = ledger.lockouts.standing(nowMs);
  const found = await Promise.all(stores.map(({ store }) => lockoutsOf(store, source)));
  const texts = expected.map(lockoutText).toSorted();
  const different = found.findIndex((each) => !isDeepStrictEqual(each.map(lockoutText).toSorted(), texts));
  if (different >= 0) {
    lane.differs = true;
    const listed = found[different]?.map(lockoutText).join('; ');
    history.push(
      `${nowMs} DIFFERS: locked out ${texts.join('; ')}, but ${stores[different]?.name} ${listed}`,
    );
    return;
  }
  const lifted = random.oneIn(4) ? undefined : anyOf(random, expected);
  if (lifted === undefined) return;
  const text = lockoutText(lifted);
  // Two rules of one policy, with different conditions, may lock out the same.
  if (texts.filter((each) => each === text).length > 1) return;
  const lift = { source, by: 'fuzz', message: 'called the user' };
  await Promise.all(
    stores.map(({ store }, at) => {
      const id = found[at]?.find((each) => lockoutText(each) === text)?.id ?? '';
      return store.liftLockout({ ...lift, id });
    }),
  );
  ledger.lockouts.lift(lifted.key);
  tally.lifted++;
  history.push(`${nowMs} lifted ${text}`);
}

async function lockoutsOf(store: Store, source: string): Promise<readonly StoredLockout[]> {
  const found: StoredLockout[] = [];
  for await (const lockout of store.lockouts(source)) found.push(lockout);
  return found;
}

const lockoutText = ({ policy, whose, refusals, sinceMs, untilMs }: Lockout): string =>
  `${policy} ${whose} after ${refusals} from ${sinceMs} to ${untilMs === Infinity ? 0 : untilMs}`;

interface Decider {
  readonly decides: (
    source: string,
    asked: Asked,
  ) => Promise<{
    readonly said: string;
    /** Whether it was decided or repeated, and the code. */
    readonly how: string;
    readonly because: string;
  }>;
  readonly refresh: () => Promise<void>;
}

/** Decides on a store as the service does, once a callback is authentic. */
async function decider({ store }: OpenStore, release: Release, clock: () => number): Promise<Decider> {
  await store.register(SOURCES);
  await store.push({ ...documentOf(release), expected: '', by: 'fuzz', message: '' });
  const policies = createFollower({ store, pollMs: 3_600_000, clock });
  await policies.refresh();
  const ask: DecideParts['ask'] = () => Promise.reject(new Error('no rule here asks anybody'));
  // Each source asks one question at a time.
  const took = new Map<string, string>();
  const hows = new Map<string, string>();
  const previews = new Map<string, SettlePreview>();
  const watched: Store = {
    ...store,
    async preview(request) {
      const result = await store.preview(request);
      previews.set(request.callback.source, result);
      return result;
    },
    async settle(request) {
      const result = await store.settle(request);
      if ('claims' in result) {
        took.set(request.callback.source, takenBy(request, result));
        hows.set(request.callback.source, `${result.outcome} ${result.code}`);
      }
      expectPreviewed(previews.get(request.callback.source), result);
      return result;
    },
  };
  const parts: DecideParts = { store: watched, policies, ask, groupOf, clock, answerTimeoutMs: 60_000 };
  const decides: Decider['decides'] = async (source, { facts: { kind, scheme }, wire }) => {
    const body = JSON.stringify(wire);
    const decoded = readMembers(body);
    if (!decoded.ok) throw new Error(decoded.because);
    const parsed = callbackKinds[kind].parse(decoded.members, source);
    if (!parsed.ok) throw new Error(parsed.because);
    const sender = {
      ok: true,
      source,
      scheme: SCHEMES.find((each) => each === scheme),
      by: 'the fuzzing',
      members: decoded.members,
      plaintext: undefined,
    } as const;
    const { callback } = parsed;
    const simulated = await simulateLive(parts, callback, sender.scheme);
    const { report } = await decideOn(parts, createTrace(arrivalOf(source)), {
      callback,
      body,
      sender,
      address: '127.0.0.1',
    });
    const { verdict } = report;
    const wasSimulated =
      simulated.verdict === verdict && simulated.code === report.code && isSameRule(simulated, report);
    const said = verdict === 'SUCCESS' ? `${verdict} by ${took.get(source) ?? ''}` : verdict;
    return {
      said: wasSimulated
        ? said
        : `${said}, but simulated ${simulated.verdict} ${simulated.code}: ${simulated.because}`,
      how: hows.get(source) ?? '',
      because: report.because,
    };
  };
  return { decides, refresh: policies.refresh };
}

/** Throws unless all of the result was previewed, but for the journal entry. */
function expectPreviewed(previewed: SettlePreview | undefined, settled: SettleResult): void {
  const expected = 'id' in settled ? { ...settled, id: '' } : settled;
  if (isDeepStrictEqual({ ...previewed, ...('id' in settled && { id: '' }) }, expected)) return;
  throw new Error(`previewed ${inspect(previewed)}, but settled ${inspect(settled)}`);
}

function isSameRule({ deciding }: LiveSimulation, { rule }: CallbackReport): boolean {
  return rule === (deciding && `${deciding.policy}/${deciding.rule}`);
}

/** What the explanation says of each `any` of a policy: the number of the alternative, 0 for none. */
function takenBy(
  { proposal }: SettleRequest,
  result: Extract<SettleResult, { readonly claims: unknown }>,
): string {
  return explain(proposal, result)
    .rules.flatMap(({ rule, because }) => {
      // Its own condition may be unclear, which refuses before there are alternatives.
      const [text, number = '0'] =
        /^(?:some values of|what it moves is not known|no alternative holds|alternative (\d+) holds)/.exec(
          because,
        ) ?? [];
      // Beside it, there may be a result that says that a condition is not known.
      return /^any#\d+$/.test(rule) && text !== undefined ? [number] : [];
    })
    .join();
}

const SCHEMES = ['md5', 'rsa'] as const;

const RELEASING: readonly OrderSource[] = SOURCES.map((name) => ({
  name,
  kinds: ['payment', 'transfer', 'web3'],
  schemes: SCHEMES,
}));

const arrivalOf = (source: string): Parameters<typeof createTrace>[0] => ({
  requestId: 'fuzz',
  arrivedMs: performance.now(),
  route: { callback: 'cosigner', source, expected: [] },
  path: '/callback',
  address: '127.0.0.1',
  header: () => undefined,
  fromProxy: false,
  pathSecret: undefined,
  certificate: undefined,
  body: () => Promise.reject(new Error('it was decoded before')),
});
