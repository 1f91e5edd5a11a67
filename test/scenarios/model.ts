import type { ClaimResult } from '../../src/claims/claims.ts';
import { type Price, type Proposal, propose } from './model-rules.ts';
import { type Asked, type Decision, type Subject, questionOf, subjectOf } from './model-asked.ts';
import { StateModel } from './model-state.ts';

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

/** Everything that one source's decisions depend on. */
export class SourceModel {
  /** An index into `revisions`; undefined while nothing is in force. */
  inForce: number | undefined;
  frozen = false;
  prices: { readonly version: number; readonly table: ReadonlyMap<string, Price> } = {
    version: 0,
    table: new Map(),
  };
  readonly state = new StateModel();
  readonly #subjects = new Map<string, Subject>();

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
    this.#subjects.set(name, subject);

    const proposal = this.propose(asked, atMs);
    const claims = proposal.claims.map((claim) => ({
      ...claim,
      result: this.state.check(claim.wanted, asked, subject, atMs),
    }));
    const failing = claims.filter(({ decides, result }) => decides && !result.holds);
    const approves = proposal.approves && failing.length === 0;
    const said = { of: '', claims: claims.map(({ result }) => result) };

    const question = questionOf(asked, subject);
    const before = subject.decisions.get(question);
    if (before !== undefined && (before.verdict === 'SUCCESS' ? approves : this.#stillRefuses(before))) {
      if (before.verdict === 'SUCCESS') this.state.reserve(name, claims, atMs);
      return { ...said, type: 'repeat', verdict: before.verdict, code: before.code, of: before.entry };
    }
    if (approves) this.state.reserve(name, claims, atMs);
    const verdict = approves ? 'SUCCESS' : 'FAILURE';
    const code = approves ? 'APPROVED' : (proposal.refusal ?? 'RULE_REFUSED');
    const refusers = [...(proposal.approves ? [] : [proposal]), ...failing];
    subject.decisions.set(question, {
      verdict,
      code,
      revision: this.inForce,
      stands: refusers.some(({ final }) => final)
        ? 'for good'
        : refusers.every(({ afresh }) => afresh)
          ? 'not'
          : 'for now',
      lists: new Map(
        proposal.claims.flatMap(({ wanted }) =>
          'list' in wanted ? [[wanted.list, this.state.changesOf(wanted.list)] as const] : [],
        ),
      ),
      atMs,
      entry,
    });
    return { ...said, type: 'decision', verdict, code };
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
        : isNew && txids.size >= 1 + speedUps
          ? 'TXID_UNEXPECTED'
          : this.frozen
            ? 'FROZEN'
            : 'NOTED';
    if (isNew) txids.add(asked.txid);
    return { type: 'notice', verdict: code === 'NOTED' ? 'SUCCESS' : 'FAILURE', code, of: '', claims: [] };
  }

  #stillRefuses({ stands, revision, lists }: Decision): boolean {
    if (stands !== 'for now') return stands === 'for good';
    return (
      revision === this.inForce &&
      [...lists].every(([list, changes]) => this.state.changesOf(list) === changes)
    );
  }
}
