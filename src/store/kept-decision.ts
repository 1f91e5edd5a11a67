import { hash } from 'node:crypto';
import { z } from 'zod';
import { type Callback, KINDS, type Kind } from '../callback/callback.ts';
import { callbackKinds } from '../callback/kinds.ts';
import type { Claim } from '../claims/claims.ts';
import { amountText } from '../claims/kind.ts';
import { messageOf } from '../errors.ts';
import { evaluate } from '../policy/evaluate.ts';
import { type Facts, NO_PRICES, type Price, type PriceTable, factsAt } from '../policy/facts.ts';
import { type Proposal, proposalToJson } from '../policy/proposal.ts';
import type { Release } from '../policy/release.ts';
import { formatAmount } from '../values/amount.ts';
import { readMembers } from '../values/members.ts';
import { VERSION } from '../values/version.ts';

/*
 * The journal keeps what was known when a decision was made, and not what evaluation said about it. Evaluation
 * is a pure function, so the proposal is computed again when somebody reads the entry. docs/journal.md
 * describes the stored form.
 */

/** How a callback arrived, and who sent it. */
export interface ArrivalFacts {
  readonly requestId: string;
  readonly address: string;
  /** See Authenticated. */
  readonly by: string;
  /** Undefined for a co-signer, whose callbacks are not signed. */
  readonly scheme: string | undefined;
  readonly body: string;
  /** The content of an envelope. */
  readonly plaintext: string | undefined;
}

const FORMAT = 2;
const BEGINNING = `[${FORMAT},`;
/** Characters of a digest in base64url: 72 bits. */
const DIGEST_LENGTH = 12;

/**
 * The detail of a decision's journal entry: everything that the evaluation depended on, as a JSON list on one
 * line, and then the body as it came. The body within the JSON would need an escape for each of its quotes.
 */
export function keptDecision(arrival: ArrivalFacts, facts: Facts, proposal: Proposal): string {
  const { requestId, address, by, scheme, body, plaintext } = arrival;
  const { nowMs, prices, answers } = facts;
  const refusing = proposal.results.find(({ mode, verdict }) => mode === 'enforce' && verdict === 'refuse');
  const more = {
    answers: answers.size === 0 ? undefined : Object.fromEntries(answers),
    prices: proposal.prices === 0 && prices.prices.size === 0 ? undefined : keptPrices(prices),
    refusal: refusing && { rule: `${refusing.policy}/${refusing.rule}`, because: refusing.because },
    plaintext,
  };
  const [rules, digest] = [verdictsOf(proposal), digestOf(proposal)];
  const list = [FORMAT, VERSION, requestId, address, by, scheme ?? '', nowMs, rules, digest];
  const hasMore = Object.values(more).some((member) => member !== undefined);
  return `${JSON.stringify(hasMore ? [...list, more] : list)}\n${body}`;
}

/** A letter for each rule, in order: it passes, refuses, or leaves a claim to the store. */
const verdictsOf = ({ results }: Proposal): string => results.map(({ verdict }) => verdict[0]).join('');

/**
 * Of what each rule says, what it claims, in which alternatives, and when that holds: calendar periods depend
 * on time zones.
 */
function digestOf({ results, claims, choices, validFromMs, validUntilMs }: Proposal): string {
  let text = `${validFromMs} ${validUntilMs}\n`;
  for (const { policy, rule, mode, verdict, because } of results) {
    text += `${policy}/${rule} ${mode} ${verdict} ${because}\n`;
  }
  for (const claim of claims) {
    const about = 'key' in claim ? claim.key : 'list' in claim ? claim.list : '';
    text += `${claim.type} ${claim.result} ${about} ${limitOf(claim)}\n`;
  }
  if (choices !== undefined) text += JSON.stringify(choices);
  return hash('sha256', text, 'base64url').slice(0, DIGEST_LENGTH);
}

function limitOf(claim: Claim): string {
  if (claim.type === 'window') return `${claim.amount} ${claim.max}`;
  return claim.type === 'distinct' ? `${claim.values.join(' ')} ${claim.max}` : '';
}

// ---- prices ----

/** A table that notes which prices are looked up, so that the journal keeps only those. */
export function notingUse({ version, prices }: PriceTable): PriceTable {
  return { version, prices: new UsedPrices(prices) };
}

class UsedPrices extends Map<string, Price> {
  readonly #all: ReadonlyMap<string, Price>;

  constructor(all: ReadonlyMap<string, Price>) {
    super();
    this.#all = all;
  }

  override get(asset: string): Price | undefined {
    const price = this.#all.get(asset);
    if (price !== undefined) this.set(asset, price);
    return price;
  }
}

const keptPrices = ({ version, prices }: PriceTable) => ({
  version,
  used: [...prices].map(([asset, { price, asOfMs }]) => [asset, formatAmount(price), asOfMs]),
});

