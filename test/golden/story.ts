import { createHash } from 'node:crypto';
import type { RawRequest } from './world.ts';

/*
 * A morning of the service in world/: what operators call, and what the platform and the co-signer send.
 */

export const PARTNER = '0x52908400098527886E0F7030069857D2E4169EE7';
const TOKEN = 'published-demo-token-for-trying-out-only';
const SECRET = 'published-demo-secret-for-trying-out-only';
const PAYMENT_PATH = '/nofity/transferToMerchantAuthCheck';

/** Before any callback: URL stands for the address of the service. */
export const PREPARED: readonly string[] = [
  'policy show',
  'list add blocked-users 666 --source shop --by ann',
  `list add partners ${PARTNER} --source vault --by ann`,
  'list remove blocked-users 667 --source shop --by ann',
  'list show',
  'list show partners --source vault',
  'prices set USDT1742=1.0001 BTC=97000 --by ann',
  'prices show',
  'orders expect payment A-1 --source shop --amount 100 --symbol USDT1742 --user 12345 --scheme md5 --by ann',
  'orders expect payment B-1 --source stall --amount 7 --symbol USDT1742 --user 12345 --by ann',
  'orders expect payment B-2 --source stall --amount 8 --symbol USDT1742 --user 12345 --by ann',
  'orders show payment B-1 --source stall',
  'orders cancel payment B-2 --source stall --by ann',
];

export const SENT: readonly string[] = [
  'send payment --to URL --order A-1',
  'send payment --to URL --order A-1',
  'send payment --to URL --order A-1 --amount 101',
  'send payment --to URL --order A-1 --scheme rsa',
  'send payment --to URL --order A-2 --amount 20000',
  'send payment --to URL --order A-3 --scheme rsa --amount 900',
  'send payment --to URL --order A-4 --amount 900',
  'send payment --to URL --order A-5 --user 666',
  'send payment --to URL --order A-6 --symbol DOGE',
  'send payment --to URL --source stall --order B-1 --amount 7',
  'send payment --to URL --source stall --order B-2 --amount 8',
];

export const AFTERWARDS: readonly string[] = [
  'freeze golden\u00a0reason --by ann',
  'send payment --to URL --order A-7',
  'unfreeze --all --by bob',
  'clock show',
  'orders show payment A-1 --source shop',
  'policy history',
  'policy diff candidate',
  'policy test policies',
  'policy validate policies',
  'policy push candidate --message golden\u00a0message --by ann',
  'policy history',
  'policy backtest policies',
  'decisions search --source stall',
  'decisions search --verdict FAILURE --source shop',
  'decisions search --source shop --subject payment:A-1',
  'doctor',
  'health',
];

/** What people read: these calls are made without --json. */
export const READ: readonly string[] = [
  'policy show',
  'policy history',
  'policy validate policies',
  'policy diff policies',
  'policy backtest policies --show 2',
  'list show',
  'list show partners',
  'prices history',
  'orders show payment A-1 --source shop',
  'orders show payment B-2 --source stall',
  'decisions search --source stall',
  'decisions search --order none',
  'simulate payment userId=1 amount=100 symbol=USDT1742 --source shop',
  'lockout list',
  'clock show',
];

/** Calls that end with an error. */
export const WRONG: readonly string[] = [
  'nonsense',
  'policy validate nowhere',
  'policy show 0000000000000000000000000000000000000000000000000000000000000000',
  'policy rollback 0000000000000000000000000000000000000000000000000000000000000000 --message golden\u00a0message',
  'decisions show shop/999999',
  'decisions show 1',
  'decisions search --verdict MAYBE',
  'orders show payment Z-1 --source shop',
  'orders expect payment Z-2 --source shop --amount ten --symbol USDT1742 --user 1 --scheme md5',
  'prices set BTC=-1',
  'list show nothing --source shop',
  'unfreeze f99',
  'journal verify nowhere',
  'journal archive --to nowhere --older-than 1h',
  'send payment --to http://127.0.0.1:9/',
  'replay nowhere --to http://127.0.0.1:9/',
];

export const withdrawal = (members: object = {}): string =>
  JSON.stringify({
    type: 'sign_start',
    transfer_id: 1,
    request_id: 'w-1',
    pending_round: false,
    from: '0x27b1fdb04752bbc536007a920d24acb045561c26',
    to: PARTNER,
    memo: '',
    amount: '1.5',
    symbol: 'ETH',
    ...members,
  });

const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
export const web3 = (members: object = {}): string =>
  JSON.stringify({
    type: 'sign_start',
    trans_id: 1,
    request_id: 'c-1',
    pending_round: false,
    from: '0x27b1fdb04752bbc536007a920d24acb045561c26',
    to: USDT,
    amount: 0,
    main_chain_symbol: 'ETH',
    input_data: `0xa9059cbb${PARTNER.slice(2).toLowerCase().padStart(64, '0')}${(5_000_000).toString(16).padStart(64, '0')}`,
    interactive_contract: USDT,
    ...members,
  });

