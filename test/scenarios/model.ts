import { type ClaimResult, NOT_CHECKED } from '../../src/claims/claims.ts';
import { type Choice, type Claim, type Price, type Proposal, claimsWithin, propose } from './model-rules.ts';
import { type Asked, type Decision, type Subject, questionOf, subjectOf } from './model-asked.ts';
import { type Reservation, StateModel } from './model-state.ts';

/*
 * How decisions are made, once more and as plainly as can be: everything in memory, one question at a time,
 * every sum, mark and entry found anew in all that ever happened. The services under test must come to the
 * same in every case.
 */

/** What a journal entry says, as far as the model foretells it. */
export interface Foretold {
  readonly type: 'decision' | 'repeat' | 'notice';
  readonly verdict: 'SUCCESS' | 'FAILURE';
  readonly code: string;
  /** The entry of the decision that is repeated; the empty text where nothing is. */
  readonly of: string;
  readonly claims: readonly ClaimResult[];
}

/** What an alternative needed, and its place. */
interface Taken {
  readonly claims: readonly Claim[];
  readonly path: string;
}

/** Everything that one source's decisions depend on. */
export class SourceModel {
  /** An index into `revisions`; undefined while nothing is in force. */
  inForce: number | undefined;
  frozen = false;
  prices: { readonly version: number; readonly table: ReadonlyMap<string, Price> } = {
    version: 0,
    table: new Map(),
  };
  readonly state: StateModel;
  /** What became of alternatives, each once. */
  readonly choices = new Set<string>();
  readonly #subjects = new Map<string, Subject>();

  /** `reserved`: what approvals of all sources reserved. */
  constructor(reserved: Reservation[]) {
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
  ask(asked: Asked, atMs: number, entry: string): Foretold {
    return asked.type === 'sign_success' ? this.#notice(asked) : this.#question(asked, atMs, entry);
  }

  propose(asked: Asked, atMs: number): Proposal {
    return propose({ inForce: this.inForce, prices: this.prices.table, atMs }, asked);
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

  #question(asked: Asked, atMs: number, entry: string): Foretold {
    const no = (code: string): Foretold => ({
      type: 'decision',
      verdict: 'FAILURE',
      code,
      of: '',
      claims: [],
    });
    if (this.frozen) return no('FROZEN');
    const name = subjectOf(asked);
    const subject = this.#subjects.get(name) ?? {
      terms: asked.terms,
      decisions: new Map<string, Decision>(),
      txids: new Set<string>(),
    };
    if (subject.terms !== asked.terms) return no('TERMS_CHANGED');
    if (subject.released !== undefined) return { ...no('RELEASED'), of: subject.released };
    this.#subjects.set(name, subject);

    const proposal = this.propose(asked, atMs);
    const { claims, taken, failing, took } = this.#check(proposal, asked, subject, atMs);
    const approves = proposal.approves && failing.length === 0;
    const said = { of: '', claims: claims.map(({ result }) => result) };

    const question = questionOf(asked, subject);
    const before = subject.decisions.get(question);
    this.#noteChoices(subject, asked, { before, approves, took });
    if (before !== undefined && (before.verdict === 'SUCCESS' ? approves : this.#stillRefuses(before))) {
      if (before.verdict === 'SUCCESS') this.state.reserve(name, taken, atMs);
      return { ...said, type: 'repeat', verdict: before.verdict, code: before.code, of: before.entry };
    }
    if (approves) this.state.reserve(name, taken, atMs);
    const verdict = approves ? 'SUCCESS' : 'FAILURE';
    const refusers = [...(proposal.approves ? [] : [proposal]), ...failing];
    const stands = refusers.some(({ retryable }) => !retryable);
    // What stands in the way is told, not what may pass by itself.
    const byClaim = proposal.retryable && stands;
    const refusal = (byClaim ? undefined : proposal.refusal) ?? 'RULE_REFUSED';
    const code = approves ? 'APPROVED' : refusal;
    subject.decisions.set(question, {
      verdict,
      code,
      revision: this.inForce,
      stands,
      lists: new Map(
        claims.flatMap(({ wanted, result }) =>
          'list' in wanted && result.type !== 'not-checked'
            ? [[wanted.list, this.state.changesOf(wanted.list)] as const]
            : [],
        ),
      ),
      atMs,
      entry,
      took,
    });
    return { ...said, type: 'decision', verdict, code };
  }

  /** The first alternative of each choice that holds is taken; of the others, nothing is reserved. */
  #check(proposal: Proposal, asked: Asked, subject: Subject, atMs: number) {
    const within = new Set(proposal.choices.flatMap(claimsWithin));
    const found = new Map<Claim, ClaimResult>();
    const check = (claim: Claim): boolean => {
      const result = this.state.check(claim.wanted, asked, subject, atMs);
      found.set(claim, result);
      return result.holds;
    };
    const take = (wanted: Claim | Choice): Taken | undefined => {
      if (!('alternatives' in wanted)) return check(wanted) ? { claims: [wanted], path: '' } : undefined;
      for (const [at, alternative] of wanted.alternatives.entries()) {
        const all: Taken[] = [];
        const holds = alternative.every((each) => {
          const taken = take(each);
          if (taken !== undefined) all.push(taken);
          return taken !== undefined;
        });
        if (holds) {
          const path = `(${at + 1}${all.map((each) => each.path).join('')})`;
          return { claims: all.flatMap((each) => each.claims), path };
        }
      }
      return undefined;
    };
    const beside = proposal.claims.filter((claim) => !within.has(claim));
    for (const claim of beside) check(claim);
    const chosen = proposal.choices.map((choice) => ({ choice, taken: take(choice) }));
    const withResult = (claim: Claim) => ({ ...claim, result: found.get(claim) ?? NOT_CHECKED });
    const changes = (claim: Claim): boolean => claim.retryable && found.get(claim)?.holds === false;
    return {
      claims: proposal.claims.map(withResult),
      taken: [...beside, ...chosen.flatMap(({ taken }) => taken?.claims ?? [])].map(withResult),
      took: chosen.map(({ taken }) => taken?.path ?? '(none)').join(''),
      failing: [
        ...beside.filter((claim) => claim.decides && found.get(claim)?.holds !== true),
        ...chosen
          .filter(({ choice, taken }) => choice.decides && taken === undefined)
          .map(({ choice: { retryable, ...choice } }) => ({
            retryable: retryable || choice.alternatives.flat().flatMap(claimsWithin).some(changes),
          })),
      ],
    };
  }

  /** For whoever wants to know that chance has been everywhere. */
  #noteChoices(
    { decisions }: Subject,
    { type, speedUp }: Asked,
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

  #notice(asked: Asked): Foretold {
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
    return { type: 'notice', verdict: code === 'NOTED' ? 'SUCCESS' : 'FAILURE', code, of: '', claims: [] };
  }

  #stillRefuses({ stands, revision, lists }: Decision): boolean {
    return (
      stands &&
      revision === this.inForce &&
      [...lists].every(([list, changes]) => this.state.changesOf(list) === changes)
    );
  }
}
