import { PlatformError } from '../../packages/platform/error.ts';
import type { Entry } from '../../packages/sandbox/log.ts';
import type { JournalEntry } from '../../src/store/store.ts';
import { type Amount, parseAmount } from '../../src/values/amount.ts';
import { type Expected, expectedOf, isDiscrepancy } from './discrepancies.ts';
import { FROM, type Order, type Plan, type Planned, type Sent, type Signing } from './plan.ts';
import { type Ran, type World, optionsOf } from './world.ts';

/** How the client's call for a payment ended; for a withdrawal or transaction, how the co-signer's did. */
export type Ended = 'paid' | 'refused' | 'unknown' | `signed ${number}` | 'not signed';

/** Sums by coin. */
export type Sums = ReadonlyMap<string, Amount>;

/** All that is known at the end of the days. */
export interface Outcome {
  readonly ended: ReadonlyMap<string, Ended>;
  /** The orders that the platform debited, by what the sandbox's log says of the receiver's answers. */
  readonly debited: ReadonlySet<string>;
  readonly log: readonly Entry[];
  /** What went wrong on purpose, by the sandbox's log. */
  readonly made: readonly Planned[];
  /** What the reconciliation must say, by the faults that make it. */
  readonly expected: readonly (Expected & Pick<Planned, 'fault'>)[];
  readonly found: readonly Expected[];
  readonly sums: {
    /** What all users together have less than before. */
    readonly balances: Sums;
    readonly bill: Sums;
    readonly journal: Readonly<Record<Sent['flow'], Sums>>;
    readonly approved: Readonly<Record<Sent['flow'], Sums>>;
    readonly settled: Readonly<Record<Sent['flow'], Sums>>;
  };
  /** Of each day. */
  readonly runs: readonly Reconciliation[];
}

/** What `countersign reconcile --json` prints. */
export interface Reconciliation {
  readonly ok: boolean;
  readonly day: string;
  readonly classes: Readonly<Record<string, number>>;
  readonly exceptions: readonly Pick<Expected, 'class' | 'id'>[];
  readonly coins: readonly {
    readonly flow: Sent['flow'] | 'transfer-order';
    readonly coin: string;
    readonly approved: { readonly count: number; readonly amount: string };
    readonly settled: { readonly count: number; readonly amount: string };
  }[];
}

/** Tells people what is going on. */
export interface Narrator {
  /** What was done. */
  readonly say: (line: string) => void;
  /** What is being done, and how much of it is done. */
  readonly progress: (doing: string, done: number, of: number) => void;
}

/** The sandbox keeps no more entries of its log. */
const LOG_MAX = 10_000;
/** Rounds of the co-signer: the first one and the speed-ups. */
const POLLS = 4;
/** A bill whose answer lies is read again. */
const READINGS_MAX = 10;

/** Sends what is planned, goes to the next day, and reconciles both days. */
export async function runDays(world: World, plan: Plan, narrator: Narrator): Promise<Outcome> {
  const { say, progress } = narrator;
  const { orders, signings } = plan;
  const before = await balancesOf(world);
  const ended = new Map<string, Ended>();
  for (const [at, order] of orders.entries()) {
    progress('orders', at, orders.length);
    ended.set(order.id, await pay(world, order));
  }
  const announced = orders.filter(({ isAnnounced }) => isAnnounced).length;
  say(
    `Paid ${announced} orders with \`countersign platform pay\`, which announces them to the receiver, and ` +
      `${orders.length - announced} with a program that does not.`,
  );
  for (const signing of signings) await begin(world, signing);
  await poll(world, narrator);
  const withdrawals = signings.filter(({ flow }) => flow === 'transfer').length;
  say(
    `The co-signer asked about ${withdrawals} withdrawals and ${signings.length - withdrawals} web3 ` +
      'transactions, and about speed-ups of what it had signed.',
  );
  await world.moveToNextDay();
  await poll(world, narrator);
  for (const [id, end] of await signingsOf(world)) ended.set(id, end);
  const balances = lessThan(before, await balancesOf(world));

  world.endDays();
  const runs: Reconciliation[] = [];
  for (const day of world.days) runs.push(await reconcile(world, day));
  say(`Went to the next day, and compared both days with \`countersign reconcile\`.`);
  const bill = sumsOf(await billOf(world));
  const log = await logOf(world);
  const made = madeIn(log);
  const [shop, vault] = [await world.journalOf('shop'), await world.journalOf('vault')];
  const approvals = [...approvalsIn(shop), ...approvalsIn(vault)];
  const byFlow = (sums: (flow: Sent['flow']) => Sums) => ({
    payment: sums('payment'),
    transfer: sums('transfer'),
    web3: sums('web3'),
  });
  return {
    ended,
    debited: debitedIn(log),
    log,
    made,
    expected: expectedIn(made, plan),
    found: runs.flatMap(({ exceptions }, day) =>
      exceptions.map((item) => ({ class: item.class, id: item.id, day: day === 0 ? 0 : 1 }) as const),
    ),
    runs,
    sums: {
      balances,
      bill,
      journal: byFlow((flow) => sumsOf(approvals.filter((approval) => approval.flow === flow))),
      approved: byFlow((flow) => reconciledSums(runs, flow, 'approved')),
      settled: byFlow((flow) => reconciledSums(runs, flow, 'settled')),
    },
  };
}

