import type { Command } from 'commander';
import { messageOf, usageError } from '../errors.ts';
import { PAYMENT_PATH } from '../settings/sources.ts';
import type { SignerConfig } from '../signature/scheme.ts';
import { compileSigner } from '../signature/schemes.ts';
import { type Amount, formatAmount, parseAmount } from '../values/amount.ts';
import { canonicalJson, sha256Hex } from '../values/canonical.ts';
import type { JournalType } from '../store/store.ts';
import type { Member, Members } from '../values/members.ts';
import { type Call, type CommandRow, type ExitCode, optionName } from './command.ts';
import { decisionJson, describeDecision } from './decisions/entry.ts';
import { reachableUrl } from './health.ts';
import { counted } from './print.ts';
import { type SourceOf, cosignerCredentials, cosignerPath, keyFile, platformSigner } from './sender-keys.ts';
import type { Session } from './session.ts';
import { sourceFor } from './sources.ts';

const DEMO_PLATFORM_KEY = 'config/demo/platform.private.pem';

const addressed = (command: Command): Command =>
  command
    .option('--to <url>', 'the URL of the service (default: from the settings)')
    .option('--source <name>', 'send as this source of the settings (default: the first of this kind)');

export const sendPayment: CommandRow = {
  path: 'send payment',
  summary: 'Send a signed payment confirmation, as the platform does.',
  example:
    'send payment\n' +
    'send payment --amount 20000\n' +
    'send payment --count 1000 --amount 12000\n' +
    'send payment --scheme rsa-envelope --user 12345 --order A-1',
  define: (command) =>
    addressed(command)
      .option('--amount <decimal>', 'orderAmount', '100')
      .option('--symbol <symbol>', 'payCoinSymbol', 'USDT1742')
      .option('--user <id>', 'userId', '12345')
      .option(
        '--order <id>',
        'appOrderId (default: made from the other options, so that the same call is a repeat)',
      )
      .option(
        '--count <number>',
        'send this many, of different users and with amounts up to --amount, to try policies',
      )
      .option('--scheme <scheme>', 'md5, rsa or rsa-envelope (default: the first that the source accepts)')
      .option('--key <file>', 'the private key of the platform, for RSA', DEMO_PLATFORM_KEY),
  async run(session, call) {
    const source = sourceFor(session, 'payment', call.option('source'));
    const signer = compileSigner(signerConfig(session, source, call));
    const url = `${baseUrl(session, call.option('to'))}${PAYMENT_PATH}`;
    const payCoinSymbol = requiredOption(call, 'symbol');
    // An order is bound to its scheme, so the same payment with another scheme needs another id.
    const scheme = call.option('scheme');
    const schemeInId = scheme === undefined || scheme === source.signatures[0]?.scheme ? {} : { scheme };
    const outgoing = (orderAmount: string, userId: string, order: string | undefined): Outgoing => {
      const payment = { userId, orderAmount, payCoinSymbol };
      const appOrderId = order ?? idFrom({ ...payment, ...schemeInId });
      const members = textMembers({ appKey: source.appKey, appOrderId, ...payment });
      const body = signer.sign(members, session.clock());
      return { source: source.name, subject: `payment:${appOrderId}`, url, headers: {}, body };
    };
    const [amount, user, order] = [amountOption(call), requiredOption(call, 'user'), call.option('order')];
    const count = call.count('count', { least: 1, most: 1_000_000 });
    if (count === undefined) return send(session, outgoing(amount, user, order));
    return sendMany(session, count, (index) => {
      const varied = variedPayment({ amount, user }, index);
      return outgoing(varied.amount, varied.user, order && `${order}-${index + 1}`);
    });
  },
};

/**
 * The signer of the platform. Its shared secret is in the settings, its private key in the file of `--key`.
 */
function signerConfig(session: Session, source: SourceOf<'payment'>, call: Call): SignerConfig {
  const wanted = call.option('scheme');
  const accepted = source.signatures.find(({ scheme }) => wanted === undefined || scheme === wanted);
  if (accepted === undefined) {
    const schemes = source.signatures.map(({ scheme }) => scheme).join(', ');
    throw usageError(
      `the source ${source.name} does not accept the scheme ${wanted ?? ''}. Use one of ${schemes}`,
    );
  }
  return platformSigner(accepted, session.secrets().read, () => keyFile(requiredOption(call, 'key')));
}

const cosignerOptions = (command: Command): Command =>
  addressed(command)
    .option('--type <type>', 'sign_prepare, sign_start or sign_success', 'sign_start')
    .option(
      '--request <id>',
      'request_id (default: made from the other options, so that the same call is a repeat)',
    )
    .option('--speed-up', 'pending_round: true')
    .option('--txid <hash>', 'txid, for sign_success')
    .option('--from <address>', 'source address', '0x27b1fdb04752bbc536007a920d24acb045561c26');

