import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { exampleData } from '../platform/examples.ts';
import { type Operation, checkParameters } from '../platform/operation.ts';
import { type Scalar, bodyText } from '../sandbox/json.ts';
import { randomOf } from '../sandbox/random.ts';
import { encrypt, md5Sign, rsaSign } from '../sandbox/signing.ts';
import { part } from './schemas.ts';

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
  const appKey: readonly [string, Scalar] = ['appKey', { kind: 'string', text: APP_KEY }];
  const parameters = parametersOf(operation);
  const isEncrypted = operation.body === 'encrypted';
  const sealed = seal(bodyText(new Map(isEncrypted ? [appKey, ...parameters] : parameters)), {
    sender: 'merchant',
    receiver: 'platform',
  });
  const flat = new Map([
    appKey,
    ...(isEncrypted ? [['data', { kind: 'string', text: sealed.data }] as const] : parameters),
  ]);
  const sign = md5Sign(flat, demo('shop.secret'));

  const data = exampleData[operation.command] ?? 'null';
  const ok = { code: '0', msg: 'suc' };
  return {
    md5: {
      request: { ...part.parse(valueOf(bodyText(flat))), sign },
      answer: operation.answer === 'bare' ? valueOf(data) : { ...ok, data: valueOf(data) },
    },
    'rsa-envelope': {
      request: { app_id: APP_KEY, time: NOW_MS, ...sealed },
      answer: {
        ...ok,
        ...(data === 'null'
          ? { data: '', sign: '' }
          : seal(data, { sender: 'platform', receiver: 'merchant' })),
      },
    },
  };
}

function parametersOf(operation: Operation): readonly (readonly [string, Scalar])[] {
  const checked = checkParameters(operation, operation.example, NOW_MS);
  return Array.from(checked, ([name, text]) => {
    const kind = operation.numbers?.includes(name) === true ? 'number' : 'string';
    return [name, { kind, text }] as const;
  });
}

function seal(
  plaintext: string,
  { sender, receiver }: Readonly<Record<'sender' | 'receiver', 'merchant' | 'platform'>>,
): { readonly data: string; readonly sign: string } {
  const receiverKey = createPublicKey(demo(`${receiver}.public.pem`));
  const senderKey = createPrivateKey(demo(`${sender}.private.pem`));
  return {
    data: encrypt(plaintext, receiverKey, randomOf('examples', plaintext)),
    sign: rsaSign(plaintext, senderKey),
  };
}

const demo = (name: string): string =>
  readFileSync(new URL(`../../config/demo/${name}`, import.meta.url), 'utf8').trim();

/** The JSON value. A number whose digits JavaScript would change is a string, as answers may have it. */
function valueOf(json: string): unknown {
  const exact = (_: string, value: unknown, { source = '' }: { readonly source?: string } = {}): unknown =>
    typeof value === 'number' && String(value) !== source ? source : value;
  return JSON.parse(json, exact);
}
