import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import { NOTIFICATION_REASONS } from '../../pipeline/decide.ts';
import { firstRefusal } from '../../pipeline/first-refusal.ts';
import { proposalFromJson } from '../../policy/proposal.ts';
import { type Explanation, type RuleExplanation, explain, wasAsked } from '../../policy/explain.ts';
import { spanText } from '../../store/clock-state.ts';
import type { JournalEntry } from '../../store/store.ts';
import { jsonOrText } from '../json.ts';

/** A journal entry with what it says of itself, as far as this version of the program can read it. */
export interface Decision {
  readonly because: string;
  /** The rule that refused. */
  readonly deciding: Explanation['deciding'];
  /** The rule that would have refused, had what refused not. */
  readonly next: Explanation['next'];
  /** What every rule that applied said. */
  readonly rules: readonly RuleReport[];
  readonly detail: Detail;
}

export interface RuleReport extends RuleExplanation {
  /** What it looked at. */
  readonly values: Readonly<Record<string, string>>;
  /** False where the verdict is the store's, and that refused before it looked at the rule. */
  readonly asked: boolean;
}

/**
 * Reads what the pipeline and the stores write as an entry's detail. `first` is the entry that a repeat
 * names. Never throws.
 */
export function readDecision(entry: JournalEntry, first?: JournalEntry): Decision {
  const detail = detailOf(entry);
  return entry.type === 'decision' || entry.type === 'repeat'
    ? explained(entry, detail, first)
    : { because: reasonOf(entry, detail), deciding: undefined, next: undefined, rules: [], detail };
}

function reasonOf({ type, source, of, code }: JournalEntry, detail: Detail): string {
  switch (type) {
    case 'notice':
      return new Map<string, string>(Object.entries(NOTIFICATION_REASONS)).get(code) ?? code;
    case 'late':
      if (code === 'NOT_DURABLE') return detail.because ?? code;
      return `${source}/${of} was decided, but FAILURE was answered, for it was late or the client had gone; a repeat gets the decision`;
    case 'self-check':
      return `client_system_pubkey_hash ${matches(detail.valid?.client)}, verify_sign_pub_hash ${matches(detail.valid?.verify)}`;
    case 'list':
      return `the list ${detail.list} was changed by ${detail.by}: ${detail.add?.length ?? 0} to add, ${detail.remove?.length ?? 0} to remove${detail.message ? `; ${detail.message}` : ''}`;
    case 'order':
      return `the order was ${detail.change === 'cancel' ? 'cancelled' : 'announced'} by ${detail.by}`;
    case 'clock':
      return `the store's clock was accepted by ${detail.by} as it stood, ${spanText((detail.toMs ?? 0) - (detail.fromMs ?? 0))} ahead of its time`;
    case 'freeze':
      return freezeReason(detail);
    case 'refused':
    case 'decision':
    case 'repeat':
    default:
      return detail.because ?? code;
  }
}

/** `frozen by ada as f3: drill`, or `carol lifted f3 of ada: drill; f5 still stands`. */
function freezeReason({ change, by, freezes = [], standing = [] }: Detail): string {
  if (change !== 'unfreeze') {
    return freezes.map(({ id, reason }) => `frozen by ${by} as ${id}: ${reason}`).join('; ');
  }
  const lifted = freezes.map(({ id, by: author, reason }) => `${id} of ${author}: ${reason}`);
  const left =
    standing.length === 0
      ? 'none stands'
      : `${standing.join(', ')} still stand${standing.length === 1 ? 's' : ''}`;
  return `${by} lifted ${lifted.join(', ')}; ${left}`;
}

const matches = (valid: boolean | undefined): string =>
  valid === true ? 'matches' : 'does not match, or no key is set';

function explained(entry: JournalEntry, detail: Detail, first: JournalEntry | undefined): Decision {
  try {
    const proposal = proposalFromJson(detail.proposal);
    const decided = { ...entry, first: first && firstRefusal(first) };
    const { because, deciding, next, rules } = explain(proposal, decided);
    return {
      because:
        entry.type === 'repeat' ? `${because} (decided before, as ${entry.source}/${entry.of})` : because,
      deciding,
      next,
      rules: rules.map((rule, at) => ({
        ...rule,
        values: proposal.results[at]?.values ?? {},
        asked: wasAsked(proposal, at, entry),
      })),
      detail,
    };
  } catch (thrown) {
    if (!(thrown instanceof CountersignError)) throw thrown;
    return { because: thrown.message, deciding: undefined, next: undefined, rules: [], detail };
  }
}

const text = z.string().optional().catch(undefined);
const texts = z.array(z.string()).optional().catch(undefined);

/**
 * What any entry's detail may hold; what is not as it should be is left out, since the entry counts all the
 * same.
 */
const detailShape = z
  .looseObject({
    requestId: text,
    address: text,
    by: text,
    kind: text,
    question: z.object({ type: z.string(), speedUp: z.boolean() }).optional().catch(undefined),
    terms: z.record(z.string(), z.string()).optional().catch(undefined),
    unknown: texts,
    body: text,
    plaintext: text,
    txid: text,
    because: text,
    valid: z.object({ client: z.boolean(), verify: z.boolean() }).optional().catch(undefined),
    fromMs: z.number().optional().catch(undefined),
    toMs: z.number().optional().catch(undefined),
    totalMs: z.number().optional().catch(undefined),
    list: text,
    add: texts,
    remove: texts,
    message: text,
    change: text,
    freezes: z
      .array(z.object({ id: z.string(), reason: z.string(), by: z.string() }))
      .optional()
      .catch(undefined),
    standing: texts,
    proposal: z.unknown().optional(),
  })
  .catch({});

type Detail = z.output<typeof detailShape>;

const detailOf = ({ detail }: JournalEntry): Detail => detailShape.parse(jsonOrText(detail));
