import { z } from 'zod';
import { CountersignError } from '../../src/errors.ts';
import { coinNamed } from './coins.ts';
import type { Cosigner } from './cosigner.ts';
import { addDecimals, readDecimal } from './decimal.ts';
import { type SandboxLog, entryLine } from './log.ts';
import { releaseUnconfirmed } from './operations/payments.ts';
import { randomOf } from './random.ts';
import { type User, seedState, usersOf } from './seed.ts';
import type { ReadRequest, Reply } from './server.ts';
import { type Signing, type State, accountOf, readSnapshot, snapshotText } from './state.ts';
import type { SandboxClock } from './time.ts';

/** What commands may change. */
export interface ControlParts {
  readonly seed: string;
  readonly scale: number;
  readonly state: State;
  readonly clock: SandboxClock;
  readonly cosigner: Cosigner;
  readonly log: SandboxLog;
}

const text = z.string().min(1).max(65_536);
const amount = z.string().regex(/^(?:0|[1-9]\d{0,29})(?:\.\d{1,18})?$/, 'is not a decimal');

const common = {
  request: text.max(128).optional(),
  from: text.max(256),
  to: text.max(256),
  symbol: text.max(64),
  speedUps: z.int().min(0).max(10),
};

const commandSchema = z.discriminatedUnion('command', [
  z.strictObject({ command: z.literal('reset') }),
  z.strictObject({ command: z.literal('snapshot') }),
  z.strictObject({ command: z.literal('restore'), snapshot: z.string() }),
  z.strictObject({ command: z.literal('clock-show') }),
  z.strictObject({ command: z.literal('clock-set'), atMs: z.int() }),
  z.strictObject({ command: z.literal('clock-move'), byMs: z.int() }),
  z.strictObject({ command: z.literal('users') }),
  z.strictObject({ command: z.literal('login'), uid: z.int() }),
  z.strictObject({ command: z.literal('deposit'), uid: z.int(), symbol: text.max(64), amount }),
  z.strictObject({
    command: z.literal('transfer'),
    uid: z.int(),
    symbol: text.max(64),
    amount,
    orderId: text.max(128).optional(),
  }),
  z.strictObject({
    command: z.literal('withdraw'),
    ...common,
    amount,
    memo: z.string().max(512),
    outputs: z.array(z.strictObject({ to: text.max(256), amount })).max(1000),
  }),
  z.strictObject({
    command: z.literal('web3'),
    ...common,
    amount: z.union([amount, z.literal('-1')]),
    data: text,
    contract: text.max(256),
  }),
  z.strictObject({ command: z.literal('signings') }),
  z.strictObject({ command: z.literal('poll') }),
  z.strictObject({ command: z.literal('self-check') }),
  z.strictObject({ command: z.literal('log'), count: z.int().min(1).max(10_000) }),
]);

export type ControlCommand = z.infer<typeof commandSchema>;

/** What a command prints: a text for people, and a value for machines. */
export interface Done {
  readonly text: string;
  readonly value: unknown;
}

const LOOPBACK_HOST = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/;

/**
 * Answers a request to the control port. Pages of a browser can't call it: they would send another host, or
 * a content type that a form may have.
 */