// ---- what is sent ----

async function pay(world: World, { id, userId, amount, coin, scheme, isAnnounced }: Order): Promise<Ended> {
  if (isAnnounced) {
    const options = {
      'user-id': userId,
      'app-order-id': id,
      'order-amount': amount,
      'pay-coin-symbol': coin,
      scheme,
    };
    const ran = await world.command('platform', 'pay', ...optionsOf(options));
    if (ran.code === 0) return 'paid';
    if (ran.code === 1 && ran.err.includes('PLATFORM_REFUSED')) return 'refused';
    if (ran.err.includes('PLATFORM_')) return 'unknown';
    throw failed(`the payment ${id}`, ran);
  }
  const order = { userId, appOrderId: id, orderAmount: amount, payCoinSymbol: coin };
  return world
    .platformOf(scheme)
    .payments.create(order)
    .then(
      () => 'paid',
      (thrown: unknown) => {
        if (!(thrown instanceof PlatformError)) throw thrown;
        return thrown.data.outcome === 'refused' ? 'refused' : 'unknown';
      },
    );
}

const failed = (what: string, { code, out, err }: Ran): Error =>
  new Error(`${what} ended with exit code ${code}: ${err}${out}`);

async function begin(world: World, signing: Signing): Promise<void> {
  const { flow, id, to, amount, coin, contract, outputs, speedUps } = signing;
  const common = { request: id, from: FROM, to, symbol: coin, amount, speedUps };
  await world.steer(
    flow === 'transfer'
      ? { command: 'withdraw', ...common, memo: '', outputs: [...outputs] }
      : { command: 'web3', ...common, data: '0xa9059cbb', contract },
  );
}

async function poll(world: World, { progress }: Narrator): Promise<void> {
  for (let polls = 0; polls < POLLS; polls++) {
    progress('rounds of the co-signer', polls, POLLS);
    await world.steer({ command: 'poll' });
  }
}

// ---- what came of it ----

interface Part {
  readonly coin: string;
  /** As it was written. */
  readonly amount: string;
}

export function sumsOf(parts: Iterable<Part>): Sums {
  const sums = new Map<string, Amount>();
  for (const { coin, amount } of parts) {
    const units = parseAmount(amount);
    if (units === undefined) throw new Error(`${amount} ${coin} is not an amount`);
    sums.set(coin, (sums.get(coin) ?? 0n) + units);
  }
  return sums;
}

async function balancesOf(world: World): Promise<Sums> {
  const users = (await world.steer({ command: 'users' })) as readonly {
    readonly balances: Readonly<Record<string, string>>;
  }[];
  return sumsOf(
    users.flatMap(({ balances }) => Object.entries(balances).map(([coin, amount]) => ({ coin, amount }))),
  );
}

const lessThan = (before: Sums, after: Sums): Sums =>
  new Map(
    [...before]
      .map(([coin, amount]) => [coin, amount - (after.get(coin) ?? 0n)] as const)
      .filter(([, amount]) => amount !== 0n),
  );

async function signingsOf(world: World): Promise<readonly (readonly [string, Ended])[]> {
  const signings = (await world.steer({ command: 'signings' })) as readonly {
    readonly requestId: string;
    readonly signed: number;
  }[];
  return signings.map(({ requestId, signed }) => [
    requestId,
    signed === 0 ? 'not signed' : `signed ${signed}`,
  ]);
}

/** The records of both days, as a program reads them. */
async function billOf(world: World): Promise<readonly Part[]> {
  const records: Part[] = [];
  for (const day of world.days) {
    for await (const record of world.platformOf('md5').bill.listAll({ day })) {
      if ('unreadable' in record) throw new Error(`${record.unreadable}: ${record.text}`);
      records.push({ coin: record.payCoinSymbol, amount: record.orderAmount });
    }
  }
  return records;
}

