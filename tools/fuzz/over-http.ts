import { answersIn, rawConnection } from '../../test/raw-connection.ts';
import { type TestService, startTestService } from '../../test/service.ts';
import type { Shot } from './generate.ts';
import { type Finding, WITHOUT_APPROVAL } from './judge.ts';
import { type Message, messageOf } from './message.ts';
import type { Random } from './random.ts';
import { type Reading, read } from './reference/reading.ts';
import { DEPLOYMENT } from './people.ts';
import { POLICY_FILES, environment, sources } from './settings.ts';

/*
 * The same callbacks over real sockets, so that the HTTP parser, the headers and the body reader have their
 * share.
 */

export interface OverHttp {
  /** Sends one callback, and says what is wrong with its answers. */
  send(
    random: Random,
    shot: Shot,
  ): Promise<{ readonly label: string; readonly findings: readonly Finding[] }>;
  close(): Promise<void>;
}

/** Longer than anything that is answered takes on a busy machine. */
const WITHIN_MS = 30_000;

export async function openOverHttp(): Promise<OverHttp> {
  const service = await startTestService({
    policies: POLICY_FILES,
    // Nobody approves anything here.
    settings: { sources, answerTimeoutMs: '10000', deployment: DEPLOYMENT },
    env: environment,
  });
  const approved = new Map<string, string>();
  return {
    async send(random, shot) {
      const message = messageOf(random, shot);
      const answers = await exchanged(service, message);
      return { label: message.label, findings: faultsOf(message, answers, approved) };
    },
    close: () => service.stop(),
  };
}

async function exchanged(
  { url }: TestService,
  { bytes }: Message,
): Promise<readonly { readonly status: number; readonly body: string }[]> {
  const connection = await rawConnection(url);
  connection.write(bytes);
  return answersIn(await connection.received(WITHIN_MS));
}

function faultsOf(
  { sent, fine, answersMax }: Message,
  answers: readonly { readonly status: number; readonly body: string }[],
  approved: Map<string, string>,
): readonly Finding[] {
  const wrong: string[] = [];
  const reading: Reading = sent === undefined ? { may: false, because: 'not a request' } : read(sent);
  if (answers.length === 0 || answers.length > answersMax)
    wrong.push(`${answers.length} answers to one request`);
  for (const { status, body } of answers) {
    if (!isAnswer(status, body)) wrong.push(`an answer that is none: ${status} ${body.slice(0, 80)}`);
  }
  const yes = answers.filter(({ body }) => body === 'SUCCESS').length;
  if (yes > 1) wrong.push('SUCCESS twice for one request');
  if (yes > 0 && reading.may !== true) {
    wrong.push(
      `SUCCESS, and the reference reads: ${reading.may === false ? reading.because : 'a self-check'}`,
    );
  }
  if (yes > 0 && reading.may === true && reading.needsPeople) wrong.push(WITHOUT_APPROVAL);
  if (reading.may !== true) return wrong.map((what) => ({ severity: 'wrong', what }));
  const key = `${reading.source} ${reading.kind}:${reading.id}`;
  const terms = JSON.stringify(reading.terms);
  const before = approved.get(key);
  if (yes > 0 && (reading.notice ? before !== terms : (before ?? terms) !== terms)) {
    wrong.push('SUCCESS for other terms than were approved');
  }
  if (yes > 0 && !reading.notice) approved.set(key, terms);
  const refused = fine && yes === 0 && !reading.notice && before === terms;
  return [
    ...wrong.map((what) => ({ severity: 'wrong' as const, what })),
    ...(refused ? [{ severity: 'refused' as const, what: 'over HTTP, what was approved before' }] : []),
  ];
}

/**
 * Callbacks get the seven bytes, or a self-check's; what is no request for one, a status that says so and
 * perhaps FAILURE.
 */
function isAnswer(status: number, body: string): boolean {
  if (status === 200) {
    return (
      body === 'SUCCESS' ||
      body === 'FAILURE' ||
      /^\{"client_system_pubkey_hash_valid":"(?:SUCCESS|FAILURE)","verify_sign_pub_hash_valid":"(?:SUCCESS|FAILURE)"\}$/.test(
        body,
      )
    );
  }
  return status >= 400 && status < 500 && (body === '' || body === 'FAILURE');
}
