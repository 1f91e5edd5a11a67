import {
  type Choice,
  type Claim,
  type Proposal,
  type Requirement,
  type Standing,
  propose,
} from './evaluate.ts';
import type { Revision } from './policy.ts';
import { type Question, subjectOf } from './question.ts';
import type { Approved, LockoutWanted, Price, Wanted } from './rules.ts';
import { type Approvals, type Found, type Reservation, StateModel } from './store.ts';

/*
 * How a question is settled: docs/decisions.md once more, as plainly as can be. Everything is in memory, and one
 * question comes at a time. The services under test must come to the same in every case.
 */

/** What a journal entry says, as far as it is foretold. */
export interface Foretold {
  readonly type: 'decision' | 'repeat' | 'notice';
  readonly verdict: 'SUCCESS' | 'FAILURE';
  readonly code: string;
  /** The entry of the decision that is repeated, or of the release; the empty text for none. */
  readonly of: string;
  readonly claims: readonly Found[];
  /** Of each outermost `any`, the number of the alternative that is taken; 0 for none. */
  readonly taken: readonly number[];
}

interface Decision {
  readonly verdict: 'SUCCESS' | 'FAILURE';
  readonly code: string;
  readonly revision: Revision | undefined;
  /** Whether a refusal stands until the policies or a list change. */
  readonly stands: boolean;
  /** The lists it depends on, each with how often it had been changed. */
  readonly lists: ReadonlyMap<string, number>;
  readonly atMs: number;
  readonly entry: string;
  /** The alternatives that were taken; the empty text if nothing was left to the store. */
  readonly took: string;
}

/** What is known of a subject. */
interface Subject {
  readonly terms: string;
  /** By question. */
  readonly decisions: Map<string, Decision>;
  readonly txids: Set<string>;
  /** The entry of its release. */
  released?: string;
}

/** What holds: the places of its alternatives, and its own number in the policy. */
interface Taken {
  readonly path: string;
  readonly number: number;
}

interface Checked {
  /** In the order of all claims. */
  readonly claims: readonly (readonly [Claim, Found])[];
  /** What an approval reserves. */
  readonly taken: readonly Wanted[];
  readonly took: string;
  readonly numbers: readonly number[];
  /** Of each that refuses. */
  readonly refusing: readonly (Standing & Pick<Claim, 'awaits'>)[];
}

/** Everything that one source's decisions depend on. */
export class SourceModel {
  /** Undefined while nothing is in force. */
  inForce: Revision | undefined;
  /** By a freeze that excepts nothing. */
  frozen = false;
  /** By a freeze that excepts what people approve. */
  onlyApproved = false;
  prices: { readonly version: number; readonly table: ReadonlyMap<string, Price> } = {
    version: 0,
    table: new Map(),
  };
  readonly state: StateModel;
  /** By subject, what people were asked and said. */
  readonly approved = new Map<string, Approved>();
  /** What became of alternatives, each once. */
  readonly choices = new Set<string>();
  readonly #subjects = new Map<string, Subject>();
  readonly #group: string | undefined;

  /** `reserved`: what approvals of all sources of the group reserved. */
  constructor(group: string | undefined, reserved: Reservation[]) {
    this.#group = group;
    this.state = new StateModel(reserved);
  }

  /** Without a price it is removed. */
  setPrice(version: number, asset: string, price: Price | undefined): void {
    const table = new Map(this.prices.table);
    if (price === undefined) table.delete(asset);
    else table.set(asset, price);
    this.prices = { version, table };
  }

  /**
   * What becomes of the callback at that time, if it is now its turn; `entry` is the name under which it is
   * journalled.
   */
  ask(question: Question, atMs: number, entry: string): Foretold {
    return question.type === 'sign_success' ? this.#notice(question) : this.#decide(question, atMs, entry);
  }