async function reconcile(world: World, day: string): Promise<Reconciliation> {
  for (let readings = 1; ; readings++) {
    const options = { day, zone: world.zone, directory: world.directory };
    const ran = await world.command('reconcile', ...optionsOf(options), '--json');
    if (ran.code !== 2) return JSON.parse(ran.out) as Reconciliation;
    if (!ran.out.includes('BILL_INVALID') || readings === READINGS_MAX) {
      throw failed(`the reconciliation of ${day}`, ran);
    }
  }
}

function reconciledSums(
  runs: readonly Reconciliation[],
  flow: Sent['flow'],
  side: 'approved' | 'settled',
): Sums {
  const isOf = (other: string): boolean =>
    other === flow || (flow === 'payment' && side === 'settled' && other === 'transfer-order');
  return sumsOf(
    runs
      .flatMap(({ coins }) => coins)
      .filter((row) => isOf(row.flow) && row[side].count > 0)
      .map((row) => ({ coin: row.coin, amount: row[side].amount })),
  );
}

async function logOf(world: World): Promise<readonly Entry[]> {
  const log = (await world.steer({ command: 'log', count: LOG_MAX })) as readonly Entry[];
  if (log[0]?.number !== 1) throw new Error('the log of the sandbox no longer begins at its first entry');
  return log;
}

/** Of the answers about a payment, the last one counts. */
function debitedIn(log: readonly Entry[]): ReadonlySet<string> {
  const debited = new Set<string>();
  for (const { kind, about, why, faults } of log) {
    if (kind === 'confirmation') {
      if (why === 'the receiver said yes') debited.add(about);
      else debited.delete(about);
    }
    for (const { fault, id } of faults.flatMap(placed)) if (fault === 'bill-refused') debited.add(id);
  }
  return debited;
}

/** A fault as the log writes it for requests, `FAULT@ID`. */
function placed(written: string): readonly Planned[] {
  const [fault = '', ...id] = written.split('@');
  return id.length === 0 ? [] : [{ fault: fault as Planned['fault'], id: id.join('@') }];
}

/** The faults that occurred, each once. */
function madeIn(log: readonly Entry[]): readonly Planned[] {
  const made = new Map<string, Planned>();
  for (const { kind, about, faults } of log) {
    for (const fault of faults) {
      const id = kind === 'cosigner' ? (about.split(' ')[1] ?? '') : about;
      const [one] = kind === 'request' ? placed(fault) : [{ fault: fault as Planned['fault'], id }];
      if (one !== undefined) made.set(`${one.fault}@${one.id}`, one);
    }
  }
  return [...made.values()];
}

function expectedIn(made: readonly Planned[], plan: Plan): Outcome['expected'] {
  return made.flatMap(({ fault, id }) => {
    if (!isDiscrepancy(fault)) return [];
    const speedUps = plan.signings.find((signing) => signing.id === id)?.speedUps ?? 0;
    return expectedOf(fault, id, { speedUps }).map((expected) => ({ ...expected, fault }));
  });
}

interface Approval extends Part {
  readonly flow: Sent['flow'];
}

/** The first SUCCESS about each payment and each `sign_start`, read from the bodies of the journal. */
function approvalsIn(entries: readonly JournalEntry[]): readonly Approval[] {
  const approvals = new Map<string, Approval>();
  for (const { type, verdict, subject, detail } of entries) {
    if (type !== 'decision' || verdict !== 'SUCCESS' || approvals.has(subject)) continue;
    const { body, plaintext } = JSON.parse(detail) as { readonly body: string; readonly plaintext?: string };
    const text = plaintext ?? body;
    const members = JSON.parse(text, exactly) as Readonly<Record<string, string | undefined>>;
    const step = members['type'] ?? 'payment';
    if (step !== 'payment' && step !== 'sign_start') continue;
    const [flow] = subject.split(':') as [Sent['flow']];
    const coin = members['payCoinSymbol'] ?? members['symbol'] ?? members['main_chain_symbol'] ?? '';
    approvals.set(subject, { flow, coin, amount: members['orderAmount'] ?? members['amount'] ?? '' });
  }
  return [...approvals.values()];
}

/** Numbers as the text that was written. */
const exactly = (_: string, value: unknown, { source }: { readonly source?: string } = {}): unknown =>
  typeof value === 'number' ? source : value;
