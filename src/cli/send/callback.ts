import { CountersignError, messageOf } from '../../errors.ts';
import { type Amount, formatAmount, parseAmount } from '../../values/amount.ts';
import { canonicalJson, sha256Hex } from '../../values/canonical.ts';
import type { Member, Members } from '../../values/members.ts';
import type { ExitCode } from '../command.ts';
import { decisionJson, describeDecision } from '../decisions/decision.ts';
import { reachableUrl } from '../ops-port.ts';
import { counted } from '../print.ts';
import type { Session } from '../session.ts';

/** A callback of the platform or the co-signer, ready to be posted. */
export interface Outgoing {
  readonly source: string;
  readonly subject: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const TIMEOUT_MS = 15_000;

/**
 * Posts a callback, and prints its answer and its decision from the store of the settings. Resolves with 0
 * for SUCCESS and 1 for any other answer.
 */
export async function send(session: Session, outgoing: Outgoing): Promise<ExitCode> {
  const response = await post(outgoing);
  const answer = await response.text();
  const entry = await explanationOf(session, outgoing);
  const why =
    entry === undefined
      ? 'The store of these settings has no decision about it: it was not authentic, could not be ' +
        'parsed, or reached another instance. The log of the service says why.'
      : describeDecision(entry);
  session.print(`${answer}\n${why}`, {
    status: response.status,
    answer,
    decision: entry && decisionJson(entry),
  });
  return response.status === 200 && answer === 'SUCCESS' ? 0 : 1;
}

/** Posts a callback. Throws USAGE if no service answers. */
async function post({ url, headers, body }: Outgoing): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((thrown: unknown) => {
    const cause =
      thrown instanceof Error && thrown.cause !== undefined ? messageOf(thrown.cause) : messageOf(thrown);
    throw new CountersignError(
      'USAGE',
      `can't reach ${url}: ${cause}. Start the service with \`npm start\`, or name another with --to`,
    );
  });
}

/**
 * The newest journal entry about the subject. Undefined if the store can't be read: the answer is still
 * shown.
 */
async function explanationOf(session: Session, { source, subject }: Outgoing) {
  try {
    const store = await session.store();
    const [entry] = await store.entries({ source, subject, newestFirst: true, limit: 1 });
    return entry;
  } catch (thrown) {
    session.report(`The decision can't be read: ${messageOf(thrown)}`);
    return undefined;
  }
}

/** The URL of `--to`, or of the service of the settings. */
export function baseUrl(session: Session, to: string | undefined): string {
  if (to !== undefined) return to.replace(/\/$/, '');
  const { host, port, tls } = session.settings().public;
  return reachableUrl(tls === undefined ? 'http' : 'https', host, port);
}

/** An id made from the members, so that the same call is a repeat and another call a new subject. */
export function idFrom(members: Readonly<Record<string, string>>): string {
  return `try-${sha256Hex(canonicalJson(members)).slice(0, 10)}`;
}

export function textMembers(texts: Readonly<Record<string, string>>): Members {
  return new Map(
    Object.entries(texts).map(([name, text]): [string, Member] => [name, { kind: 'string', text }]),
  );
}

/** The number of users in varied payments. */
const USERS = 250;
const CONCURRENCY = 8;
/** One hundredth of a whole unit. Varied amounts are multiples of it. */
const HUNDREDTH: Amount = (parseAmount('1') ?? 0n) / 100n;

interface Varied {
  readonly user: string;
  readonly amount: string;
}

/**
 * Varies a payment: the users are `user` and the numbers after it, in turn, and each amount is at most
 * `amount`. The same index gives the same payment. Throws USAGE for a user that is not a number, and for an
 * amount below 0.01.
 */
export function variedPayment({ user, amount }: Varied, index: number): Varied {
  const most = parseAmount(amount);
  if (most === undefined || most < HUNDREDTH || !/^\d{1,30}$/.test(user)) {
    throw new CountersignError(
      'USAGE',
      '--count varies the user and the amount. Give a --user of digits and an --amount of at least 0.01',
    );
  }
  const steps = most / HUNDREDTH;
  // A step without the factors 2 and 5 visits the whole range before it repeats.
  const step = 1n + ((BigInt(index) * 7_919_777n) % steps);
  return { user: String(BigInt(user) + BigInt(index % USERS)), amount: formatAmount(step * HUNDREDTH) };
}

/**
 * Posts many callbacks, several in parallel, and prints the counts of their answers. Resolves with 0 if every
 * answer is SUCCESS or FAILURE.
 */
export async function sendMany(
  session: Session,
  count: number,
  outgoingAt: (index: number) => Outgoing,
): Promise<ExitCode> {
  const answers = new Map<string, number>();
  let next = 0;
  const sendNext = async (): Promise<void> => {
    while (next < count) {
      const response = await post(outgoingAt(next++));
      const answer = await response.text();
      const answerText = answer === 'SUCCESS' || answer === 'FAILURE' ? answer : `HTTP ${response.status}`;
      answers.set(answerText, (answers.get(answerText) ?? 0) + 1);
      if (next % 100 === 0) session.progress(`${next} of ${count} sent`);
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, count) }, sendNext));
  session.progress('');
  const counts = [...answers]
    .sort(([a], [b]) => (a < b ? 1 : -1))
    .map(([answer, times]) => `${times} ${answer}`);
  session.print(`${counted(count, 'callback')} sent: ${counts.join(', ')}`, {
    sent: count,
    answers: Object.fromEntries(answers),
  });
  return [...answers.keys()].every((answer) => answer === 'SUCCESS' || answer === 'FAILURE') ? 0 : 1;
}
