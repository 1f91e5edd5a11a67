import { type Amount, parseAmount } from '../../src/values/amount.ts';
import { type PolicySpec, type RuleSpec, revisions } from './model-policies.ts';

/*
 * How decisions are made, once more and as plainly as can be: everything in memory, one question at a time, every sum
 * counted anew from all that was ever approved. The services under test must come to the same in every case.
 */

/** One callback as it was sent, in the model's terms. */
export interface Asked {
  readonly source: 'shop' | 'vault';
  readonly kind: 'payment' | 'transfer' | 'web3';
  readonly id: string;
  /** All that says what is to be done, as one text. */
  readonly terms: string;
  readonly type: 'payment' | 'sign_prepare' | 'sign_start' | 'sign_success';
  readonly speedUp: boolean;
  readonly amount: string;
  readonly symbol: string;
  readonly userId: string;
  readonly to: string;
  readonly txid: string;
  /** The body that was sent. */
  readonly body: string;
}

/** What a journal entry says, as far as the model foretells it. */
export interface Foretold {
  readonly type: 'decision' | 'repeat' | 'notice';
  readonly verdict: 'SUCCESS' | 'FAILURE';
  readonly code: string;
  /** The entry of the decision that is repeated; the empty text where nothing is. */
  readonly of: string;
  readonly claims: readonly (
    | { readonly holds: boolean; readonly reserved: boolean; readonly used: Amount }
    | { readonly holds: boolean; readonly missing: boolean; readonly present: readonly string[] }
  )[];
}

interface Decision {
  readonly verdict: 'SUCCESS' | 'FAILURE';
  readonly code: string;
  readonly revision: number | undefined;
  readonly final: boolean;
  /** The lists it depends on, each with how often it had been changed. */
  readonly lists: ReadonlyMap<string, number>;
  readonly entry: string;
}

interface Subject {
  readonly terms: string;
  readonly decisions: Map<string, Decision>;
  /** When it last reserved in each counter. */
  readonly reserved: Map<string, number>;
  readonly txids: Set<string>;
}

type WindowRule = Extract<RuleSpec, { readonly window: string }>;
interface Claim {
  readonly policy: PolicySpec;
  readonly rule: RuleSpec;
  readonly decides: boolean;
  readonly counter?: string;
  readonly amount?: Amount;
}

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
const amountOf = (text: string): Amount => {
  const amount = parseAmount(text);
  if (amount === undefined) throw new Error(`${text} is no amount`);
  return amount;
};

/** Everything that one source's decisions depend on. */
export class SourceModel {
  /** An index into `revisions`; undefined while nothing is in force. */
  inForce: number | undefined;
  frozen = false;
  readonly #lists = new Map<string, { readonly values: Set<string>; changes: number }>();
  readonly #subjects = new Map<string, Subject>();
  readonly #counted = new Map<string, { readonly atMs: number; readonly amount: Amount }[]>();

  /** Adds the value to the list if it is not there, else removes it. */
  toggle(list: string, value: string): void {
    const found = this.#lists.get(list) ?? { values: new Set<string>(), changes: 0 };
    if (!found.values.delete(value)) found.values.add(value);
    found.changes++;
    this.#lists.set(list, found);
  }

  holds(list: string, value: string): boolean {
    return this.#lists.get(list)?.values.has(value) ?? false;
  }

  /** What becomes of the callback at that time, if it is now its turn; `entry` is the name under which it is journalled. */
  ask(asked: Asked, atMs: number, entry: string): Foretold {
    return asked.type === 'sign_success' ? this.#notice(asked) : this.#question(asked, atMs, entry);
  }

