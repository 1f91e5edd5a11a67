import { CountersignError, messageOf } from '../../errors.ts';
import type { SourceSettings } from '../../settings/schema.ts';
import { type Amount, formatAmount, parseAmount } from '../../values/amount.ts';
import { canonicalJson, sha256Hex } from '../../values/canonical.ts';
import type { Member, Members } from '../../values/members.ts';
import type { ExitCode } from '../command.ts';
import { decisionJson, describeDecision } from '../decisions/decision.ts';
import { reachableUrl } from '../health.ts';
import { counted } from '../print.ts';
import type { Session } from '../session.ts';
import type { SourceOf } from './keys.ts';

/** A callback ready to be posted, as the platform or the co-signer would. */
export interface Outgoing {
  readonly source: string;
  readonly subject: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const TIMEOUT_MS = 15_000;

/**
 * Posts a callback, prints its answer and, from the store of the settings, why. 0 for SUCCESS, 1 for any
 * other answer.
 */
export async function send(session: Session, outgoing: Outgoing): Promise<ExitCode> {
  const response = await post(outgoing);
  const answer = await response.text();
  const entry = await explanationOf(session, outgoing);
  const why =
    entry === undefined
      ? 'Nothing is decided about it in the store of these settings: it was not taken for authentic, could not be read as a callback, or came to another instance. The log of the service says why.'
      : describeDecision(entry);
  session.print(`${answer}\n${why}`, {
    status: response.status,
    answer,
    decision: entry && decisionJson(entry),
  });
  return response.status === 200 && answer === 'SUCCESS' ? 0 : 1;
}

/** Posts a callback. Throws USAGE if nobody is there. */
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
      `can't reach ${url}: ${cause}; start it with \`npm start\`, or name another with --to`,
    );
  });
}

/**
 * The newest journal entry about the subject; none where the store can't be read, which the answer does not
 * depend on.
 */
async function explanationOf(session: Session, { source, subject }: Outgoing) {
  try {
    const store = await session.store();
    const [entry] = await store.entries({ source, subject, newestFirst: true, limit: 1 });
    return entry;
  } catch (thrown) {
    session.report(`The decision can't be looked up: ${messageOf(thrown)}`);
    return undefined;
  }
}

/** The source that `--source` names, or the first that takes such callbacks. Throws USAGE. */
export function sourceFor<K extends SourceSettings['callback']>(
  session: Session,
  callback: K,
  name: string | undefined,
): SourceOf<K> {
  const fitting = session
    .settings()
    .sources.filter((each): each is SourceOf<K> => each.callback === callback);
  const source = name === undefined ? fitting[0] : fitting.find((each) => each.name === name);
  if (source !== undefined) return source;
  const known = fitting.map((each) => each.name).join(', ') || 'none';
  throw new CountersignError(
    'USAGE',
    `no ${callback} source ${name ?? ''} in ${session.settingsFile}; there is: ${known}`,
  );
}

/** `--to`, or where the settings say that the service listens. */
export function baseUrl(session: Session, to: string | undefined): string {
  if (to !== undefined) return to.replace(/\/$/, '');
  const { host, port, tls } = session.settings().public;
  return reachableUrl(tls === undefined ? 'http' : 'https', host, port);
}

/** An id from what is asked for: the same call is a repeat, another one a new subject. */
export function idFrom(members: Readonly<Record<string, string>>): string {
  return `try-${sha256Hex(canonicalJson(members)).slice(0, 10)}`;
}

export function textMembers(texts: Readonly<Record<string, string>>): Members {
  return new Map(
    Object.entries(texts).map(([name, text]): [string, Member] => [name, { kind: 'string', text }]),
  );
}

/** Users that many payments are spread over. */
const USERS = 250;
const AT_ONCE = 8;
/** How many hundredths there are in one whole unit, and in what an amount is counted. */
const HUNDREDTH: Amount = (parseAmount('1') ?? 0n) / 100n;

interface Varied {
  readonly user: string;
  readonly amount: string;
}

/**
 * The members of the payment at `index`: the users from `user` on in turn, and amounts all over the range up
 * to `amount`. The same index gives the same payment. Throws USAGE for a user or an amount that can't be
 * counted from.
 */
export function variedPayment({ user, amount }: Varied, index: number): Varied {
  const most = parseAmount(amount);
  if (most === undefined || most < HUNDREDTH || !/^\d{1,30}$/.test(user)) {
    throw new CountersignError(
      'USAGE',
      '--count needs a --user of digits and an --amount of at least 0.01, to vary them',
    );
  }
  const steps = most / HUNDREDTH;
  // A step that shares no factor with 2 or 5 visits all of the range before it comes back.
  const step = 1n + ((BigInt(index) * 7_919_777n) % steps);
  return { user: String(BigInt(user) + BigInt(index % USERS)), amount: formatAmount(step * HUNDREDTH) };
}

/**
 * Posts many callbacks, some at once, and says how they were answered. 0 if each was answered SUCCESS or
 * FAILURE.
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
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, sendNext));
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
