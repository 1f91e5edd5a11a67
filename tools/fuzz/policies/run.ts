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
import type { PeoplesApproval } from '../../../src/policy/facts.ts';
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
import { type Policy, type Revision, amountOf } from '../../../test/reference/policy.ts';
import { subjectOf } from '../../../test/reference/question.ts';
import { SourceModel } from '../../../test/reference/settle.ts';
import type { Lockout, Reservation } from '../../../test/reference/store.ts';
import { type Random, anyOf, randomOf } from '../random.ts';
import {
  ASSETS,
  type Asked,
  APPROVERS,
  GROUPS,
  PEOPLE,
  askedAgain,
  randomApprovers,
  randomCallback,
  randomListed,
  randomPolicies,
  randomPrice,
  withOtherLimits,
  writtenPolicies,
} from './generate.ts';

/*
 * Rounds of random policies and callbacks. Each callback is decided on every store, and by the reference. A
 * round has stores of its own, and seed and number repeat it.
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
  /** Among the steps, those that the reference approves. */
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
/** For how long a request is open, and kept. */
const REQUESTED_MS = [600_000, 3_600_000, 86_400_000] as const;
const KEPT_MS = 30 * 86_400_000;
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
  readonly model: SourceModel;
  readonly asked: Asked[];
  /** By id, what was approved and neither refused nor released since. */
  readonly approved: Map<string, Asked>;
  /** By subject, what people have said. Each version is one change of the request. */
  readonly said: Map<string, PeoplesApproval>;
  /** For a report. */
  readonly history: string[];
  /** Whether a store said something else. Nothing after that can be compared. */
  differs: boolean;
}

async function runRound(options: RunOptions, round: number, tally: Tally): Promise<void> {
  const { seed, open } = options;
  const random = randomOf(Math.imul(seed, 65_537) + round);
  let inForce = validPolicies(random);
  let nowMs = START_MS;
  const stores = await open(() => nowMs);
  /** What approvals reserved, for each group and each source without one. */
  const reserved = new Map<string, Reservation[]>();
  const lanes = SOURCES.map((source): Lane => {
    const group = groupOf(source);
    const shared = reserved.get(group ?? source) ?? [];
    reserved.set(group ?? source, shared);
    const model = new SourceModel(group, shared);
    model.inForce = inForce;
    return {
      source,
      random: randomOf(random.below(2 ** 31)),
      model,
      asked: [],
      approved: new Map(),
      said: new Map(),
      history: [],
      differs: false,
    };
  });
  // What the sources of a group are asked depends on the order.
  const inTurn = [...Map.groupBy(lanes, ({ source }) => groupOf(source) ?? source).values()];
  try {
    const saidTo = new Map(lanes.map(({ source, said }) => [source, said]));
    const deciders = await Promise.all(
      stores.map((each) => decider(each, inForce.release, { clock: () => nowMs, saidTo })),
    );
    for (let tick = 0; tick < TICKS; tick++) {
      nowMs += random.pick(STEPS_MS);
      if (tick === TICKS / 2) {
        const expected = inForce.release.revision;
        const other = compiledPolicies(withOtherLimits(random, inForce.policies));
        if (other !== undefined && other.release.revision !== expected) {
          inForce = other;
          const push = { ...documentOf(other.release), expected, by: 'fuzz', message: '' };
          await Promise.all(stores.map(({ store }) => store.push(push)));
          await Promise.all(deciders.map(({ refresh }) => refresh()));
          for (const { model, history } of lanes) {
            model.inForce = other;
            history.push(`${nowMs} pushed\n${writtenPolicies(other.policies)}`);
          }
        }
      }
      await freezeOrThaw(random, lanes, { nowMs, stores });
      if (tick === 0 || random.oneIn(8)) {
        const { symbol, price: text } = randomPrice(random);
        const price = { price: amountOf(text), asOfMs: nowMs };
        const set = [{ asset: symbol, ...price }];
        await Promise.all(stores.map(({ store }) => store.changePrices({ set, remove: [], by: 'fuzz' })));
        // Before the first price, nothing tells the service at once.
        if (tick === 0) await Promise.all(deciders.map(({ refresh }) => refresh()));
        for (const { model, history } of lanes) {
          model.setPrice(tick, symbol, price);
          history.push(`${nowMs} price of ${symbol} ${text}`);
        }
      }
      await Promise.all(
        inTurn.map(async (together) => {
          for (const lane of together) {
            if (together.some(({ differs }) => differs)) break;
            await step({ lane, tick, nowMs, stores, deciders, tally });
          }
        }),
      );
    }
    const different = inTurn.find((together) => together.some(({ differs }) => differs));
    if (different !== undefined) {
      const histories = different.map(({ source, history }) => `${source}\n${history.join('\n')}`);
      const text = `--seed ${seed} --round ${round}\n${writtenPolicies(inForce.policies)}\n${histories.join('\n')}`;
      tally.differences.push(text);
    }
  } finally {
    await Promise.all(stores.map(({ close }) => close()));
  }
}

