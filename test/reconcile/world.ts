import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { callbackKinds } from '../../src/callback/kinds.ts';
import type { Callback, Kind } from '../../src/callback/callback.ts';
import type { Store } from '../../src/store/store.ts';
import { releaseApproval } from '../../src/orders/release.ts';
import { readMembers } from '../../src/values/members.ts';
import { type StorePlace, openPlace } from '../archive/place.ts';
import { type Place, type Ran, placeIn } from '../cli/terminal.ts';
import { transfer, web3, writeServiceFolder } from '../service.ts';

import { REVISION, push } from '../store/requests.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY = '2025-06-10';
/** Its midnight in Shanghai. */
export const MIDNIGHT_MS = Date.UTC(2025, 5, 9, 16);
/** The commands run five days later. */
export const NOON_MS = MIDNIGHT_MS + 12 * HOUR_MS;

export interface Row {
  readonly appOrderId: string;
  readonly payCoinSymbol: string;
  /** JSON: a number as written. */
  readonly orderAmount: string;
  readonly orderType: string;
  readonly userId: string;
  readonly createTime: string;
  readonly payTime: string;
}

export interface Paid {
  readonly id: string;
  readonly amount?: string;
  readonly coin?: string;
  readonly user?: string;
  readonly atMs?: number;
}

export interface Withdrawn {
  readonly id: string;
  readonly kind?: 'transfer' | 'web3';
  readonly members?: object;
  readonly speedUp?: boolean;
  readonly atMs?: number;
}

export interface World extends Place {
  readonly store: Store;
  /** Settings with which a service uses the store. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Where runs are kept. */
  readonly directory: string;
  readonly close: () => Promise<void>;
  /** Moves the clock of the store. */
  readonly setTime: (atMs: number) => void;
  /** Decide a payment with SUCCESS, or refuse it; resolve with the entry's id. */
  readonly pay: (paid: Paid) => Promise<string>;
  readonly refuse: (paid: Paid) => Promise<string>;
  /** The SUCCESS of an entry was not delivered. */
  readonly late: (entry: string, id: string, source?: string, atMs?: number) => Promise<void>;
  /** Releases what was approved. */
  readonly release: (id: string, source?: 'shop' | 'vault', atMs?: number) => Promise<void>;
  readonly approve: (withdrawn: Withdrawn) => Promise<string>;
  readonly sign: (withdrawn: Withdrawn & { readonly txid: string }) => Promise<string>;
  /** Writes the bill's file as JSON Lines and reconciles with it. */
  readonly reconcile: (rows: readonly Row[], ...argv: readonly string[]) => Promise<Ran>;
}

const dayTime = (atMs: number): string =>
  new Date(atMs + 8 * HOUR_MS).toISOString().slice(0, 19).replace('T', ' ');

/** The bill's record of a payment. */
export const billed = (
  { id, amount = '100', coin = 'USDT1742', user = '12345', atMs = NOON_MS }: Paid,
  over: Partial<Row> = {},
): Row => ({
  appOrderId: id,
  payCoinSymbol: coin,
  orderAmount: amount,
  orderType: '1',
  userId: user,
  createTime: dayTime(atMs),
  payTime: dayTime(atMs + 1000),
  ...over,
});

export function jsonLine(row: Row): string {
  const { appOrderId, payCoinSymbol, orderAmount, orderType, userId, createTime, payTime } = row;
  const text = JSON.stringify;
  return (
    `{"merchantUserId":9,"appOrderId":${text(appOrderId)},"payCoinSymbol":${text(payCoinSymbol)},` +
    `"orderAmount":${orderAmount},"orderType":${orderType},"userId":${userId},"openId":"open-${userId}",` +
    `"createTime":${text(createTime)},"payTime":${text(payTime)}}`
  );
}

export const jsonBill = (rows: readonly Row[]): string =>
  [...rows.map(jsonLine), `{"count":${rows.length}}`, ''].join('\n');

/** A world of one test, removed when the test is over. */
export async function createWorld(redis?: string): Promise<World> {
  const world = await openWorld(redis);
  onTestFinished(() => world.close());
  return world;
}

