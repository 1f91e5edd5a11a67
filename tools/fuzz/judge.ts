import type { RequestsModel } from '../../test/reference/requests.ts';
import { isApproved } from './people.ts';
import type { Observed } from './subject.ts';
import type { Reading } from './reference/reading.ts';

/*
 * Holds what was observed of a callback against what the reference reads in it.
 */

/** `wrong`: never in order. `refused`: the reference would let it pass, and the pipeline does not. */
export interface Finding {
  readonly severity: 'wrong' | 'refused';
  readonly what: string;
}

export interface Judge {
  /** What is wrong with one answer, given all that went before. */
  readonly judge: (reading: Reading, observed: Observed) => readonly Finding[];
}

/** Codes that stand for something that went wrong inside, or that this set-up has no cause for. */
const INSIDE: ReadonlySet<string> = new Set([
  'INTERNAL',
  'STORE_FAILED',
  'TIMED_OUT',
  'STALE_POLICIES',
  'NOT_READY',
  'OVERLOADED',
  'SHUTTING_DOWN',
  'KEYS_UNAVAILABLE',
  'ANSWERED_LATE',
  'NO_POLICY',
]);

/** What the reference tells apart in its own words. */
const UNTOLD: ReadonlySet<string> = new Set(['id', 'beside']);

type Approvable = Extract<Reading, { readonly may: true }>;

export const WITHOUT_APPROVAL = 'SUCCESS without the approval of people';

export interface JudgeParts {
  /** What people were asked, and what they did. They do nothing while a batch is decided. */
  readonly requests: RequestsModel;
  readonly clock: () => number;
}

/** With a memory: an id stands for one set of terms, and a notice is in order only after an approval. */
export function createJudge({ requests, clock }: JudgeParts): Judge {
  const seen = new Map<string, Set<string>>();
  /** The schemes that a subject came by, in their order. */
  const schemes = new Map<string, Set<string>>();
  const approved = new Map<string, string>();
  const started = new Set<string>();
  const textOfDigest = new Map<string, string>();
  const digestOfText = new Map<string, string>();

  /** Whether the store tells terms apart just where the reference does. */
  const termsFaults = (text: string, digest: string): readonly string[] => {
    const faults: string[] = [];
    if ((textOfDigest.get(digest) ?? text) !== text) faults.push('one digest for two sets of terms');
    if ((digestOfText.get(text) ?? digest) !== digest) faults.push('two digests for one set of terms');
    textOfDigest.set(digest, text);
    digestOfText.set(text, digest);
    return faults;
  };

  const ofSuccess = (reading: Approvable, observed: Observed): readonly string[] => {
    const { source, kind, id, terms, notice } = reading;
    const { settled } = observed;
    const subject = `${kind}:${id}`;
    if (settled === undefined) return ['SUCCESS without having been settled'];
    const text = textOf(terms);
    const key = `${source} ${subject}`;
    const faults: string[] = [];
    if (settled.source !== source) faults.push(`SUCCESS for source ${settled.source}, not ${source}`);
    if (settled.subject !== subject) faults.push(`SUCCESS for ${settled.subject}, not ${subject}`);
    if (!notice && (approved.get(key) ?? text) !== text) faults.push('SUCCESS for other terms than before');
    const [scheme] = schemes.get(key) ?? [];
    if (scheme !== schemeIn(settled.detail)) faults.push('SUCCESS by another scheme than before');
    if (notice && !(started.has(key) && approved.get(key) === text))
      faults.push('SUCCESS for a notice before its approval');
    if (reading.needsPeople && !isApproved(requests, key, text, clock())) faults.push(WITHOUT_APPROVAL);
    if (reading.needsPeople) requests.end(key, 'used');
    const told = termsIn(settled.detail);
    for (const [name, value] of Object.entries(terms)) {
      if (!UNTOLD.has(name) && told[name] !== value)
        faults.push(`SUCCESS for another ${name} than is written`);
    }
    if (!notice) approved.set(key, text);
    if (settled.detail.includes('"type":"sign_start"')) started.add(key);
    return faults;
  };

  const refusedThough = (reading: Approvable, { reports, settled }: Observed): readonly string[] => {
    const code = reports[0]?.code ?? 'none';
    const key = `${reading.source} ${reading.kind}:${reading.id}`;
    const other = new Set(seen.get(key)).size > 1;
    const text = textOf(reading.terms);
    if (code === 'AWAITING_APPROVAL' && reading.needsPeople && !isApproved(requests, key, text, clock())) {
      requests.ask(key, text, clock());
      return [];
    }
    if (code === 'TERMS_CHANGED' && other) return [];
    if (code === 'SCHEME_CHANGED' && new Set(schemes.get(key)).size > 1) return [];
    if (reading.notice && (settled === undefined ? false : code !== 'TERMS_CHANGED')) return [];
    return [code];
  };

  return {
    judge(reading, observed) {
      const wrong = [...shapeFaults(reading, observed)];
      if (observed.settled !== undefined) {
        const { source, subject, terms } = observed.settled;
        const key = `${source} ${subject}`;
        seen.set(key, (seen.get(key) ?? new Set()).add(terms));
        const scheme = schemeIn(observed.settled.detail);
        if (!observed.settled.explainsItself) wrong.push('explained otherwise than it was evaluated');
        if (scheme !== undefined) schemes.set(key, (schemes.get(key) ?? new Set()).add(scheme));
      }
      if (observed.settled !== undefined && reading.may === true) {
        wrong.push(...termsFaults(textOf(reading.terms), observed.settled.terms));
      }
      const said = observed.body === 'SUCCESS';
      if (said && reading.may !== true) {
        wrong.push(
          `SUCCESS, and the reference reads: ${reading.may === false ? reading.because : 'a self-check'}`,
        );
      }
      if (said && reading.may === true) wrong.push(...ofSuccess(reading, observed));
      const refused = !said && reading.may === true ? refusedThough(reading, observed) : [];
      if (reading.may === 'each' && reading.client && reading.verify && observed.body === 'FAILURE') {
        return [...wrong.map(asWrong), { severity: 'refused', what: 'a self-check whose hashes are right' }];
      }
      return [...wrong.map(asWrong), ...refused.map((what) => ({ severity: 'refused' as const, what }))];
    },
  };
}

