import { z } from 'zod';
import { CountersignError } from '../errors.ts';
import { proposalFromJson } from '../policy/proposal.ts';
import { type Explanation, type RuleReport, explain, standingRefusal } from '../policy/explain.ts';
import { formatSpan } from '../store/clock-state.ts';
import { exceptionText } from '../store/freezes.ts';
import { type JournalEntry, NOTIFICATION_REASONS } from '../store/store.ts';
import { detailOf } from './recorded.ts';

/** The explanation of a journal entry, as far as this version of the program can read it. */
export interface EntryExplanation {
  readonly because: string;
  /** The rule that refused. */
  readonly deciding: Explanation['deciding'];
  /** The rule that would have refused if the deciding one had passed. */
  readonly next: Explanation['next'];
  /** The results of all rules that applied. */
  readonly rules: readonly RuleReport[];
  readonly detail: Detail;
}

/**
 * Reads what the pipeline and the stores write as an entry's detail. `first` is the entry that a repeat
 * names. Never throws.
 */
export function explainJournalEntry(entry: JournalEntry, first?: JournalEntry): EntryExplanation {
  const detail = detailShape.parse(detailOf(entry));
  return entry.type === 'decision' || entry.type === 'repeat'
    ? explainedDecision(entry, detail, first)
    : { because: reasonOf(entry, detail), deciding: undefined, next: undefined, rules: [], detail };
}

function reasonOf({ type, source, of, code }: JournalEntry, detail: Detail): string {
  switch (type) {
    case 'notice':
      return new Map<string, string>(Object.entries(NOTIFICATION_REASONS)).get(code) ?? code;
    case 'late':
      if (code === 'NOT_DURABLE') return detail.because ?? code;
      return (
        `${source}/${of} was decided, but the answer was FAILURE, because it was late or the client ` +
        'had disconnected. A repeat gets the decision'
      );
    case 'self-check':
      return (
        `client_system_pubkey_hash ${matches(detail.valid?.client)}, ` +
        `verify_sign_pub_hash ${matches(detail.valid?.verify)}`
      );
    case 'list':
      return listReason(detail);
    case 'order':
      return `the order was ${detail.change === 'cancel' ? 'cancelled' : 'announced'} by ${detail.by}`;
    case 'clock':
      return (
        `${detail.by} accepted the store's clock, ` +
        `${formatSpan((detail.toMs ?? 0) - (detail.fromMs ?? 0))} ahead of the store's time`
      );
    case 'freeze':
      return freezeReason(detail);
    case 'release':
      return releaseReason(detail);
    case 'lockout':
      return `${detail.by} lifted the lock-out of ${detail.lockout?.whose ?? 'somebody'}: ${detail.message ?? ''}`;
    case 'reconciliation':
      return `${detail.by} closed an exception of a reconciliation: ${detail.message ?? ''}`;
    case 'approval': {
      const why = detail.message === undefined ? '' : `: ${detail.message}`;
      return `${detail.by} ${code === 'REJECTED' ? 'rejected' : 'approved'} it${why}`;
    }
    case 'archive':
    case 'refused':
    case 'decision':
    case 'repeat':
    default:
      return detail.because ?? code;
  }
}

function listReason({ list, by, add = [], remove = [], message = '' }: Detail): string {
  const reason = message === '' ? '' : `; ${message}`;
  return `the list ${list} was changed by ${by}: ${add.length} to add, ${remove.length} to remove${reason}`;
}

/** Such as `released by ada: never debited; given back: 100 in daily/window-limit#1`. */
function releaseReason({ by, message = '', amounts = [], kept = [] }: Detail): string {
  const given = amounts.map(({ policy, rule, amount }) => `${amount} in ${policy}/${rule}`);
  const back = given.length === 0 ? '' : `; given back: ${given.join(', ')}`;
  const left = kept.length === 0 ? '' : `; not given back: ${kept.length} counts, until their windows end`;
  return `released by ${by}: ${message}${back}${left}`;
}