  propose(question: Question, atMs: number): Proposal {
    const { inForce, prices, onlyApproved } = this;
    const approved = this.approved.get(subjectOf(question));
    const people = { approved, onlyApproved };
    return propose({ inForce, prices: prices.table, group: this.#group, ...people, atMs }, question);
  }

  /** Only what is approved and not signed is released, and only once. */
  release(name: string, entry: string): void {
    const subject = this.#subjects.get(name);
    const isApproved = [...(subject?.decisions.values() ?? [])].some(({ verdict }) => verdict === 'SUCCESS');
    if (subject === undefined || !isApproved || subject.txids.size > 0 || subject.released !== undefined)
      throw new Error(`${name} was released, and could not be`);
    subject.released = entry;
    this.state.release(name);
  }

  #decide(asked: Question, atMs: number, entry: string): Foretold {
    const no = (code: string, of = ''): Foretold => {
      return { type: 'decision', verdict: 'FAILURE', code, of, claims: [], taken: [] };
    };
    if (this.frozen) return no('FROZEN');
    const name = subjectOf(asked);
    const subject = this.#subjects.get(name) ?? {
      terms: asked.terms,
      decisions: new Map<string, Decision>(),
      txids: new Set<string>(),
    };
    if (subject.terms !== asked.terms) return no('TERMS_CHANGED');
    if (subject.released !== undefined) return no('RELEASED', subject.released);
    this.#subjects.set(name, subject);

    const proposal = this.propose(asked, atMs);
    const { claims, taken, took, numbers, refusing } = this.#check(proposal, asked, subject, atMs);
    const approves = proposal.approves && refusing.length === 0;
    const reserve = (): void => this.state.reserve(asked, taken, atMs);
    const said = { of: '', claims: claims.map(([, found]) => found), taken: numbers };

    const question = questionOf(asked, subject);
    const before = subject.decisions.get(question);
    this.#noteChoices(subject, asked, { before, approves, took });
    if (before !== undefined && (before.verdict === 'SUCCESS' ? approves : this.#stillRefuses(before))) {
      if (before.verdict === 'SUCCESS') reserve();
      return { ...said, type: 'repeat', verdict: before.verdict, code: before.code, of: before.entry };
    }
    if (approves) reserve();
    const verdict = approves ? 'SUCCESS' : 'FAILURE';
    const refusals = [...(proposal.approves ? [] : [proposal]), ...refusing];
    const stands = refusals.some(({ retryable }) => !retryable);
    // The code names what stands, not what may pass by itself.
    const byClaim = proposal.retryable && stands;
    const refusal = (byClaim ? undefined : proposal.refusal) ?? 'RULE_REFUSED';
    const awaits = proposal.approves && refusing.every((each) => each.awaits);
    const code = approves ? 'APPROVED' : awaits ? 'AWAITING_APPROVAL' : refusal;
    if (code === 'RULE_REFUSED' && refusals.some(({ failed }) => !failed)) {
      const looked = claims.filter(([, { type }]) => type === 'refusals').map(([{ wanted }]) => wanted);
      this.state.lockouts.refuse(looked.filter(isLockout), name, atMs);
    }
    const lists = claims.flatMap(([{ wanted }, { type }]) =>
      'list' in wanted && type !== NOT_CHECKED.type ? [wanted.list] : [],
    );
    subject.decisions.set(question, {
      verdict,
      code,
      revision: this.inForce,
      stands,
      lists: new Map(lists.map((list) => [list, this.state.changesOf(list)])),
      atMs,
      entry,
      took,
    });
    return { ...said, type: 'decision', verdict, code };
  }

  /** The first alternative of each choice that holds is taken; of the others, nothing is reserved. */
  #check(proposal: Proposal, question: Question, subject: Subject, atMs: number): Checked {
    const found = new Map<Claim, Found>();
    const taken: Claim[] = [];
    const approvals = approvalsOf(question, subject);
    const holds = (claim: Claim): boolean => {
      const before = taken.map(({ wanted }) => wanted);
      const result = this.state.check(claim.wanted, { question, approvals, atMs, before });
      taken.push(claim);
      found.set(claim, result);
      return result.holds;
    };
    const isMet = (requirement: Requirement): boolean =>
      isClaim(requirement)
        ? found.get(requirement)?.holds === true
        : requirement.alternatives.some(({ requires }) => requires.every(isMet));
    // What does not hold lacks only people's approval: of a choice, one alternative that lacks nothing else.
    const awaits = (requirement: Requirement): boolean =>
      isClaim(requirement)
        ? requirement.awaits && found.has(requirement)
        : requirement.alternatives.some(({ requires }) =>
            requires.every((each) => isMet(each) || awaits(each)),
          );
    const take = (requirement: Requirement): Taken | undefined => {
      if (isClaim(requirement)) return holds(requirement) ? { path: '', number: 1 } : undefined;
      for (const [at, { number, requires }] of requirement.alternatives.entries()) {
        const from = taken.length;
        const paths: string[] = [];
        let isTaken = true;
        for (const each of requires) {
          const one = take(each);
          if (one !== undefined) paths.push(one.path);
          isTaken &&= one !== undefined;
          // People are asked only once all else holds.
          if (one === undefined && !awaits(each)) break;
        }
        if (isTaken) return { path: `(${at + 1}${paths.join('')})`, number };
        taken.length = from;
      }
      return undefined;
    };
    const beside = proposal.requires.filter(isClaim);
    for (const claim of beside) holds(claim);
    const choices = proposal.requires.filter((each): each is Choice => !isClaim(each));
    const chosen = new Map(choices.map((choice) => [choice, take(choice)]));

    const standing = (claim: Claim): Standing & Pick<Claim, 'awaits'> => ({
      retryable: claim.retryable,
      // A lock-out, and a list that is missing, say nothing about the callback.
      failed: claim.failed || isLockout(claim.wanted) || found.get(claim)?.missing === true,
      awaits: claim.awaits,
    });
    // A change of one alternative is enough.
    const standingOf = (choice: Choice): Standing & Pick<Claim, 'awaits'> => {
      const isAwaiting = awaits(choice);
      const failing = claimsWithin(choice)
        .filter((claim) => found.get(claim)?.holds === false)
        .filter((claim) => isAwaiting || !claim.awaits);
      const all = [choice, ...failing.map(standing)];
      const [retryable, failed] = [all.some((each) => each.retryable), all.some((each) => each.failed)];
      return { retryable, failed, awaits: isAwaiting };
    };
    return {
      claims: proposal.requires.flatMap(claimsWithin).map((each) => [each, found.get(each) ?? NOT_CHECKED]),
      taken: taken.map(({ wanted }) => wanted),
      took: [...chosen.values()].map((each) => each?.path ?? '(none)').join(''),
      numbers: proposal.taken.map((each) =>
        typeof each === 'number' ? each : (chosen.get(each)?.number ?? 0),
      ),
      refusing: [
        ...beside.filter((claim) => claim.decides && found.get(claim)?.holds === false).map(standing),
        ...choices.filter((each) => each.decides && chosen.get(each) === undefined).map(standingOf),
      ],
    };
  }

