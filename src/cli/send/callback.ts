import type { SourceSettings } from '../../settings/schema.ts';
import type { Member, Members } from '../../values/members.ts';
import { CountersignError, messageOf } from '../../errors.ts';
import { canonicalJson, sha256Hex } from '../../values/canonical.ts';
import type { SourceOf } from './keys.ts';
import { reachableUrl } from '../reachable.ts';
import type { Session } from '../session.ts';
import { describeDecision, decisionJson } from '../decisions/text.ts';
import type { ExitCode } from '../command.ts';

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
export async function post({ url, headers, body }: Outgoing): Promise<Response> {
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
