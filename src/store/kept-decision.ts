import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Claim } from '../claims/claims.ts';
import { amountText } from '../claims/kind.ts';
import type { Facts, Price, PriceTable } from '../policy/facts.ts';
import type { Proposal } from '../policy/proposal.ts';
import { formatAmount } from '../values/amount.ts';
import { VERSION } from '../values/version.ts';
import type { Journal, JournalEntry } from './store.ts';

/*
 * The journal keeps what was known when a decision was made, and not what evaluation said about it.
 * Evaluation is a pure function, so the proposal is computed again when somebody reads the entry.
 * docs/journal.md describes the stored form.
 */

/** How a callback arrived, and who sent it. */
export interface ArrivalFacts {
  readonly requestId: string;
  /** From the header `traceparent`. */
  readonly traceId?: string | undefined;
  readonly address: string;
  /** See Authenticated. */
  readonly by: string;
  /** Undefined for a co-signer, whose callbacks are not signed. */
  readonly scheme: string | undefined;
  readonly body: string;
  /** The content of an envelope. */
  readonly plaintext: string | undefined;
}

const FORMAT = 1;
const BEGINNING = `[${FORMAT},`;
/** Characters of a digest in base64url: 72 bits. */
const DIGEST_LENGTH = 12;

/**
 * The detail of a decision's journal entry: everything that the evaluation depended on, as a JSON list on one
 * line, and then the body as it came. The body within the JSON would need an escape for each of its quotes.
 */
export function keptDecision(arrival: ArrivalFacts, facts: Facts, proposal: Proposal): string {
  const { requestId, traceId, address, by, scheme, body, plaintext } = arrival;
  const { nowMs, prices, answers, group, approval, onlyApproved } = facts;
  const refusing = proposal.results.find(({ mode, verdict }) => mode === 'enforce' && verdict === 'refuse');
  const more = {
    answers: answers.size === 0 ? undefined : Object.fromEntries(answers),
    prices: proposal.prices === 0 && prices.prices.size === 0 ? undefined : keptPrices(prices),
    refusal: refusing && { rule: `${refusing.policy}/${refusing.rule}`, because: refusing.because },
    plaintext,
    group,
    traceId,
    approval,
    onlyApproved: onlyApproved ? true : undefined,
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
export function digestOf({ results, claims, choices, validFromMs, validUntilMs }: Proposal): string {
  // Joined once, because a text that grows line by line takes longer to hash.
  const lines = [`${validFromMs} ${validUntilMs}`];
  for (const { policy, rule, mode, verdict, because } of results) {
    lines.push(`${policy}/${rule} ${mode} ${verdict} ${because}`);
  }
  for (const claim of claims) {
    const about = 'key' in claim ? claim.key : 'list' in claim ? claim.list : '';
    lines.push(`${claim.type} ${claim.result} ${about} ${limitOf(claim)}`);
  }
  lines.push(choices === undefined ? '' : JSON.stringify(choices));
  return hash('sha256', lines.join('\n'), 'base64url').slice(0, DIGEST_LENGTH);
}

function limitOf(claim: Claim): string {
  if (claim.type === 'window') return `${claim.amount} ${claim.max}`;
  if (claim.type === 'refusals') return `${claim.after} ${claim.withinMs} ${claim.forMs}`;
  return claim.type === 'distinct' ? `${claim.values.join(' ')} ${claim.max}` : '';
}

// ---- prices ----

/** A table that notes which prices are looked up, so that the journal keeps only those. */
export function notingUse(table: PriceTable): PriceTable {
  const { version, prices } = table;
  return prices.size === 0 ? table : { version, prices: new UsedPrices(prices) };
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

/** What people had said. */
export const keptApproval = z.object({
  id: z.string(),
  version: z.int(),
  approvers: z.array(z.string()).readonly(),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  order: z.literal(true).optional(),
  because: z.string(),
});

const more = z.object({
  answers: z.record(z.string(), answer).optional(),
  prices: z.object({ version: z.number(), used: z.array(usedPrice) }).optional(),
  refusal: z.object({ rule: z.string(), because: z.string() }).optional(),
  plaintext: z.string().optional(),
  group: z.string().optional(),
  traceId: z.string().optional(),
  approval: keptApproval.optional(),
  onlyApproved: z.boolean().optional(),
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
export type Kept = z.output<typeof keptList> & { readonly body: string };

export function readKept(detail: string): Kept | undefined {
  const end = detail.indexOf('\n');
  const { data } = keptList.safeParse(parsed(detail.slice(0, Math.max(end, 0))));
  return data && { ...data, body: detail.slice(end + 1) };
}

/**
 * The body of the callback, or what was in its envelope. Undefined if {@link keptDecision} did not write the
 * detail.
 */
export function keptText(detail: string): string | undefined {
  if (!isKeptDecision(detail)) return undefined;
  const end = detail.indexOf('\n');
  if (end === -1) return undefined;
  // Few are in an envelope, and the rest of the head takes most of the time of reading it.
  const plaintext = detail.lastIndexOf('"plaintext":', end) === -1 ? undefined : readKept(detail)?.plaintext;
  return plaintext ?? detail.slice(end + 1);
}

/** Whether {@link keptDecision} wrote the detail. Other entries stay as they are. */
export const isKeptDecision = (detail: string): boolean => detail.startsWith(BEGINNING);

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

// ---- explaining ----

/**
 * The journal of a store, each decision with the proposal that it was made of: see explanation.ts. The rules
 * are loaded with the first decision that is explained. A command that explains none needs 10 MB less.
 */
export function explained(
  journal: Pick<Journal, 'entry' | 'entries'>,
  document: (revision: string) => Promise<string | undefined>,
): Pick<Journal, 'entry' | 'entries'> {
  let explainer: Promise<(entry: JournalEntry) => Promise<JournalEntry>> | undefined;
  const load = async () => (await import('./explanation.ts')).createExplainer(document);
  const withProposal = async (entry: JournalEntry): Promise<JournalEntry> =>
    isKeptDecision(entry.detail) ? (await (explainer ??= load()))(entry) : entry;
  return {
    async entry(source, id) {
      const entry = await journal.entry(source, id);
      return entry && withProposal(entry);
    },
    async entries(query) {
      const entries = await journal.entries(query);
      return query.explained === false ? entries : Promise.all(entries.map(withProposal));
    },
  };
}