/** Now and then a freeze, and another one, until all are lifted. */
async function freezeOrThaw(
  random: Random,
  lanes: readonly Lane[],
  { nowMs, stores }: Pick<Step, 'nowMs' | 'stores'>,
): Promise<void> {
  const isFrozen = lanes.some(({ model }) => model.frozen || model.onlyApproved);
  const kind = random.oneIn(4) ? 'operator' : 'except-approved';
  if (!random.oneIn(isFrozen ? 4 : 16)) return;
  const lifts = isFrozen && !random.oneIn(3);
  await Promise.all(
    stores.map(async ({ store }) => {
      const ids = (await store.control()).frozen.map(({ id }) => id);
      if (lifts) await store.unfreeze({ ids, by: 'fuzz' });
      else await store.freeze({ reason: 'chance', by: 'fuzz', kind });
    }),
  );
  for (const { model, history } of lanes) {
    model.frozen = !lifts && (model.frozen || kind === 'operator');
    model.onlyApproved = !lifts && (model.onlyApproved || kind === 'except-approved');
    history.push(`${nowMs} ${lifts ? 'unfrozen' : `frozen, ${kind}`}`);
  }
}

/** Random policies that are no fault. */
function validPolicies(random: Random): Compiled {
  for (;;) {
    const found = compiledPolicies(randomPolicies(random));
    if (found !== undefined) return found;
  }
}

interface Compiled extends Revision {
  readonly release: Release;
}

/** Undefined if the policies are a fault. */
function compiledPolicies(policies: readonly Policy[]): Compiled | undefined {
  const files = {
    'assets.yaml': ASSETS,
    'people.yaml': PEOPLE,
    'policies.yaml': writtenPolicies(policies),
  };
  const written = Object.entries(files).map(([name, text]) => ({ name, text }));
  const compiled = readPolicyFiles(written, () => undefined);
  return compiled.ok
    ? { policies, groups: GROUPS, approvers: APPROVERS, release: compiled.release }
    : undefined;
}

const documentOf = ({ revision, document }: Release) => ({ revision, document });

interface Step {
  readonly lane: Lane;
  readonly tick: number;
  readonly nowMs: number;
  readonly stores: readonly OpenStore[];
  readonly deciders: readonly Decider[];
  readonly tally: Tally;
}