// ---- reading ----

const answer = z.object({ verdict: z.enum(['yes', 'no', 'failed']), because: z.string() });
const usedPrice = z
  .tuple([z.string(), amountText, z.number()])
  .transform(([asset, price, asOfMs]): [asset: string, price: Price] => [asset, { price, asOfMs }]);

const more = z.object({
  answers: z.record(z.string(), answer).optional(),
  prices: z.object({ version: z.number(), used: z.array(usedPrice) }).optional(),
  refusal: z.object({ rule: z.string(), because: z.string() }).optional(),
  plaintext: z.string().optional(),
});
const string = z.string();
const keptList = z
  .tuple([
    z.literal(FORMAT),
    string,
    string,
    string,
    string,
    string,
    z.number(),
    string,
    string,
    more.default({}),
  ])
  .transform(([, program, requestId, address, by, scheme, evaluatedAtMs, , digest, others]) => ({
    program,
    requestId,
    address,
    by,
    scheme: scheme === '' ? undefined : scheme,
    evaluatedAtMs,
    digest,
    ...others,
  }));
type Kept = z.output<typeof keptList> & { readonly body: string };

function readKept(detail: string): Kept | undefined {
  const end = detail.indexOf('\n');
  const { data } = keptList.safeParse(parsed(detail.slice(0, Math.max(end, 0))));
  return data && { ...data, body: detail.slice(end + 1) };
}

/** An entry of the journal, as far as its decision is explained by it. */
export interface KeptEntry {
  readonly source: string;
  readonly subject: string;
  readonly detail: string;
}

/** Whether {@link keptDecision} wrote the detail. Other entries, and those of older versions, stay as they are. */
export const isKeptDecision = (detail: string): boolean => detail.startsWith(BEGINNING);

/**
 * The detail with the proposal, computed again from what was known. `release` is the revision of the entry:
 * undefined if none was in force, or a sentence that says why it can't be read. The member `note` says if this
 * version explains the decision otherwise than the version that made it, or not at all; `kept` is then the
 * stored detail. Never throws.
 */
export function explainedDetail(entry: KeptEntry, release: Release | string | undefined): string {
  const kept = readKept(entry.detail);
  if (kept === undefined) {
    return JSON.stringify({ kept: entry.detail, note: `version ${VERSION} can't read this entry` });
  }
  const { requestId, address, by, scheme, answers, body, plaintext } = kept;
  const arrival = { requestId, address, by, scheme };
  const kind = KINDS.find((each) => entry.subject.startsWith(`${each}:`));
  const callback =
    kind === undefined ? 'its subject has no kind' : callbackOf(entry, kind, plaintext ?? body);
  const unexplained = (because: string): string => {
    const note = unexplainedNote(kept, because);
    return JSON.stringify({ ...arrival, kind, body, plaintext, answers, kept: entry.detail, note });
  };
  if (typeof callback === 'string') return unexplained(callback);
  if (typeof release === 'string') return unexplained(release);
  try {
    const proposal = evaluate(release, callback, factsOf(kept));
    const isSame = digestOf(proposal) === kept.digest;
    const { question, terms, unknown } = callback;
    return JSON.stringify({
      ...arrival,
      kind,
      question,
      terms,
      unknown,
      body,
      plaintext,
      answers,
      ...(isSame ? {} : { kept: entry.detail, note: differenceNote(kept) }),
      proposal: proposalToJson(proposal),
    });
  } catch (thrown) {
    return unexplained(messageOf(thrown));
  }
}

function factsOf({ evaluatedAtMs, scheme, prices, answers = {} }: Kept): Facts {
  return factsAt(evaluatedAtMs, {
    scheme,
    prices: prices === undefined ? NO_PRICES : { version: prices.version, prices: new Map(prices.used) },
    answers: new Map(Object.entries(answers)),
  });
}

/** The callback, decoded and parsed as when it arrived, or why this version can't. */
function callbackOf({ source }: KeptEntry, kind: Kind, text: string): Callback | string {
  const decoded = readMembers(text);
  // The bounds of then don't matter: the callback was within them.
  const callback = decoded.ok
    ? callbackKinds[kind].parse(decoded.members, source, { outputs: Infinity })
    : decoded;
  return callback.ok ? callback.callback : `its body can't be read: ${callback.because}`;
}

function differenceNote({ program }: Kept): string {
  const cause = program === VERSION ? ': its time zones, or the entry, have changed since' : '';
  return (
    `explained again by version ${VERSION}; version ${program}, which made the decision, ` +
    `explained it otherwise${cause}`
  );
}

function unexplainedNote({ program, refusal }: Kept, because: string): string {
  const words = refusal === undefined ? '' : `; ${refusal.rule} refused: ${refusal.because}`;
  return `version ${VERSION} can't explain this decision of version ${program}: ${because}${words}`;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