/** One answer of the right form, one report that says the same, and nothing that went wrong inside. */
function shapeFaults(reading: Reading, { body, contentType, reports }: Observed): readonly string[] {
  const [report, ...more] = reports;
  const faults: string[] = [];
  if (report === undefined || more.length > 0) faults.push(`${reports.length} reports of one callback`);
  if (report !== undefined && INSIDE.has(report.code)) faults.push(`${report.code}: ${report.because}`);
  if (body === 'SUCCESS' || body === 'FAILURE') {
    if (contentType !== 'text/plain') faults.push(`${contentType} for ${body}`);
    if (report !== undefined && report.verdict !== body)
      faults.push(`${body}, and reported as ${report.verdict}`);
    return faults;
  }
  return [...faults, ...selfCheckFaults(reading, body)];
}

/** The one other answer: to a self-check, each hash judged for itself. */
function selfCheckFaults(reading: Reading, body: string): readonly string[] {
  if (reading.may !== 'each') return [`an answer that is none: ${body.slice(0, 80)}`];
  const word = (yes: boolean): string => (yes ? 'SUCCESS' : 'FAILURE');
  const right = JSON.stringify({
    client_system_pubkey_hash_valid: word(reading.client),
    verify_sign_pub_hash_valid: word(reading.verify),
  });
  return body === right ? [] : [`${body} for a self-check, not ${right}`];
}

const asWrong = (what: string): Finding => ({ severity: 'wrong', what });

/** Terms but for the id, which is the subject's name, as one text. */
function textOf(terms: Approvable['terms']): string {
  const asked = Object.entries(terms).filter(([name]) => name !== 'id');
  return JSON.stringify(asked.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function termsIn(detail: string): Readonly<Record<string, unknown>> {
  const { terms = {} } = JSON.parse(detail) as { readonly terms?: Readonly<Record<string, unknown>> };
  return terms;
}

function schemeIn(detail: string): string | undefined {
  return (JSON.parse(detail) as { readonly scheme?: string }).scheme;
}
