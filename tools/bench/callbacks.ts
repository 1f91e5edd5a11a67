import { generateKeyPairSync } from 'node:crypto';
import { compileSigner } from '../../src/signature/schemes.ts';
import type { Signer } from '../../src/signature/scheme.ts';
import type { Member } from '../../src/values/members.ts';
import { APP_KEY, RECIPIENT, SECRET, TOKEN, TOKEN_CONTRACT } from './policies.ts';

/** A callback as it is posted. */
export interface Posted {
  readonly path: string;
  readonly headers: string;
  readonly body: string;
}

/** What is sent in a row of the table. Each makes callback number `index`, about a subject of its own. */
export type Sending =
  | 'rsa'
  | 'md5'
  | 'rsa-envelope'
  | 'withdrawal'
  | 'web3'
  /** Twenty subjects, again and again. */
  | 'repeats'
  /** Above the limit on an amount. */
  | 'refusals'
  /** A signature of the right length, over another text. */
  | 'bad signatures'
  /** One byte more than is read. */
  | 'oversized';

export interface Sender {
  readonly platformKey: string;
  /** Of the merchant, who opens envelopes. */
  readonly merchantKey: string;
  readonly make: (sending: Sending, index: number) => Posted;
}

const BODY_BYTES = 65_536;
const REPEATED = 20;

const PAYMENT_PATH = '/nofity/transferToMerchantAuthCheck';
const JSON_TYPE = 'Content-Type: application/json\r\n';

const OVERSIZED: Posted = { path: PAYMENT_PATH, headers: JSON_TYPE, body: 'x'.repeat(BODY_BYTES + 1) };

/** Signs with keys of its own, made now. */
export function createSender(): Sender {
  const [platform, merchant] = [rsaPair(), rsaPair()];
  const emptyValues = 'keep';
  const flat = { scheme: 'rsa', digest: 'sha256', signs: 'string', emptyValues } as const;
  const rsa = compileSigner({ ...flat, senderKey: platform.privateKey });
  const md5 = compileSigner({ scheme: 'md5', secret: SECRET, emptyValues });
  const envelope = compileSigner({
    scheme: 'rsa-envelope',
    senderKey: platform.privateKey,
    receiverKey: merchant.publicKey,
  });
  const payment = (signer: Signer, id: string, index: number, amount = amountOf(index)): Posted => ({
    path: PAYMENT_PATH,
    headers: JSON_TYPE,
    body: signer.sign(paymentMembers(id, index, amount), 1_700_000_000_000 + index),
  });
  const makers: Readonly<Record<Sending, (index: number) => Posted>> = {
    rsa: (index) => payment(rsa, `order-${index}`, index),
    md5: (index) => payment(md5, `order-${index}`, index),
    'rsa-envelope': (index) => payment(envelope, `order-${index}`, index),
    withdrawal,
    web3,
    repeats: (index) => payment(rsa, `order-${index % REPEATED}`, index % REPEATED),
    refusals: (index) => payment(rsa, `order-${index}`, index, '10000.01'),
    'bad signatures': (index) => badlySigned(payment(rsa, `order-${index}`, index)),
    oversized: () => OVERSIZED,
  };
  return {
    platformKey: platform.publicKey,
    merchantKey: merchant.privateKey,
    make: (sending, index) => makers[sending](index),
  };
}

function rsaPair(): { readonly publicKey: string; readonly privateKey: string } {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

const amountOf = (index: number): string => `${1 + (index % 97)}.${String(index % 100).padStart(2, '0')}`;

function paymentMembers(id: string, index: number, amount: string): Map<string, Member> {
  const texts = {
    appKey: APP_KEY,
    appOrderId: id,
    orderAmount: amount,
    payCoinSymbol: 'USDT1742',
    userId: `${10_000 + (index % 1000)}`,
  };
  return new Map(Object.entries(texts).map(([name, text]) => [name, { kind: 'string', text }]));
}

/** The amount is another than the one that was signed. */
function badlySigned(posted: Posted): Posted {
  return { ...posted, body: posted.body.replace(/"orderAmount":"/, '"orderAmount":"1') };
}

const COSIGNER_HEADERS = `${JSON_TYPE}Authorization: ${TOKEN}\r\n`;
const FROM = '0xde709f2102306220921060314715629080e2fb77';

function withdrawal(index: number): Posted {
  const members = {
    request_id: `withdrawal-${index}`,
    transfer_id: index + 1,
    from: FROM,
    to: RECIPIENT,
    amount: amountOf(index),
    symbol: 'ETH',
    type: 'sign_start',
  };
  return { path: '/cosigner/withdraw', headers: COSIGNER_HEADERS, body: JSON.stringify(members) };
}

/** `transfer(address,uint256)` of a token, decoded by the policy. */
function web3(index: number): Posted {
  const word = (hex: string): string => hex.padStart(64, '0');
  const units = BigInt(1 + (index % 97)) * 1_000_000n;
  const members = {
    request_id: `web3-${index}`,
    trans_id: index + 1,
    from: FROM,
    to: TOKEN_CONTRACT,
    main_chain_symbol: 'ETH',
    amount: '0',
    interactive_contract: TOKEN_CONTRACT,
    input_data: `0xa9059cbb${word(RECIPIENT.slice(2).toLowerCase())}${word(units.toString(16))}`,
    type: 'sign_start',
  };
  return { path: '/cosigner/web3', headers: COSIGNER_HEADERS, body: JSON.stringify(members) };
}