export const sendTransfer: CommandRow = {
  path: 'send transfer',
  summary: 'Send a withdrawal confirmation, as the co-signer does.',
  example: 'send transfer\nsend transfer --amount 25 --to-address 0x52908400098527886E0F7030069857D2E4169EE7',
  define: (command) =>
    cosignerOptions(command)
      .option('--amount <decimal>', 'amount', '1.5')
      .option('--symbol <symbol>', 'symbol', 'ETH')
      .option(
        '--to-address <address>',
        'the destination address',
        '0x52908400098527886E0F7030069857D2E4169EE7',
      )
      .option('--memo <text>', 'the memo of the destination', ''),
  run(session, call) {
    const asked = {
      from: requiredOption(call, 'from'),
      to: requiredOption(call, 'toAddress'),
      memo: call.option('memo') ?? '',
      amount: amountOption(call),
      symbol: requiredOption(call, 'symbol'),
    };
    return sendCosigner(session, call, 'transfer', asked, { transfer_id: 1001, withdraw_id: '' });
  },
};

/** The members of a transaction; by default a transfer of 100 units of a token with 6 decimals. */
export function web3Options(command: Command): Command {
  return command
    .option('--amount <decimal>', 'amount; -1 for unlimited', '0')
    .option('--symbol <symbol>', 'main_chain_symbol', 'ETH')
    .option(
      '--contract <address>',
      'interactive_contract, also the destination',
      '0xdAC17F958D2ee523a2206206994597C13D831ec7',
    )
    .option(
      '--data <hex>',
      'input_data',
      `0xa9059cbb${'52908400098527886e0f7030069857d2e4169ee7'.padStart(64, '0')}${'5f5e100'.padStart(64, '0')}`,
    );
}

export const sendWeb3: CommandRow = {
  path: 'send web3',
  summary: 'Send a web3 confirmation, as the co-signer does.',
  example: 'send web3\nsend web3 --contract 0x0000000000000000000000000000000000000001',
  define: (command) => web3Options(cosignerOptions(command)),
  run(session, call) {
    const asked = {
      from: requiredOption(call, 'from'),
      to: requiredOption(call, 'contract'),
      amount: requiredOption(call, 'amount'),
      main_chain_symbol: requiredOption(call, 'symbol'),
      input_data: call.option('data') ?? '',
      interactive_contract: requiredOption(call, 'contract'),
    };
    return sendCosigner(session, call, 'web3', asked, { trans_id: 2001 });
  },
};

function sendCosigner(
  session: Session,
  call: Call,
  kind: 'transfer' | 'web3',
  asked: Readonly<Record<string, string>>,
  ids: Readonly<Record<string, string | number>>,
) {
  const source = sourceFor(session, 'cosigner', call.option('source'));
  const path = cosignerPath(source, kind);
  const request = call.option('request') ?? idFrom(asked);
  const { headers, segment } = cosignerCredentials(source, session.secrets().read);
  const body = {
    type: requiredOption(call, 'type'),
    ...ids,
    request_id: request,
    pending_round: call.flag('speedUp'),
    ...asked,
    txid: call.option('txid') ?? '',
  };
  return send(session, {
    source: source.name,
    subject: `${kind}:${request}`,
    url: `${baseUrl(session, call.option('to'))}${path}${segment}`,
    headers,
    body: JSON.stringify(body),
  });
}

/** The text of `--amount`, also of a negative one, which a callback may have. Throws USAGE. */
function amountOption(call: Call): string {
  const text = requiredOption(call, 'amount');
  if (parseAmount(text.replace(/^-/, '')) !== undefined) return text;
  throw usageError(`--amount ${JSON.stringify(text)} is not an amount. Write a decimal, like 100 or 0.5`);
}

function requiredOption(call: Call, option: string): string {
  const value = call.option(option);
  if (value !== undefined && value !== '') return value;
  throw usageError(`${optionName(option)} is empty. Give a value`);
}

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
  const [before] = await newestEntries(session, outgoing, 1).catch(() => []);
  const response = await post(outgoing);
  const answer = await response.text();
  const entry = await entrySince(session, outgoing, before?.id);
  const why =
    entry === undefined
      ? 'The store of these settings has no decision about it: it was not authentic, could not be ' +
        'parsed, reached another instance, or the store failed. The log of the service says why.'
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
    throw usageError(
      `can't reach ${url}: ${cause}. Start the service with \`npm start\`, or name another with --to`,
    );
  });
}

/** What the journal says when a callback comes. Other entries are about its order, or by people. */
const OF_CALLBACKS: ReadonlySet<JournalType> = new Set(['decision', 'repeat', 'notice', 'refused', 'late']);
/** People may do something about the subject meanwhile. */
const SINCE_MAX = 20;

/** The newest entry of a callback about the subject, of those after the entry `before`. */
async function entrySince(session: Session, outgoing: Outgoing, before: string | undefined) {
  try {
    for (const entry of await newestEntries(session, outgoing, SINCE_MAX)) {
      if (entry.id === before) return undefined;
      if (OF_CALLBACKS.has(entry.type)) return entry;
    }
  } catch (thrown) {
    // The answer is still shown.
    session.report(`The decision can't be read: ${messageOf(thrown)}`);
  }
  return undefined;
}

/** Newest first. */
async function newestEntries(session: Session, { source, subject }: Outgoing, limit: number) {
  const store = await session.store();
  return store.entries({ source, subject, newestFirst: true, limit });
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
    throw usageError(
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
