import {
  type Entry,
  type Policy,
  type Revision,
  type Rule,
  type Texts,
  type When,
  isIn,
  isOpen,
} from './policy.ts';
import type { Member, Question } from './question.ts';
import {
  type Approved,
  type Case,
  type Place,
  type Price,
  type Wanted,
  ofApproval,
  saidBy,
  sumsOf,
  totalOf,
} from './rules.ts';

/*
 * What policies say before the store is asked: docs/conditions.md and docs/movements.md once more, as plainly as
 * can be.
 */

/** What it depends on beside the callback. */
interface Known {
  /** Undefined if nothing is in force. */
  readonly inForce: Revision | undefined;
  /** The group of the source. */
  readonly group: string | undefined;
  readonly prices: ReadonlyMap<string, Price>;
  readonly approved: Approved | undefined;
  /** Whether a freeze excepts only what people approve. */
  readonly onlyApproved: boolean;
  readonly atMs: number;
}

/** How a refusal stands. */
export interface Standing {
  /** Whether something that causes it changes without a push. */
  readonly retryable: boolean;
  /** Whether it says nothing about the callback, because something that is needed failed, such as a price. */
  readonly failed: boolean;
}

export interface Claim extends Standing {
  readonly wanted: Wanted;
  readonly decides: boolean;
  /** Whether people can approve it. */
  readonly awaits: boolean;
}

/** One of the alternatives must hold, each with its number in the policy. */
export interface Choice extends Standing {
  readonly decides: boolean;
  readonly alternatives: readonly { readonly number: number; readonly requires: readonly Requirement[] }[];
}

export type Requirement = Claim | Choice;

export interface Proposal extends Standing {
  readonly approves: boolean;
  readonly refusal: 'NOTHING_IN_FORCE' | 'NO_POLICY' | undefined;
  /** Whether it depends on prices. */
  readonly prices: boolean;
  readonly requires: readonly Requirement[];
  /** Of each outermost `any`, the number of the alternative that holds, or what the store must choose of; 0 for none. */
  readonly taken: readonly (number | Choice)[];
}

/** What an entry comes to, or several of which each must hold. */
interface Judged extends Standing {
  /** `absent`: its conditions are not met. */
  readonly state: 'absent' | 'fails' | 'holds';
  /** Whether something in it holds that applies for certain. */
  readonly covers: boolean;
  /** Whether it may cover the callback at another time, or at other prices. */
  readonly mayCover: boolean;
  /** Whether it fails for a reason of its own. `failed`: something in it failed, even if it holds. */
  readonly counts: boolean;
  /** What must hold in the store. If it fails, what the store looks up all the same. */
  readonly requires: readonly Requirement[];
  /** Of `any`, as in a proposal. */
  readonly taken: number | Choice;
}

/** Where an entry is. */
interface Around extends Place {
  /** Whether a condition around it depends on time or prices. */
  readonly changes: boolean;
  /** Whether it applies only because a price is missing. */
  readonly failed: boolean;
  /** Whether it is an entry of `any`, and must apply to hold. */
  readonly isAlternative: boolean;
}

const ABSENT: Judged = {
  state: 'absent',
  covers: false,
  mayCover: false,
  retryable: false,
  failed: false,
  counts: false,
  requires: [],
  taken: 0,
};

export function propose({ inForce, onlyApproved, ...known }: Known, question: Question): Proposal {
  const looked = { prices: false };
  const { policies, files = {}, groups: people = {} } = inForce ?? { policies: [] };
  const all: Judged[] = [];
  const deciding: Judged[] = [];
  const taken: (number | Choice)[] = [];
  for (const policy of policies.toSorted((a, b) => (a.policy < b.policy ? -1 : 1))) {
    if (policy.callback !== question.kind) continue;
    const of = { ...known, policy, question, files, people, looked, ...seenIn(policy, question) };
    const met = tested(policy.when, of);
    const { state, changes } = met;
    if (state === 'no') {
      all.push({ ...ABSENT, mayCover: changes });
      continue;
    }
    const around = within(
      { scope: [], changes: false, failed: false, observes: false, isAlternative: false },
      met,
    );
    if (state === 'some' && policy.rules.some(({ mode }) => mode !== 'observe'))
      deciding.push(failing(around));
    for (const entry of policy.rules) {
      const observes = entry.mode === 'observe';
      const found = judge(entry, of, { ...around, observes });
      const covers = found.covers && state === 'yes';
      const judged = { ...found, covers, mayCover: found.mayCover || changes };
      all.push(judged);
      if (!observes) deciding.push(judged);
      if ('any' in entry && judged.state !== 'absent') taken.push(judged.taken);
    }
  }
  const byPolicies = together(deciding);
  if (onlyApproved && (byPolicies.covers || byPolicies.state === 'fails')) {
    const judged = judgeFreeze(inForce?.approvers ?? [], known);
    all.push(judged);
    deciding.push(judged);
  }
  const { state, covers, retryable, counts } = together(deciding);
  const uncovered = inForce === undefined ? 'NOTHING_IN_FORCE' : 'NO_POLICY';
  return {
    approves: state !== 'fails' && covers,
    refusal: state === 'fails' || covers ? undefined : uncovered,
    retryable: state === 'fails' ? retryable : !covers && all.some(({ mayCover }) => mayCover),
    // What no policy covers is not refused by a rule.
    failed: !counts,
    prices: looked.prices,
    requires: all.flatMap(({ requires }) => requires),
    taken,
  };
}

