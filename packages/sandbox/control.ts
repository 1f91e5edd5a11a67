import { z } from 'zod';
import { CountersignError, usageError } from '../../src/errors.ts';
import { coinNamed } from './coins.ts';
import type { Cosigner } from './cosigner.ts';
import { readDecimal } from './decimal.ts';
import { jsonOf } from './json.ts';
import { entryLine } from './log.ts';
import { releaseUnconfirmed } from './operations/payments.ts';
import { randomOf } from './random.ts';
import type { Running } from './running.ts';
import { type User, seedState, usersOf } from './seed.ts';
import type { ReadRequest, Reply } from './server.ts';
import { type Signing, type State, book, readSnapshot, snapshotText } from './state.ts';

/** What commands may change. */
export interface ControlParts extends Running {
  readonly cosigner: Cosigner;
}

const text = z.string().min(1).max(65_536);
const amount = z.string().regex(/^(?:0|[1-9]\d{0,29})(?:\.\d{1,18})?$/, 'is not a decimal');

/** What a command prints: a text for people, and a value for machines. */
export interface Done {
  readonly text: string;
  readonly value: unknown;
}

/** A command of the control port. One that only reads is not in the log. */
function row<S extends z.ZodRawShape>(
  shape: S,
  perform: (input: z.infer<z.ZodObject<S>>, parts: ControlParts) => Done | Promise<Done>,
  { reads = false } = {},
) {
  const schema = z.strictObject(shape);
  return {
    schema,
    reads,
    /** Throws a ZodError, or USAGE. */
    run: (input: unknown, parts: ControlParts) => perform(schema.parse(input), parts),
  };
}

const READS = { reads: true };
const credited = { uid: z.int(), symbol: text.max(64), amount };
const signing = {
  request: text.max(128).optional(),
  from: text.max(256),
  to: text.max(256),
  symbol: text.max(64),
  speedUps: z.int().min(0).max(10),
};
const paid = {
  ...signing,
  amount,
  memo: z.string().max(512),
  outputs: z.array(z.strictObject({ to: text.max(256), amount })).max(1000),
};
const called = {
  ...signing,
  amount: z.union([amount, z.literal('-1')]),
  data: text,
  contract: text.max(256),
};

const COMMANDS = {
  reset: row({}, reset),
  snapshot: row(
    {},
    (_, { state, clock }) => ({ text: '', value: snapshotText({ state, clock: clock.kept() }) }),
    READS,
  ),
  restore: row({ snapshot: z.string() }, restore),
  'clock-show': row({}, clockShown, READS),
  'clock-set': row({ atMs: z.int() }, ({ atMs }, parts) => {
    parts.clock.set(atMs);
    return clockShown({}, parts);
  }),
  'clock-move': row({ byMs: z.int() }, ({ byMs }, parts) => {
    parts.clock.set(parts.clock.nowMs() + byMs);
    return clockShown({}, parts);
  }),
  users: row({}, users, READS),
  login: row({ uid: z.int() }, login),
  deposit: row(credited, deposit),
  transfer: row({ ...credited, orderId: text.max(128).optional() }, transfer),
  withdraw: row(paid, ({ memo, outputs, ...rest }, parts) =>
    begin('transfer', rest, { memo, outputs: outputsText(outputs) }, parts),
  ),
  web3: row(called, ({ data, contract, ...rest }, parts) =>
    begin('web3', rest, { inputData: data, contract }, parts),
  ),
  signings: row({}, signings, READS),
  poll: row({}, poll),
  'self-check': row({}, selfCheck),
  log: row({ count: z.int().min(1).max(10_000) }, logged, READS),
};

type CommandName = keyof typeof COMMANDS;

/** A command without input is inferred as an object that has no members at all, not even its name. */
type Named<Name, Input> = { readonly command: Name } & (Input extends Record<string, never>
  ? unknown
  : Input);

export type ControlCommand = {
  [Name in CommandName]: Named<Name, z.infer<(typeof COMMANDS)[Name]['schema']>>;
}[CommandName];

const isCommand = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);

const LOOPBACK_HOST = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/;

/**
 * Answers a request to the control port. Pages of a browser can't call it: they would send another host, or
 * a content type that a form may have.
 */