/**
 * Such as `frozen by ada as f3: drill`, or `carol lifted f3 of ada: drill; still frozen by f5; reason: keys
 * rotated`.
 */
function freezeReason({ change, by, freezes = [], standing = [], reason: why = '' }: Detail): string {
  if (change !== 'unfreeze') {
    return freezes
      .map(({ id, kind, reason }) => `frozen by ${by} as ${id}${exceptionText({ kind })}: ${reason}`)
      .join('; ');
  }
  const lifted = freezes.map(({ id, by: author, reason }) => `${id} of ${author}: ${reason}`);
  const left = standing.length === 0 ? 'no freeze is left' : `still frozen by ${standing.join(', ')}`;
  return `${by} lifted ${lifted.join(', ')}; ${left}${why === '' ? '' : `; reason: ${why}`}`;
}

const matches = (valid: boolean | undefined): string =>
  valid === true ? 'matches' : 'does not match, or no key is set';

function explainedDecision(
  entry: JournalEntry,
  detail: Detail,
  first: JournalEntry | undefined,
): EntryExplanation {
  const { note } = detail;
  if (detail.proposal === undefined && note !== undefined) {
    return { because: note, deciding: undefined, next: undefined, rules: [], detail };
  }
  try {
    const proposal = proposalFromJson(detail.proposal);
    const decided = { ...entry, first: first && standingRefusal(first) };
    const { because, deciding, next, rules } = explain(proposal, decided);
    const repeated = entry.type === 'repeat' ? ` (decided before, as ${entry.source}/${entry.of})` : '';
    return {
      because: `${because}${repeated}${note === undefined ? '' : ` (${note})`}`,
      deciding,
      next,
      rules,
      detail,
    };
  } catch (thrown) {
    if (!(thrown instanceof CountersignError)) throw thrown;
    return { because: thrown.message, deciding: undefined, next: undefined, rules: [], detail };
  }
}

const text = z.string().optional().catch(undefined);
const texts = z.array(z.string()).optional().catch(undefined);

/** The detail of any entry. Members of a wrong form are left out, so that the rest can still be shown. */
const detailShape = z
  .looseObject({
    requestId: text,
    traceId: text,
    address: text,
    by: text,
    scheme: text,
    kind: text,
    question: z.object({ type: z.string(), speedUp: z.boolean() }).optional().catch(undefined),
    terms: z.record(z.string(), z.string()).optional().catch(undefined),
    unknown: texts,
    body: text,
    plaintext: text,
    txid: text,
    because: text,
    note: text,
    valid: z.object({ client: z.boolean(), verify: z.boolean() }).optional().catch(undefined),
    fromMs: z.number().optional().catch(undefined),
    toMs: z.number().optional().catch(undefined),
    totalMs: z.number().optional().catch(undefined),
    list: text,
    add: texts,
    remove: texts,
    message: text,
    reason: text,
    change: text,
    freezes: z
      .array(z.object({ id: z.string(), kind: text, reason: z.string(), by: z.string() }))
      .optional()
      .catch(undefined),
    standing: texts,
    amounts: z
      .array(z.object({ policy: z.string(), rule: z.string(), amount: z.string() }))
      .optional()
      .catch(undefined),
    kept: z.array(z.unknown()).optional().catch(undefined),
    lockout: z.object({ whose: z.string() }).optional().catch(undefined),
    approval: z
      .object({ approvers: z.array(z.string()) })
      .optional()
      .catch(undefined),
    /** Of a person's approval: the key, what it signed, and the signature. */
    key: text,
    statement: text,
    /** `signature`: by an SSH key. `response`: what a browser answered for a passkey. */
    signature: z.object({ signature: text, response: text }).optional().catch(undefined),
    proposal: z.unknown().optional(),
  })
  .catch({});

type Detail = z.output<typeof detailShape>;