/** Two of those who may approve. */
function judgeFreeze(
  approvers: readonly string[],
  { approved, atMs }: Pick<Known, 'approved' | 'atMs'>,
): Judged {
  const standing = { retryable: true, failed: true };
  if (approvers.length < 2) return { ...ABSENT, state: 'fails', ...standing };
  const rule = { by: 'all', quorum: '2', within: '30d' };
  const approval = ofApproval(rule, { approved, people: { all: approvers }, atMs });
  const wanted = { type: 'approval', approval } as const;
  return { ...ABSENT, state: 'holds', requires: [{ wanted, decides: true, ...standing, awaits: true }] };
}

/** In a policy without movements, a callback moves what it says itself. */
function seenIn(policy: Policy, question: Question): Pick<Case, 'members' | 'amounts'> {
  const { members, amounts, movements } = question;
  if (policy.movements === undefined) return { members, amounts };
  const to = [...new Set(movements?.map((each) => each.to))];
  return { members: { ...members, to }, amounts: movements };
}

// ---- rules and groups ----

/** What several come to together, each of which must hold. */
function together(parts: readonly Judged[]): Judged {
  const refusing = parts.filter(({ state }) => state === 'fails');
  const isFailing = refusing.length > 0;
  return {
    ...ABSENT,
    state: isFailing ? 'fails' : parts.some(({ state }) => state === 'holds') ? 'holds' : 'absent',
    covers: !isFailing && parts.some(({ covers }) => covers),
    mayCover: parts.some(({ mayCover }) => mayCover),
    // Each that fails must change, so that they hold together.
    retryable: isFailing ? refusing.every((each) => each.retryable) : parts.some((each) => each.retryable),
    failed: parts.some(({ failed }) => failed),
    counts: refusing.some(({ counts }) => counts),
    requires: parts.flatMap(({ requires }) => requires),
  };
}

function failing({ changes, failed }: Around, own: Partial<Standing> = {}): Judged {
  const isFailed = failed || own.failed === true;
  const retryable = changes || own.retryable === true;
  return { ...ABSENT, state: 'fails', retryable, failed: isFailed, counts: !isFailed };
}

function within(outer: Around, { state, changes, failed }: Tested, when?: When): Around {
  return {
    ...outer,
    scope: when === undefined ? outer.scope : [...outer.scope, when],
    changes: outer.changes || changes,
    failed: outer.failed || (state === 'unknown' && failed),
  };
}

function judge(entry: Entry, of: Case, outer: Around): Judged {
  const met = tested(entry.when, of);
  const judged = judgeTested(entry, of, within(outer, met, entry.when), met);
  return met.changes ? { ...judged, mayCover: true } : judged;
}

function judgeTested(entry: Entry, of: Case, around: Around, { state }: Tested): Judged {
  const { isAlternative } = around;
  if (state === 'no' && !isAlternative) return ABSENT;
  if (state === 'no' || state === 'some' || (state === 'unknown' && isAlternative)) return failing(around);
  const judged =
    'any' in entry
      ? judgeAny(entry.any, of, around)
      : 'all' in entry
        ? judgeAll(entry.all, of, around)
        : judgeRule(entry, of, around);
  return state === 'yes' ? judged : { ...judged, covers: false };
}

function judgeRule(rule: Rule, of: Case, around: Around): Judged {
  const said = saidBy(rule, of, around);
  if (typeof said === 'string') {
    return failing(around, { retryable: said !== 'refuses', failed: said === 'lacks a price' });
  }
  const { observes, changes, failed } = around;
  const requires = said.map((wanted): Claim => {
    // Whether a list has changed is looked up for each repeat.
    const retryable = changes || wanted.type !== 'list';
    const isFailed = failed || wanted.type === 'approval';
    return { wanted, decides: !observes, retryable, failed: isFailed, awaits: wanted.type === 'approval' };
  });
  // A lock-out covers nothing.
  return { ...ABSENT, state: 'holds', covers: !('lock-out' in rule), requires };
}

/** As an alternative, it holds only if one of its rules applies for certain. */
function judgeAll(entries: readonly Entry[], of: Case, around: Around): Judged {
  const { isAlternative } = around;
  const judged = together(entries.map((each) => judge(each, of, { ...around, isAlternative: false })));
  if (judged.state === 'fails' || judged.covers || !isAlternative) return judged;
  return together([judged, failing(around, { retryable: judged.mayCover })]);
}