export async function answerControl(request: ReadRequest, parts: ControlParts): Promise<Reply> {
  const { headers, method, text: body } = request;
  const isOurs = LOOPBACK_HOST.test(headers.host ?? '') && headers['content-type'] === 'application/json';
  if (method !== 'POST' || !isOurs) return failed(403, 'only `countersign sandbox` may call this port');
  const read = commandSchema.safeParse(jsonOf(body));
  if (!read.success) {
    const [issue] = read.error.issues;
    return failed(400, `${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim());
  }
  try {
    return { status: 200, body: JSON.stringify(await perform(read.data, parts)) };
  } catch (thrown) {
    if (thrown instanceof CountersignError) return failed(400, thrown.message);
    throw thrown;
  }
}

const failed = (status: number, message: string): Reply => ({ status, body: JSON.stringify({ message }) });

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

async function perform(command: ControlCommand, parts: ControlParts): Promise<Done> {
  const done = await apply(command, parts);
  const about = command.command;
  if (!READING.has(about)) parts.log.add({ kind: 'command', about, outcome: 'done', why: '' });
  return done;
}

function apply(command: ControlCommand, parts: ControlParts): Done | Promise<Done> {
  const { state, clock } = parts;
  switch (command.command) {
    case 'reset':
      return reset(parts);
    case 'snapshot':
      return { text: '', value: snapshotText({ state, clock: clock.kept() }) };
    case 'restore':
      return restore(command.snapshot, parts);
    case 'clock-set':
      clock.set(command.atMs);
      return clockShown(clock);
    case 'clock-move':
      clock.set(clock.nowMs() + command.byMs);
      return clockShown(clock);
    case 'clock-show':
      return clockShown(clock);
    case 'users':
      return users(state);
    case 'login':
      return login(command.uid, parts);
    case 'deposit':
      return deposit(command, parts);
    case 'transfer':
      return transfer(command, parts);
    case 'withdraw':
    case 'web3':
      return begin(command, parts);
    case 'signings':
      return signings(state);
    case 'poll':
      return poll(parts);
    case 'self-check':
      return selfCheck(parts);
    case 'log':
    default:
      return logged(command.count, parts);
  }
}

function logged(count: number, { log }: ControlParts): Done {
  const entries = log.latest(count);
  return { text: entries.map(entryLine).join('\n'), value: entries };
}

async function poll({ cosigner }: ControlParts): Promise<Done> {
  const looked = await cosigner.poll();
  return { text: `The co-signer looked at ${looked} pending.`, value: { looked } };
}

async function selfCheck({ cosigner }: ControlParts): Promise<Done> {
  const answer = await cosigner.selfCheck();
  return { text: answer, value: { answer } };
}

/** Commands that change nothing are not in the log. */
const READING: ReadonlySet<ControlCommand['command']> = new Set([
  'snapshot',
  'clock-show',
  'users',
  'signings',
  'log',
]);

/** Changes the state in place, so that a payment that waits for an answer finds its order gone. */
function reset({ state, seed, scale, clock }: ControlParts): Done {
  Object.assign(state, seedState({ seed, scale, seededAtMs: clock.nowMs() }));
  return { text: `The state is that of the seed ${seed}.`, value: { seed } };
}

function restore(snapshot: string, { state, clock }: ControlParts): Done {
  const read = readSnapshot(snapshot);
  clock.restore(read.clock);
  Object.assign(state, read.state);
  releaseUnconfirmed(state, clock.nowMs());
  return { text: 'The state is that of the snapshot.', value: clockShown(clock).value };
}

function clockShown(clock: SandboxClock): Done {
  const { standing, atMs } = clock.kept();
  const at = new Date(atMs).toISOString();
  return {
    text: `The clock of the sandbox ${standing ? 'stands at' : 'goes, and is at'} ${at}.`,
    value: { at, standing },
  };
}

function users(state: State): Done {
  const { accounts, codes } = state;
  const value = usersOf(state).map((user) => ({
    uid: user.uid,
    openId: user.openId,
    email: user.email,
    mobileNumber: user.mobileNumber,
    code: codes.find(({ uid, used }) => uid === user.uid && !used)?.code ?? null,
    apiKey: user.apiKey,
    secret: user.secret,
    balances: Object.fromEntries(
      accounts
        .filter(({ uid, type }) => uid === user.uid && type === '201')
        .map(({ coin, balance }) => [coin, balance]),
    ),
  }));
  const line = (user: (typeof value)[number]): string => {
    const balances = Object.entries(user.balances).map(([coin, balance]) => `${balance} ${coin}`);
    return `${user.uid}  openId ${user.openId}  code ${user.code ?? '(none)'}  ${balances.join(', ')}`;
  };
  return { text: value.map(line).join('\n'), value };
}

function userWith(state: State, uid: number): User {
  const user = usersOf(state).find((each) => each.uid === uid);
  if (user !== undefined) return user;
  throw new CountersignError('USAGE', `there is no user ${uid}. \`countersign sandbox users\` lists them`);
}

/** The first login step, whose code section 4.1 exchanges. */
function login(uid: number, { state }: ControlParts): Done {
  userWith(state, uid);
  const code = randomOf(state.seed, 'login', uid, state.nextId++).hex(32);
  state.codes.push({ code, uid, used: false });
  return { text: `User ${uid} logged in with the code ${code}.`, value: { uid, code } };
}

/** Adds to a balance. Throws USAGE for an unknown user or coin, and for an amount of 0. */
function credit(
  {
    uid,
    symbol,
    amount: added,
  }: Pick<Extract<ControlCommand, { command: 'deposit' }>, 'uid' | 'symbol' | 'amount'>,
  state: State,
  nowMs: number,
): string {
  userWith(state, uid);
  if (coinNamed(symbol) === undefined) throw new CountersignError('USAGE', `there is no coin ${symbol}`);
  if (readDecimal(added) === 0n) throw new CountersignError('USAGE', 'the amount is 0. Give more');
  const account = accountOf(state, { uid, coin: symbol, type: '201' }, nowMs);
  Object.assign(account, { balance: addDecimals(account.balance, added), updatedAtMs: nowMs });
  return account.balance;
}

function deposit(
  command: Extract<ControlCommand, { command: 'deposit' }>,
  { state, clock }: ControlParts,
): Done {
  const { uid, symbol, amount: added } = command;
  const nowMs = clock.nowMs();
  const balance = credit(command, state, nowMs);
  const id = state.nextId++;
  const own = randomOf(state.seed, 'deposit', id);
  const [addressTo, txid] = [`0x${own.hex(40)}`, `0x${own.hex(64)}`];
  state.deposits.push({ id, uid, symbol, amount: added, addressTo, txid, createdAtMs: nowMs });
  const value = { id, uid, symbol, amount: added, balance };
  return { text: `Deposit ${id}: user ${uid} has ${balance} ${symbol}.`, value };
}

/** A transfer order, which is billed and needs no confirmation. */
function transfer(
  command: Extract<ControlCommand, { command: 'transfer' }>,
  { state, clock }: ControlParts,
): Done {
  const { uid, symbol: coin, amount: added } = command;
  const nowMs = clock.nowMs();
  const appOrderId = command.orderId ?? `transfer-${nowMs}-${state.nextId++}`;
  if (state.payments.some((each) => each.appOrderId === appOrderId)) {
    throw new CountersignError('USAGE', `there already is an order ${appOrderId}. Give another --order-id`);
  }
  const balance = credit(command, state, nowMs);
  const times = { createdAtMs: nowMs, paidAtMs: nowMs };
  state.payments.push({
    appOrderId,
    userId: uid,
    coin,
    amount: added,
    orderType: 11,
    state: 'paid',
    ...times,
  });
  const value = { orderId: appOrderId, uid, symbol: coin, amount: added, balance };
  return { text: `Transfer order ${appOrderId}: user ${uid} has ${balance} ${coin}.`, value };
}

/** A withdrawal or a transaction that the co-signer will ask about. */
function begin(
  command: Extract<ControlCommand, { command: 'withdraw' | 'web3' }>,
  { state, clock }: ControlParts,
): Done {
  const id = state.nextId;
  const kind = command.command === 'web3' ? ('web3' as const) : ('transfer' as const);
  // With the time, because a receiver remembers the ids of an earlier run of the sandbox.
  const requestId = command.request ?? `${kind}-${clock.nowMs()}-${id}`;
  if (state.signings.some((each) => each.kind === kind && each.requestId === requestId)) {
    throw new CountersignError('USAGE', `there already is a ${kind} ${requestId}. Give another --request`);
  }
  const { from, to, amount: asked, symbol, speedUps } = command;
  const own =
    command.command === 'web3'
      ? { memo: '', outputs: '', inputData: command.data, contract: command.contract }
      : { memo: command.memo, outputs: outputsText(command.outputs), inputData: '', contract: '' };
  const signing: Signing = {
    kind,
    id,
    requestId,
    from,
    to,
    amount: asked,
    symbol,
    speedUps,
    ...own,
    signed: 0,
    refused: 0,
    status: 'pending',
    txids: [],
  };
  state.nextId++;
  state.signings.push(signing);
  return { text: `${kind} ${requestId} is pending.`, value: { kind, id, requestId } };
}

function outputsText(outputs: readonly { readonly to: string; readonly amount: string }[]): string {
  if (outputs.length === 0) return '';
  return JSON.stringify(outputs.map(({ to, amount: part }) => ({ address_to: to, amount: part })));
}

function signings({ signings: all }: State): Done {
  const value = all.map(({ kind, id, requestId, status, signed, refused, txids }) => ({
    kind,
    id,
    requestId,
    status,
    signed,
    refused,
    txids,
  }));
  const lines = value.map(
    ({ kind, requestId, status, signed, refused }) =>
      `${kind} ${requestId}  ${status}  ${signed} signed  ${refused} refused`,
  );
  return { text: lines.join('\n'), value };
}