  #question(asked: Asked, atMs: number, entry: string): Foretold {
    const no = (code: string): Foretold => ({
      type: 'decision',
      verdict: 'FAILURE',
      code,
      of: '',
      claims: [],
    });
    if (this.frozen) return no('FROZEN');
    const name = `${asked.kind}:${asked.id}`;
    const subject = this.#subjects.get(name) ?? {
      terms: asked.terms,
      decisions: new Map<string, Decision>(),
      reserved: new Map<string, number>(),
      txids: new Set<string>(),
    };
    if (subject.terms !== asked.terms) return no('TERMS_CHANGED');
    this.#subjects.set(name, subject);

    const proposal = propose(this.inForce, asked);
    const claims = proposal.claims.map((claim) => ({
      ...claim,
      result: this.#check(claim, asked, subject, atMs),
    }));
    const failing = claims.filter(({ decides, result }) => decides && !result.holds);
    const approves = proposal.approves && failing.length === 0;
    const reserve = (): void => {
      for (const { counter, amount, result } of claims) {
        if (counter === undefined || amount === undefined || !('reserved' in result) || result.reserved)
          continue;
        subject.reserved.set(counter, atMs);
        this.#counted.set(counter, [...(this.#counted.get(counter) ?? []), { atMs, amount }]);
      }
    };
    const results = claims.map(({ result }) => result);

    const question = `${asked.type}${asked.speedUp ? `+${subject.txids.size}` : ''}`;
    const stands = subject.decisions.get(question);
    if (stands !== undefined && (stands.verdict === 'SUCCESS' ? approves : this.#stillRefuses(stands))) {
      if (approves && stands.verdict === 'SUCCESS') reserve();
      return {
        type: 'repeat',
        verdict: stands.verdict,
        code: stands.code,
        of: stands.entry,
        claims: results,
      };
    }
    if (approves) reserve();
    const verdict = approves ? 'SUCCESS' : 'FAILURE';
    const code = approves ? 'APPROVED' : (proposal.refusal ?? 'RULE_REFUSED');
    const lists = proposal.claims.flatMap(({ rule }) => ('list' in rule ? [rule.list] : []));
    subject.decisions.set(question, {
      verdict,
      code,
      revision: this.inForce,
      final: proposal.approves ? failing.some(({ policy }) => policy.final === true) : proposal.final,
      lists: new Map(lists.map((list) => [list, this.#changesOf(list)])),
      entry,
    });
    return { type: 'decision', verdict, code, of: '', claims: results };
  }

  #notice(asked: Asked): Foretold {
    const subject = this.#subjects.get(`${asked.kind}:${asked.id}`);
    const same = subject?.terms === asked.terms ? subject : undefined;
    const approved = [...(same?.decisions ?? [])].filter(
      ([question, { verdict }]) => question.startsWith('sign_start') && verdict === 'SUCCESS',
    );
    const speedUps = approved.filter(([question]) => question.includes('+')).length;
    const txids = same?.txids ?? new Set<string>();
    const isNew = asked.txid !== '' && !txids.has(asked.txid);
    const code =
      approved.length === 0
        ? 'SIGNED_WITHOUT_APPROVAL'
        : isNew && txids.size >= 1 + speedUps
          ? 'TXID_UNEXPECTED'
          : this.frozen
            ? 'FROZEN'
            : 'NOTED';
    if (isNew) txids.add(asked.txid);
    return { type: 'notice', verdict: code === 'NOTED' ? 'SUCCESS' : 'FAILURE', code, of: '', claims: [] };
  }

  #stillRefuses({ final, revision, lists }: Decision): boolean {
    if (final) return true;
    return (
      revision === this.inForce && [...lists].every(([list, changes]) => this.#changesOf(list) === changes)
    );
  }

  #changesOf(list: string): number {
    return this.#lists.get(list)?.changes ?? 0;
  }

  #check(claim: Claim, asked: Asked, subject: Subject, atMs: number): Foretold['claims'][number] {
    const { rule, counter, amount } = claim;
    if ('list' in rule) {
      const value = asked[rule.of];
      const present = this.holds(rule.list, value) ? [value] : [];
      const missing = !this.#lists.has(rule.list);
      const wanted = rule.type === 'allow-list' ? present.length === 1 : present.length === 0;
      return { holds: !missing && wanted, missing, present };
    }
    if (counter === undefined || amount === undefined || !('window' in rule))
      throw new Error('no such claim');
    const used = (this.#counted.get(counter) ?? [])
      .filter((each) => countsStill(rule.window, each.atMs, atMs))
      .reduce((sum, each) => sum + each.amount, 0n);
    const reservedMs = subject.reserved.get(counter);
    const reserved = reservedMs !== undefined && countsStill(rule.window, reservedMs, atMs);
    return { holds: reserved || used + amount <= amountOf(rule.max), reserved, used };
  }
}