  /** Notes what became of alternatives, so that a test sees that chance has been everywhere. */
  #noteChoices(
    { decisions }: Subject,
    { type, speedUp }: Question,
    {
      before,
      approves,
      took,
    }: Pick<Decision, 'took'> & {
      readonly before: Decision | undefined;
      readonly approves: boolean;
    },
  ): void {
    if (took === '') return;
    const { choices } = this;
    choices.add(
      took.includes('none') ? 'none held' : /[2-9]/.test(took) ? 'took a later one' : 'took the first',
    );
    const isSame = before?.took === took;
    if (approves && before?.verdict === 'SUCCESS') {
      choices.add(isSame ? 'repeated by the same' : 'repeated by another');
    }
    if (!approves && before?.verdict === 'SUCCESS') choices.add('approved before, and none holds now');
    const prepared = decisions.get('sign_prepare');
    const isStarted = approves && type === 'sign_start' && !speedUp && before === undefined;
    if (isStarted && prepared?.verdict === 'SUCCESS' && prepared.revision === this.inForce) {
      choices.add(prepared.took === took ? 'started by the same' : 'started by another');
    }
    const isLifted = approves && before?.took.includes('none') === true && before.verdict === 'FAILURE';
    if (isLifted && before.revision === this.inForce) {
      choices.add(before.stands ? 'lifted by a list' : 'lifted by time');
    }
  }

  #notice(asked: Question): Foretold {
    const subject = this.#subjects.get(subjectOf(asked));
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
        : same?.released !== undefined
          ? 'SIGNED_AFTER_RELEASE'
          : isNew && txids.size >= 1 + speedUps
            ? 'TXID_UNEXPECTED'
            : this.frozen
              ? 'FROZEN'
              : 'NOTED';
    if (isNew) txids.add(asked.txid);
    const verdict = code === 'NOTED' ? 'SUCCESS' : 'FAILURE';
    return { type: 'notice', verdict, code, of: '', claims: [], taken: [] };
  }

  #stillRefuses({ stands, revision, lists }: Decision): boolean {
    return (
      stands &&
      revision === this.inForce &&
      [...lists].every(([list, changes]) => this.state.changesOf(list) === changes)
    );
  }
}

const NOT_CHECKED = { type: 'not-checked', holds: false, notChecked: true } as const;

const isLockout = (wanted: Claim['wanted']): wanted is LockoutWanted => wanted.type === 'refusals';
const isClaim = (requirement: Requirement): requirement is Claim => 'wanted' in requirement;

const claimsWithin = (requirement: Requirement): readonly Claim[] =>
  isClaim(requirement)
    ? [requirement]
    : requirement.alternatives.flatMap(({ requires }) => requires.flatMap(claimsWithin));

/** One speed-up is told from the next by the txids there are by then. */
const questionOf = ({ type, speedUp }: Question, { txids }: Subject): string =>
  `${type}${speedUp ? `+${txids.size}` : ''}`;

function approvalsOf(asked: Question, subject: Subject): Approvals {
  const approved = [...subject.decisions].filter(([, { verdict }]) => verdict === 'SUCCESS');
  const own = questionOf(asked, subject);
  const others = approved.filter(([question]) => question.startsWith(`${asked.type}+`) && question !== own);
  const first = approved.find(([question]) => question === asked.type)?.[1];
  return { approvedAtMs: first?.atMs ?? 0, speedUps: others.length };
}