/** The first alternative that holds is taken. Those after one that needs nothing of the store are not judged. */
function judgeAny(entries: readonly Entry[], of: Case, around: Around): Judged {
  const judged: Judged[] = [];
  const alternatives: Choice['alternatives'][number][] = [];
  for (const [at, entry] of entries.entries()) {
    const each = judge(entry, of, { ...around, isAlternative: true });
    const { requires } = each;
    judged.push(each);
    if (each.state !== 'holds') continue;
    alternatives.push({ number: at + 1, requires });
    if (requires.length === 0) break;
  }
  const failed = judged.some((each) => each.failed);
  const retryable = around.changes || judged.some((each) => each.retryable);
  // Which of them is taken is only known later.
  const covers = judged.every((each) => each.state !== 'holds' || each.covers);
  const mayCover = judged.some((each) => each.mayCover) || (!covers && judged.some((each) => each.retryable));
  const [first] = alternatives;
  if (first === undefined) return { ...failing(around, { retryable, failed }), mayCover };
  const holds = { ...ABSENT, state: 'holds', covers, mayCover, failed } as const;
  if (first.requires.length === 0) return { ...holds, taken: first.number };
  const standing = { retryable, failed: around.failed || failed };
  const choice = { decides: !around.observes, ...standing, alternatives };
  return { ...holds, retryable, requires: [choice], taken: choice };
}

// ---- conditions ----

/**
 * `unknown`: a member or a price is missing. `some`: of several values, some meet it and others do not, or they
 * can't be read. `changes`: it depends on time or prices. `failed`: a price is missing.
 */
interface Tested {
  readonly state: 'yes' | 'unknown' | 'some' | 'no';
  readonly changes: boolean;
  readonly failed: boolean;
}

const MET: Tested = { state: 'yes', changes: false, failed: false };
const SEVERITY = ['yes', 'unknown', 'some', 'no'] as const;

/** What depends on the callback alone decides first. Once one is not met, nothing else matters. */
function tested(when: When | undefined, of: Case): Tested {
  const names = Object.keys(when ?? {}).toSorted(
    (a, b) => Number(isChanging(a, when)) - Number(isChanging(b, when)),
  );
  let all = MET;
  for (const name of names) {
    const each = test(name, when ?? {}, of);
    all = {
      state: SEVERITY[Math.max(SEVERITY.indexOf(all.state), SEVERITY.indexOf(each.state))] ?? 'no',
      changes: all.changes || each.changes,
      failed: all.failed || each.failed,
    };
    if (all.state === 'no') break;
  }
  return all;
}

const isChanging = (name: string, when: When | undefined): boolean =>
  name === 'not'
    ? Object.keys(when?.not ?? {}).some((inner) => isChanging(inner, when?.not))
    : name === 'value' || name === 'during';

const met = (is: boolean): Tested => ({ ...MET, state: is ? 'yes' : 'no' });

function test(name: string, { amount, value, during, scheme, not, ...texts }: When, of: Case): Tested {
  if (name === 'amount' && amount !== undefined) {
    return met(isIn(sumsOf(of.amounts)?.values().next().value ?? 0n, amount));
  }
  if (name === 'during' && during !== undefined) return { ...met(isOpen(during, of.atMs)), changes: true };
  if (name === 'scheme' && scheme !== undefined) {
    const own = of.question.scheme;
    return own === undefined ? { ...MET, state: 'unknown' } : met(scheme.includes(own));
  }
  if (name === 'value' && value !== undefined) return testValue(value, of);
  if (name === 'not') {
    const inner = tested(not, of);
    const { state } = inner;
    return { ...inner, state: state === 'yes' ? 'no' : state === 'no' ? 'yes' : state };
  }
  for (const member of ['userId', 'to', 'symbol', 'memo'] as const) {
    if (name === member) return testTexts(member, texts[member] ?? [], of);
  }
  throw new TypeError(`no condition ${name}`);
}

function testTexts(member: Member, texts: Texts, { members, amounts, files }: Case): Tested {
  if (member === 'to' && amounts === undefined) return { ...MET, state: 'some' };
  const values = members[member] ?? [];
  const allowed = typeof texts === 'object' && 'file' in texts ? [files[texts.file]] : [texts].flat();
  const matching = values.filter((value) => allowed.includes(value)).length;
  if (values.length === 0) return { ...MET, state: 'unknown' };
  return matching === 0 || matching === values.length ? met(matching > 0) : { ...MET, state: 'some' };
}

/** Unlimited is above every value. */
function testValue({ maxAge, ...range }: NonNullable<When['value']>, of: Case): Tested {
  if (of.amounts === undefined) return { ...MET, state: 'unknown' };
  const sums = sumsOf(of.amounts);
  if (sums === undefined) return met(range.below === undefined && range.atMost === undefined);
  of.looked.prices = true;
  const total = totalOf(sums, maxAge, of);
  if (total === undefined) return { state: 'unknown', changes: true, failed: true };
  return { ...met(isIn(total, range)), changes: true };
}