export async function answerControl(request: ReadRequest, parts: ControlParts): Promise<Reply> {
  const { headers, method, text: body } = request;
  const isOurs = LOOPBACK_HOST.test(headers.host ?? '') && headers['content-type'] === 'application/json';
  if (method !== 'POST' || !isOurs) return failed(403, 'only `countersign sandbox` may call this port');
  try {
    return { status: 200, body: JSON.stringify(await performNamed(jsonOf(body), parts)) };
  } catch (thrown) {
    if (thrown instanceof CountersignError) return failed(400, thrown.message);
    if (!(thrown instanceof z.ZodError)) throw thrown;
    const [issue] = thrown.issues;
    return failed(400, `${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim());
  }
}

const failed = (status: number, message: string): Reply => ({ status, body: JSON.stringify({ message }) });

async function performNamed(asked: unknown, parts: ControlParts): Promise<Done> {
  const { command: name, ...input } = z.looseObject({ command: z.string() }).parse(asked);
  if (!isCommand(name)) throw usageError(`there is no command ${name}`);
  const { run, reads } = COMMANDS[name];
  const done = await run(input, parts);
  if (!reads) parts.log.add({ kind: 'command', about: name, outcome: 'done', why: '' });
  return done;
}

function logged({ count }: { readonly count: number }, { log }: ControlParts): Done {
  const entries = log.latest(count);
  return { text: entries.map(entryLine).join('\n'), value: entries };
}

async function poll(_: object, { cosigner }: ControlParts): Promise<Done> {
  const looked = await cosigner.poll();
  return { text: `The co-signer looked at ${looked} pending.`, value: { looked } };
}

async function selfCheck(_: object, { cosigner }: ControlParts): Promise<Done> {
  const answer = await cosigner.selfCheck();
  return { text: answer, value: { answer } };
}

/** Changes the state in place, so that a payment that waits for an answer finds its order gone. */
function reset(_: object, { state, seed, scale, clock }: ControlParts): Done {
  Object.assign(state, seedState({ seed, scale, seededAtMs: clock.nowMs() }));
  return { text: `The state is that of the seed ${seed}.`, value: { seed } };
}

function restore({ snapshot }: { readonly snapshot: string }, parts: ControlParts): Done {
  const { state, clock } = parts;
  const read = readSnapshot(snapshot);
  clock.restore(read.clock);
  Object.assign(state, read.state);
  releaseUnconfirmed(state, clock.nowMs());
  return { text: 'The state is that of the snapshot.', value: clockShown({}, parts).value };
}

function clockShown(_: object, { clock }: ControlParts): Done {
  const { standing, atMs } = clock.kept();
  const at = new Date(atMs).toISOString();
  return {
    text: `The clock of the sandbox ${standing ? 'stands at' : 'goes, and is at'} ${at}.`,
    value: { at, standing },
  };
}

function users(_: object, { state }: ControlParts): Done {
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
  throw usageError(`there is no user ${uid}. \`countersign sandbox users\` lists them`);
}

/** The first login step, whose code section 4.1 exchanges. */
function login({ uid }: { readonly uid: number }, { state }: ControlParts): Done {
  userWith(state, uid);
  const code = randomOf(state.seed, 'login', uid, state.nextId++).hex(32);
  state.codes.push({ code, uid, used: false });
  return { text: `User ${uid} logged in with the code ${code}.`, value: { uid, code } };
}

interface Credit {
  readonly uid: number;
  readonly symbol: string;
  readonly amount: string;
}

/** Adds to a balance. Throws USAGE for an unknown user or coin, and for an amount of 0. */
function credit({ uid, symbol, amount: added }: Credit, state: State, nowMs: number): string {
  userWith(state, uid);
  if (coinNamed(symbol) === undefined) throw usageError(`there is no coin ${symbol}`);
  if (readDecimal(added) === 0n) throw usageError('the amount is 0. Give more');
  return book(state, { uid, coin: symbol, type: '201' }, added, nowMs);
}

function deposit(command: Credit, { state, clock }: ControlParts): Done {
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
  command: Credit & { readonly orderId?: string | undefined },
  { state, clock }: ControlParts,
): Done {
  const { uid, symbol: coin, amount: added } = command;
  const nowMs = clock.nowMs();
  const appOrderId = command.orderId ?? `transfer-${nowMs}-${state.nextId++}`;
  if (state.payments.some((each) => each.appOrderId === appOrderId)) {
    throw usageError(`there already is an order ${appOrderId}. Give another --order-id`);
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

/** Begins a withdrawal or a transaction that the co-signer will ask about. */
function begin(
  kind: Signing['kind'],
  {
    request,
    ...common
  }: Pick<Signing, 'from' | 'to' | 'amount' | 'symbol' | 'speedUps'> & {
    readonly request?: string | undefined;
  },
  own: Partial<Pick<Signing, 'memo' | 'outputs' | 'inputData' | 'contract'>>,
  { state, clock }: ControlParts,
): Done {
  const id = state.nextId;
  // With the time, because a receiver remembers the ids of an earlier run of the sandbox.
  const requestId = request ?? `${kind}-${clock.nowMs()}-${id}`;
  if (state.signings.some((each) => each.kind === kind && each.requestId === requestId)) {
    throw usageError(`there already is a ${kind} ${requestId}. Give another --request`);
  }
  const none = { memo: '', outputs: '', inputData: '', contract: '' };
  const fresh = { signed: 0, refused: 0, status: 'pending' as const, txids: [] };
  state.nextId++;
  state.signings.push({ kind, id, requestId, ...common, ...none, ...own, ...fresh });
  return { text: `${kind} ${requestId} is pending.`, value: { kind, id, requestId } };
}

function outputsText(outputs: readonly { readonly to: string; readonly amount: string }[]): string {
  if (outputs.length === 0) return '';
  return JSON.stringify(outputs.map(({ to, amount: part }) => ({ address_to: to, amount: part })));
}

function signings(_: object, { state }: ControlParts): Done {
  const value = state.signings.map(({ kind, id, requestId, status, signed, refused, txids }) => {
    return { kind, id, requestId, status, signed, refused, txids };
  });
  const lines = value.map(
    ({ kind, requestId, status, signed, refused }) =>
      `${kind} ${requestId}  ${status}  ${signed} signed  ${refused} refused`,
  );
  return { text: lines.join('\n'), value };
}