/**
 * Whether what was approved then is in the window now. A rolling window is counted in sixty parts, of which one counts for
 * as long as any instant of it is within the length.
 */
function countsStill(window: WindowRule['window'], thenMs: number, nowMs: number): boolean {
  if (window === 'day') return Math.floor(thenMs / DAY_MS) === Math.floor(nowMs / DAY_MS);
  const lengthMs = window === '1h' ? 60 * MINUTE_MS : 10 * MINUTE_MS;
  const partMs = lengthMs / 60;
  return (Math.floor(thenMs / partMs) + 1) * partMs > nowMs - lengthMs;
}

/** What the policies say before the store is asked. */
function propose(
  inForce: number | undefined,
  asked: Asked,
): {
  readonly approves: boolean;
  readonly refusal: 'NOTHING_IN_FORCE' | 'NO_POLICY' | undefined;
  readonly final: boolean;
  readonly claims: readonly Claim[];
} {
  const revision = inForce === undefined ? undefined : revisions[inForce];
  if (revision === undefined)
    return { approves: false, refusal: 'NOTHING_IN_FORCE', final: false, claims: [] };
  const applying = revision.specs
    .filter(({ callback, symbol = asked.symbol }) => callback === asked.kind && symbol === asked.symbol)
    .toSorted((a, b) => (a.policy < b.policy ? -1 : 1));
  if (applying.length === 0) return { approves: false, refusal: 'NO_POLICY', final: false, claims: [] };
  const refusing = applying.filter(({ rules }) =>
    rules.some((rule) => rule.type === 'amount-limit' && amountOf(asked.amount) > amountOf(rule.max)),
  );
  return {
    approves: refusing.length === 0,
    refusal: undefined,
    final: refusing[0]?.final === true,
    claims: applying.flatMap((policy) => policy.rules.flatMap((rule) => claimOf(policy, rule, asked))),
  };
}

/** The counters in which an approval with these results reserved under a revision, how much, and what the sum may be. */
export function reservedBy(
  inForce: number | undefined,
  asked: Asked,
  results: Foretold['claims'],
): readonly {
  readonly counter: string;
  readonly amount: Amount;
  readonly window: WindowRule['window'];
  readonly max: Amount;
}[] {
  return propose(inForce, asked).claims.flatMap(({ rule, decides, counter, amount }, index) => {
    const result = results[index];
    const isNew = decides && result !== undefined && 'reserved' in result && !result.reserved;
    return isNew && 'window' in rule && counter !== undefined && amount !== undefined
      ? [{ counter, amount, window: rule.window, max: amountOf(rule.max) }]
      : [];
  });
}

function claimOf(policy: PolicySpec, rule: RuleSpec, asked: Asked): readonly Claim[] {
  if (rule.type === 'amount-limit') return [];
  if ('list' in rule) return [{ policy, rule, decides: true }];
  const by = rule.per.map((member) => asked[member]);
  const counter = [policy.policy, policy.symbol ?? '', rule.type, rule.window, ...by].join(' ');
  const amount = rule.type === 'velocity-limit' ? amountOf('1') : amountOf(asked.amount);
  return [{ policy, rule, decides: rule.observe !== true, counter, amount }];
}