/** Mostly asks one callback; now and then a list changes before. */
async function step({ lane, tick, nowMs, stores, deciders, tally }: Step): Promise<void> {
  const { source, random, model, asked, approved, history } = lane;
  const failed = random.oneIn(12) ? anyOf(random, [...approved.values()]) : undefined;
  if (failed !== undefined) {
    const { kind, id } = failed.question;
    const request = { source, kind, id, members: {}, message: 'it failed', by: 'fuzz' };
    await Promise.all(stores.map(({ store }) => releaseApproval(store, RELEASING, request)));
    model.release(subjectOf(failed.question), '');
    approved.delete(id);
    history.push(`${nowMs} released ${kind} ${id}`);
  }
  if (random.oneIn(6)) {
    const { list, value } = randomListed(random);
    const has = model.state.addedAtMs(list, value) !== undefined;
    model.state.toggle(list, value, nowMs);
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
  const one =
    before === undefined ? randomCallback(random, source, `${source}-${tick}`) : askedAgain(random, before);
  if (before === undefined) asked.push(one);
  else tally.again++;
  if (random.oneIn(3)) await letPeopleApprove(lane, one, { nowMs, stores });
  const { question, wire } = one;
  const { type, verdict, code, taken } = model.ask(question, nowMs, `${tick}`);
  if (verdict === 'SUCCESS') approved.set(question.id, one);
  else approved.delete(question.id);
  const by = verdict === 'SUCCESS' ? ` by ${taken.join()}` : '';
  const expected = `${verdict}${by} (${type === 'repeat' ? 'repeated' : 'decided'} ${code})`;
  const came = await Promise.all(deciders.map(({ decides }) => decides(source, one)));
  tally.steps++;
  if (verdict === 'SUCCESS') tally.approved++;
  const isSame = came.every(({ said }) => said === expected);
  lane.differs ||= !isSame;
  const others = came.map(({ said, because }, at) => `${stores[at]?.name} ${said}, ${because}`);
  const said = isSame ? expected : `DIFFERS: ${expected}, but ${others.join('; ')}`;
  history.push(`${nowMs} ${JSON.stringify({ ...wire, scheme: question.scheme })} ${said}`);
}

/** People change the request about a callback, or make one. */
async function letPeopleApprove(
  { source, random, model, said, history }: Lane,
  { question }: Asked,
  { nowMs, stores }: Pick<Step, 'nowMs' | 'stores'>,
): Promise<void> {
  const id = subjectOf(question);
  const {
    version = 0,
    createdAtMs = nowMs,
    expiresAtMs = nowMs + random.pick(REQUESTED_MS),
  } = said.get(id) ?? {};
  const approvers = randomApprovers(random);
  said.set(id, { id, version: version + 1, approvers, createdAtMs, expiresAtMs, because: '' });
  model.approved.set(id, { by: approvers, askedAtMs: createdAtMs, untilMs: expiresAtMs });
  const change = { scope: source, id, expected: version, value: '{}', isOpen: true, keepMs: KEPT_MS };
  await Promise.all(stores.map(({ store }) => store.changeApprovalRequest(change)));
  history.push(`${nowMs} ${id} is approved by ${approvers.join(' ') || 'nobody'} until ${expiresAtMs}`);
}

/** Compares who is locked out. Then, mostly, lifts one of the lock-outs. */
async function liftLockout({
  lane,
  nowMs,
  stores,
  tally,
}: Pick<Step, 'lane' | 'nowMs' | 'stores' | 'tally'>): Promise<void> {
  const { source, random, model, history } = lane;
  const { lockouts } = model.state;
  const expected = lockouts.standing(nowMs);
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
  lockouts.lift(lifted.key);
  tally.lifted++;
  history.push(`${nowMs} lifted ${text}`);
}

async function lockoutsOf(store: Store, source: string): Promise<readonly StoredLockout[]> {
  const found: StoredLockout[] = [];
  for await (const lockout of store.lockouts(source)) found.push(lockout);
  return found;
}

const lockoutText = ({ policy, whose, refusals, sinceMs, untilMs }: Omit<Lockout, 'key'>): string =>
  `${policy} ${whose} after ${refusals} from ${sinceMs} to ${untilMs === Infinity ? 0 : untilMs}`;

interface Decider {
  readonly decides: (
    source: string,
    asked: Asked,
  ) => Promise<{
    /** The verdict, the alternatives that were taken, whether it was decided or repeated, and the code. */
    readonly said: string;
    readonly because: string;
  }>;
  readonly refresh: () => Promise<void>;
}

/** Decides on a store as the service does, once a callback is authentic. */
async function decider(
  { store }: OpenStore,
  release: Release,
  {
    clock,
    saidTo,
  }: {
    readonly clock: () => number;
    /** By source. */
    readonly saidTo: ReadonlyMap<string, ReadonlyMap<string, PeoplesApproval>>;
  },
): Promise<Decider> {
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
  const about = new Set<string>();
  const people: DecideParts['people'] = {
    said: ({ source, kind, id }) => Promise.resolve(saidTo.get(source)?.get(subjectOf({ kind, id }))),
    async ask({ callback, needs }) {
      if (needs.length > 0) about.add(callback.source);
      return false;
    },
  };
  const parts: DecideParts = {
    store: watched,
    policies,
    ask,
    people,
    groupOf,
    clock,
    answerTimeoutMs: 60_000,
  };
  const decides: Decider['decides'] = async (source, { question: { kind, scheme }, wire }) => {
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
    const { outcome } = await decideOn(parts, createTrace(arrivalOf(source)), {
      callback,
      body,
      sender,
      address: '127.0.0.1',
    });
    const { report } = outcome;
    const { verdict } = report;
    const wasAsked = about.delete(source);
    if (wasAsked !== (report.code === 'AWAITING_APPROVAL'))
      throw new Error(`asked people: ${report.because}`);
    const wasSimulated =
      simulated.verdict === verdict && simulated.code === report.code && isSameRule(simulated, report);
    const by = verdict === 'SUCCESS' ? ` by ${took.get(source) ?? ''}` : '';
    const said = `${verdict}${by} (${hows.get(source) ?? ''})`;
    return {
      said: wasSimulated
        ? said
        : `${said}, but simulated ${simulated.verdict} ${simulated.code}: ${simulated.because}`,
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
  isConnected: () => true,
});