/** A folder with settings, a store that has a clock of the test's own, and a directory for runs. */
export async function openWorld(redis?: string): Promise<World> {
  const prefix = `t${randomUUID().replaceAll('-', '').slice(0, 20)}`;
  const redisStore = { url: redis, prefix, commandTimeoutMs: '10000' };
  const settings = redis === undefined ? {} : { store: redisStore };
  const folder = writeServiceFolder(redis === undefined ? { clock: () => 0 } : { redis, settings });
  const here = placeIn(folder);
  let nowMs = MIDNIGHT_MS - 48 * HOUR_MS;
  const storePlace: StorePlace =
    redis === undefined ? { embedded: join(here.folder, 'store.db') } : { redis, prefix };
  const store = await openPlace(storePlace, () => nowMs);
  await store.register(['shop', 'vault']);
  await store.push(push('first', ''));
  const directory = join(here.folder, 'runs');
  mkdirSync(directory);

  async function settle(
    callback: Callback,
    detail: string,
    approves: boolean,
    atMs: number,
  ): Promise<string> {
    nowMs = atMs;
    const result = await store.settle({
      callback,
      scheme: '',
      detail,
      proposal: {
        revision: REVISION,
        validFromMs: 0,
        validUntilMs: Number.MAX_SAFE_INTEGER,
        approves,
        refusal: undefined,
        retryable: false,
        prices: 0,
        claims: [],
        results: [],
      },
    });
    if (!('id' in result)) throw new Error(`expected a decision, not ${result.outcome}`);
    return result.id;
  }
  const decidePayment = (paid: Paid, approves: boolean): Promise<string> => {
    const body = paymentBody(paid);
    return settle(parsed('payment', 'shop', body), detailOf(body), approves, paid.atMs ?? NOON_MS);
  };

  return {
    ...here,
    store,
    settings,
    directory,
    async close() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
    setTime: (atMs) => void (nowMs = atMs),
    pay: (paid) => decidePayment(paid, true),
    refuse: (paid) => decidePayment(paid, false),
    async late(of, id, source = 'shop', atMs = nowMs) {
      nowMs = atMs;
      const subject = source === 'shop' ? `payment:${id}` : `transfer:${id}`;
      await store.record({
        source,
        type: 'late',
        subject,
        verdict: 'FAILURE',
        code: 'ANSWERED_LATE',
        of,
        detail: '{}',
      });
    },
    async release(id, source = 'shop', atMs = nowMs) {
      nowMs = atMs;
      const kind = source === 'shop' ? 'payment' : 'transfer';
      const released = { source, kind, id, members: {}, message: 'it failed', by: 'ada' } as const;
      await releaseApproval(store, [{ name: source, kinds: [kind], schemes: [] }], released);
    },
    approve(withdrawn) {
      const { kind = 'transfer', atMs = NOON_MS } = withdrawn;
      const body = withdrawalBody('sign_start', withdrawn);
      return settle(parsed(kind, 'vault', body), detailOf(body), true, atMs);
    },
    async sign(withdrawn) {
      const { kind = 'transfer', atMs = NOON_MS + MINUTE_MS, txid } = withdrawn;
      nowMs = atMs;
      const body = withdrawalBody('sign_success', withdrawn, txid === '' ? {} : { txid });
      const callback = parsed(kind, 'vault', body);
      return (await store.recordNotification({ callback, txid, detail: detailOf(body) })).id;
    },
    reconcile(rows, ...argv) {
      const bill = here.write('bill.jsonl', jsonBill(rows));
      const day = argv.includes('--day') ? [] : ['--day', DAY];
      return here.run('reconcile', ...day, '--bill', bill, '--directory', directory, ...argv);
    },
  };
}

const detailOf = (body: string): string => JSON.stringify({ requestId: 'r', body });

export const paymentBody = ({ id, amount = '100', coin = 'USDT1742', user = '12345' }: Paid): string =>
  JSON.stringify({
    appKey: 'test-shop',
    userId: user,
    appOrderId: id,
    orderAmount: amount,
    payCoinSymbol: coin,
    sign: 'checked',
  });

function withdrawalBody(
  type: string,
  { id, kind, members, speedUp = false }: Withdrawn,
  more: object = {},
): string {
  const body = { type, request_id: id, pending_round: speedUp, ...members, ...more };
  return JSON.stringify(kind === 'web3' ? web3(body) : transfer(body));
}

function parsed(kind: Kind, source: string, body: string): Callback {
  const decoded = readMembers(body);
  const read = decoded.ok ? callbackKinds[kind].parse(decoded.members, source) : decoded;
  if (!read.ok) throw new Error(read.because);
  return read.callback;
}

/** Class and id of what a run found, apart from what is matched. */
export interface Report {
  readonly run: number;
  readonly ok: boolean;
  readonly open: number;
  readonly classes: Readonly<Record<string, number>>;
  readonly exceptions: readonly ReportedItem[];
  readonly settling: readonly ReportedItem[];
  readonly coins: readonly Readonly<Record<string, unknown>>[];
  readonly csv: { readonly file: string; readonly items: number; readonly sha256: string };
  readonly replaces: number;
  readonly outdated: number;
  readonly inputs: unknown;
}
export interface ReportedItem {
  readonly item: number;
  readonly class: string;
  readonly id: string;
  readonly note: string;
}

/** The report; throws what the command said in its place. */
export function reportOf(ran: Ran): Report {
  const report = ran.json() as Report;
  if (report.exceptions === undefined) throw new Error(ran.out);
  return report;
}

/** `class id` of each exception. */
export const exceptionsOf = (ran: Ran): readonly string[] =>
  reportOf(ran).exceptions.map((item) => `${item.class} ${item.id}`);

/** The files of the directory by name, with their bytes. */
export const filesIn = (directory: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(directory)
      .filter((name) => !name.startsWith('.'))
      .map((name) => [name, readFileSync(join(directory, name), 'utf8')]),
  );