function payment(members: Readonly<Record<string, string>>): string {
  const all: Readonly<Record<string, string>> = {
    appKey: 'demo-shop',
    appOrderId: 'P-1',
    orderAmount: '1',
    payCoinSymbol: 'USDT1742',
    userId: '4711',
    ...members,
  };
  const text = Object.keys(all)
    .toSorted()
    .map((name) => `${name}${all[name]}`)
    .join('');
  return JSON.stringify({ ...all, sign: createHash('md5').update(`${text}${SECRET}`).digest('hex') });
}

export const pay = (
  members: Readonly<Record<string, string>>,
  more: Partial<RawRequest> = {},
): RawRequest => ({
  path: PAYMENT_PATH,
  body: payment(members),
  ...more,
});
export const cosign = (path: string, body: string, token = TOKEN): RawRequest => ({
  path,
  body,
  headers: { Authorization: token },
});

/** What is sent to the public port, by what it is. The answers are held byte by byte. */
export const REQUESTS: Readonly<Record<string, RawRequest>> = {
  'a payment that is approved': pay({}),
  'its repeat': pay({}),
  'a payment that is refused': pay({ appOrderId: 'P-2', orderAmount: '1000.01' }),
  'a payment, answered as JSON': pay({
    appKey: 'demo-stall',
    appOrderId: 'B-1',
    orderAmount: '7',
    userId: '12345',
  }),
  'a payment that is refused, answered as JSON': pay({ appKey: 'demo-stall', appOrderId: 'B-9' }),
  'an appKey that nobody has': pay({ appKey: 'demo-nobody' }),
  'a signature that does not verify': {
    path: PAYMENT_PATH,
    body: payment({ appOrderId: 'P-3' }).replace('P-3', 'P-4'),
  },
  'no body': { path: PAYMENT_PATH, body: '' },
  'no JSON': { path: PAYMENT_PATH, body: '{' },
  'a member twice': { path: PAYMENT_PATH, body: '{"appKey":"demo-shop","appKey":"demo-shop"}' },
  'another Content-Type': pay({ appOrderId: 'P-5' }, { headers: { 'Content-Type': 'text/plain' } }),
  'a body that is too large': { path: PAYMENT_PATH, body: 'x'.repeat(65_537) },
  'another method': { method: 'GET', path: PAYMENT_PATH },
  'another path': { path: '/' },
  'a withdrawal that is approved': cosign('/cosigner/withdraw', withdrawal()),
  'its speed-up': cosign('/cosigner/withdraw', withdrawal({ pending_round: true })),
  'the same id with another amount': cosign('/cosigner/withdraw', withdrawal({ amount: '1.6' })),
  'a withdrawal to several': cosign(
    '/cosigner/withdraw',
    withdrawal({
      request_id: 'w-2',
      outputs: JSON.stringify([{ address_to: PARTNER, amount: '1.5' }]),
    }),
  ),
  'a withdrawal to a stranger': cosign(
    '/cosigner/withdraw',
    withdrawal({ request_id: 'w-3', to: '0x8617E340B3D01FA5F11F306F4090FD50E238070D' }),
  ),
  'a withdrawal without the token': { path: '/cosigner/withdraw', body: withdrawal({ request_id: 'w-4' }) },
  'a notification of success': cosign(
    '/cosigner/withdraw',
    withdrawal({ type: 'sign_success', txid: `0x${'ab'.repeat(32)}` }),
  ),
  'the self-check': cosign(
    '/cosigner/withdraw',
    JSON.stringify({
      type: 'verify_public_hash',
      app_id: 'a',
      client_system_pubkey_hash: 'b',
      verify_sign_pub_hash: 'c',
    }),
  ),
  'a web3 call that is approved': cosign('/cosigner/web3', web3()),
  'a web3 call that is refused': cosign(
    '/cosigner/web3',
    web3({ request_id: 'c-2', input_data: '0x00000000' }),
  ),
};

const bearer = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
const order = JSON.stringify({
  source: 'stall',
  kind: 'payment',
  id: 'B-3',
  members: { amount: '9', symbol: 'USDT1742', userId: '1', scheme: 'md5' },
});

/** What the ops port is asked. */
export const OPS_REQUESTS: Readonly<Record<string, RawRequest>> = {
  healthz: { method: 'GET', path: '/healthz' },
  'another path': { method: 'GET', path: '/' },
  'another host': { method: 'GET', path: '/healthz', headers: { Host: 'elsewhere.example' } },
  'the API without a token': { method: 'GET', path: '/api/prices' },
  'the API with another token': {
    method: 'GET',
    path: '/api/prices',
    headers: { Authorization: 'Bearer another' },
  },
  'its prices': { method: 'GET', path: '/api/prices', headers: bearer },
  'an order': { path: '/api/orders', headers: bearer, body: order },
  'the order again': { path: '/api/orders', headers: bearer, body: order },
  'its state': { method: 'GET', path: '/api/orders/stall/payment/B-3', headers: bearer },
  'its end': { method: 'DELETE', path: '/api/orders/stall/payment/B-3', headers: bearer },
  'an order that nobody announced': { method: 'GET', path: '/api/orders/stall/payment/Z-1', headers: bearer },
  'an order that is none': { path: '/api/orders', headers: bearer, body: '{}' },
};
