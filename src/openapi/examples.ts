import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Kind } from '../callback/callback.ts';
import { SELF_CHECK_TYPE } from '../callback/kinds.ts';
import { type Operation, checkParameters, exampleData } from '../../packages/platform/specification.ts';
import { flatSign, seal } from '../../packages/sandbox/index.ts';

/** A request of an operation and its answer, as one scheme protects them with the demo credentials. */
export interface Exchange {
  readonly request: unknown;
  readonly answer: unknown;
}

/** The appKey of the demo settings. */
const APP_KEY = 'demo-shop';
/** An hour after the time in the example of 4.4. */
const NOW_MS = Date.UTC(2026, 2, 2, 11);

/** The sandbox's code protects the examples, because it encrypts the same text in the same way each time. */
export function exchangesOf(operation: Operation): Readonly<Record<'md5' | 'rsa-envelope', Exchange>> {
  const parameters = parametersOf(operation);
  const isEncrypted = operation.body === 'encrypted';
  const inner = isEncrypted ? { appKey: APP_KEY, ...parameters } : parameters;
  const sealed = sealedFor('platform', JSON.stringify(inner));
  const flat = { appKey: APP_KEY, ...(isEncrypted ? { data: sealed.data } : parameters) };

  const data = exampleData[operation.command] ?? 'null';
  const ok = { code: '0', msg: 'suc' };
  return {
    md5: {
      request: { ...flat, sign: flatSign(flat, demo('shop.secret')) },
      answer: operation.answer === 'bare' ? valueOf(data) : { ...ok, data: valueOf(data) },
    },
    'rsa-envelope': {
      request: { app_id: APP_KEY, time: NOW_MS, ...sealed },
      answer: {
        ...ok,
        ...(data === 'null' ? { data: '', sign: '' } : sealedFor('merchant', data)),
      },
    },
  };
}

/** The examples of a kind of callback, by name. */
export function callbackExamples(kind: Kind): Readonly<Record<string, unknown>> {
  if (kind === 'payment') return paymentExamples();
  if (kind === 'web3') return { web3: WEB3 };
  const hashes = { client_system_pubkey_hash: HASH, verify_sign_pub_hash: HASH };
  return {
    withdrawal: WITHDRAWAL,
    'self-check': { type: SELF_CHECK_TYPE, app_id: APP_KEY, ...hashes },
  };
}

function paymentExamples(): Readonly<Record<string, unknown>> {
  const payment = {
    appOrderId: '11321',
    orderAmount: '100',
    payCoinSymbol: 'USDT1742',
    userId: '12345',
  };
  const members = { appKey: APP_KEY, ...payment };
  return {
    md5: { ...members, sign: flatSign(members, demo('shop.secret')) },
    rsa: { ...members, sign: flatSign(members, createPrivateKey(demo('platform.private.pem'))) },
    'rsa-envelope': {
      app_id: APP_KEY,
      time: NOW_MS,
      ...sealedFor('merchant', JSON.stringify(payment)),
    },
  };
}

const FROM = '0x27b1fdb04752bbc536007a920d24acb045561c26';
const TO = '0x52908400098527886e0f7030069857d2e4169ee7';
const HASH = '6a2c4b5de1cb4b3d9aef0f5fbd0f4c1e7a91b2c3d4e5f60718293a4b5c6d7e8f';
const WITHDRAWAL = {
  type: 'sign_start',
  transfer_id: 4711,
  request_id: 'w-4711',
  pending_round: false,
  from: FROM,
  to: TO,
  memo: '',
  amount: '1.5',
  symbol: 'ETH',
};
const WEB3 = {
  type: 'sign_start',
  trans_id: 4712,
  request_id: 'c-4712',
  pending_round: false,
  from: FROM,
  to: TO,
  amount: '0',
  main_chain_symbol: 'ETH',
  input_data: '0xa9059cbb',
  interactive_contract: TO,
};

function parametersOf(operation: Operation): Readonly<Record<string, string | number>> {
  const checked = checkParameters(operation, operation.example, NOW_MS);
  return Object.fromEntries(
    Array.from(checked, ([name, text]) => [
      name,
      operation.numbers?.includes(name) === true ? Number(text) : text,
    ]),
  );
}

function sealedFor(receiver: 'merchant' | 'platform', plaintext: string) {
  const sender = receiver === 'merchant' ? 'platform' : 'merchant';
  const receiverKey = createPublicKey(demo(`${receiver}.public.pem`));
  const senderKey = createPrivateKey(demo(`${sender}.private.pem`));
  return seal(plaintext, { senderKey, receiverKey }, 'examples');
}

const demo = (name: string): string =>
  readFileSync(new URL(`../../config/demo/${name}`, import.meta.url), 'utf8').trim();

/** The JSON value. A number whose digits JavaScript would change is a string, as answers may have it. */
function valueOf(json: string): unknown {
  const exact = (_: string, value: unknown, { source = '' }: { readonly source?: string } = {}): unknown =>
    typeof value === 'number' && String(value) !== source ? source : value;
  return JSON.parse(json, exact);
}
