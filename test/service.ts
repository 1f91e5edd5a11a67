import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { stringify } from 'yaml';
import { type Service, startService } from '../src/start/service.ts';
import { openStore } from '../src/start/store.ts';
import { createLog } from '../src/observe/log.ts';
import { loadSettings } from '../src/settings/load.ts';
import { createSecrets } from '../src/settings/secrets.ts';
import { compileSigner } from '../src/signature/schemes.ts';
import type { Store } from '../src/store/store.ts';
import { type Clock, systemClock } from '../src/values/clock.ts';
import type { Member } from '../src/values/members.ts';

/** Keys and secrets of the test's own, made once a process. */
const platform = generateKeyPairSync('rsa', { modulusLength: 2048 });
const merchant = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = {
  platformPrivate: platform.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  platformPublic: platform.publicKey.export({ type: 'spki', format: 'pem' }),
  merchantPrivate: merchant.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  merchantPublic: merchant.publicKey.export({ type: 'spki', format: 'pem' }),
};
export const SHOP_SECRET = 'shop-secret-of-the-tests';
export const VAULT_TOKEN = 'vault-token-of-the-tests';
export const PAYMENT_PATH = '/nofity/transferToMerchantAuthCheck';
export const TO = '0x52908400098527886e0f7030069857d2e4169ee7';

/** Amounts up to 1000 and 10000 a user and day; withdrawals to one address; web3 to one contract. */
export const POLICIES = {
  'payments.yaml': `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - amount-limit: { max: 1000 }
  - window-limit: { per: [userId], window: 24h, max: 10000 }
`,
  'transfers.yaml': `policy: transfers
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - amount-limit: { max: 10 }
  - allow-list: { of: to, values: ['${TO}'] }
`,
  'web3.yaml': `policy: web3
callback: web3
when: { source: vault, main_chain_symbol: ETH }
rules:
  - amount-limit: { max: 0 }
  - allow-list: { of: interactive_contract, values: ['${TO}'] }
`,
} as const satisfies Readonly<Record<string, string>>;

export interface TestServiceOptions {
  /** `redis://…`; without it, an embedded store of the test's own. */
  readonly redis?: string;
  /** The folder of an earlier service, to serve on what that left. */
  readonly folder?: string;
  readonly policies?: Readonly<Record<string, string>>;
  /** Settings over those below, top level by top level. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** The group of both sources. */
  readonly group?: string;
  readonly clock?: Clock;
  /** How far that clock is believed; anywhere without it. */
  readonly clockBounds?: Readonly<Record<string, string>>;
  /** Where secrets named by `{ env: … }` are found. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly status: number;
  readonly contentType: string | null;
  readonly body: string;
}

export interface TestService {
  readonly url: string;
  readonly ops: string;
  /** Holds settings.yaml, policies/, keys and, unless on Redis, the store. */
  readonly folder: string;
  /** What its console shows of it. */
  readonly state: Service['state'];
  /** A handle of its own on the same store, as the command line would have. */
  readonly store: Store;
  readonly log: readonly Readonly<Record<string, unknown>>[];
  post(
    path: string,
    body: string | Uint8Array,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answered>;
  /** `SUCCESS` or `FAILURE`, for a flat payment that is rightly signed. */
  pay(payment: Partial<Payment>, scheme?: 'md5' | 'rsa' | 'rsa-envelope'): Promise<string>;
  /** A co-signer's callback with the right token. */
  cosign(path: '/cosigner/withdraw' | '/cosigner/web3', body: object): Promise<string>;
  stop(options?: { readonly keep?: boolean }): Promise<void>;
}

export interface Payment {
  readonly appOrderId: string;
  readonly orderAmount: string;
  readonly payCoinSymbol: string;
  readonly userId: string;
}

export const transfer = (members: object = {}): object => ({
  type: 'sign_start',
  transfer_id: 1,
  request_id: 'w-1',
  pending_round: false,
  from: '0x27b1fdb04752bbc536007a920d24acb045561c26',
  to: TO,
  memo: '',
  amount: '1.5',
  symbol: 'ETH',
  ...members,
});

export const web3 = (members: object = {}): object => ({
  type: 'sign_start',
  trans_id: 1,
  request_id: 'c-1',
  pending_round: false,
  from: '0x27b1fdb04752bbc536007a920d24acb045561c26',
  to: TO,
  amount: 0,
  main_chain_symbol: 'ETH',
  input_data: '0xa9059cbb',
  interactive_contract: TO,
  ...members,
});

const ANY_STEP_MS = '34560000000';

/**
 * Writes a folder from which `countersign serve --config FOLDER/settings.yaml` can be run. Ports are any that
 * are free.
 */
export function writeServiceFolder(options: TestServiceOptions = {}): string {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'countersign-service-'));
  mkdirSync(join(folder, 'policies'), { recursive: true });
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  };
  for (const [name, text] of Object.entries(options.policies ?? POLICIES))
    write(join('policies', name), text);
  write('shop.secret', SHOP_SECRET);
  write('vault.token', VAULT_TOKEN);
  write('platform.pem', pem.platformPublic);
  write('merchant.pem', pem.merchantPrivate);
  const file = (name: string): { file: string } => ({ file: join(folder, name) });
  const inGroup = options.group === undefined ? {} : { group: options.group };
  const settings = {
    public: { port: '0' },
    ops: { port: '0' },
    // Patient, so that a busy machine refuses nothing. Tests of what takes too long give times of their own.
    answerTimeoutMs: '10000',
    store: {
      url: options.redis ?? `embedded:${join(folder, 'store.db')}`,
      ...(options.redis !== undefined && { commandTimeoutMs: '10000' }),
      // A clock of the test's own goes where it is set.
      ...(options.clock && {
        clock: options.clockBounds ?? { maxStepMs: ANY_STEP_MS, maxGapMs: ANY_STEP_MS },
      }),
    },
    policies: { directory: join(folder, 'policies') },
    sources: [
      {
        name: 'shop',
        ...inGroup,
        callback: 'payment',
        appKey: 'test-shop',
        signatures: [
          { scheme: 'md5', secret: file('shop.secret') },
          { scheme: 'rsa', platformKey: file('platform.pem') },
          { scheme: 'rsa-envelope', platformKey: file('platform.pem'), merchantKey: file('merchant.pem') },
        ],
      },
      {
        name: 'vault',
        ...inGroup,
        callback: 'cosigner',
        paths: { withdraw: '/cosigner/withdraw', web3: '/cosigner/web3' },
        authenticate: [{ header: { name: 'authorization', secret: file('vault.token') } }],
      },
    ],
    ...options.settings,
  };
  write('settings.yaml', stringify(settings));
  return folder;
}

const signers = {
  md5: compileSigner({ scheme: 'md5', secret: SHOP_SECRET, emptyValues: 'keep' }),
  rsa: compileSigner({
    scheme: 'rsa',
    senderKey: pem.platformPrivate,
    digest: 'sha256',
    signs: 'string',
    emptyValues: 'keep',
  }),
  'rsa-envelope': compileSigner({
    scheme: 'rsa-envelope',
    senderKey: pem.platformPrivate,
    receiverKey: pem.merchantPublic,
  }),
};

/**
 * The body of a payment confirmation as the platform would send it, or as somebody with another `md5` secret
 * would.
 */
export function signedPayment(
  payment: Partial<Payment>,
  by: keyof typeof signers | { readonly secret: string } = 'md5',
): string {
  const signer =
    typeof by === 'string' ? signers[by] : compileSigner({ scheme: 'md5', ...by, emptyValues: 'keep' });
  const members = {
    appKey: 'test-shop',
    appOrderId: 'o-1',
    orderAmount: '100',
    payCoinSymbol: 'USDT1742',
    userId: '12345',
    ...payment,
  };
  const texts = Object.entries(members).map(([name, text]): [string, Member] => [
    name,
    { kind: 'string', text },
  ]);
  return signer.sign(new Map(texts), 1_790_000_000_000);
}

/**
 * Adds the `md5` sign to members of any kind: the values' JSON texts count as the platform would count them.
 */
export function md5Sign(members: Readonly<Record<string, string>>): string {
  const names = Object.keys(members).sort();
  const text = names.map((name) => name + members[name]).join('');
  return createHash('md5')
    .update(text + SHOP_SECRET)
    .digest('hex');
}

/** A whole service in this process: real store, real keys, real ports. */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const folder = writeServiceFolder(options);
  const settingsFile = join(folder, 'settings.yaml');
  const settings = loadSettings({ file: settingsFile, env: {} });
  const { clock = systemClock, env = {} } = options;
  const log: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().trim().split('\n'))
        log.push(JSON.parse(line) as Record<string, unknown>);
      done();
    },
  });
  const written = createLog({ level: 'info', stream });
  const service = await startService({
    settings,
    settingsFile,
    env,
    clock,
    log: written,
  });
  const store = await openStore(settings.store, createSecrets({ env }).read, clock);

  const post: TestService['post'] = async (path, body, headers = {}) => {
    const request = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
    const response = await fetch(`${service.publicUrl}${path}`, request);
    return {
      status: response.status,
      contentType: response.headers.get('content-type'),
      body: await response.text(),
    };
  };
  return {
    url: service.publicUrl,
    ops: service.opsUrl,
    state: service.state,
    folder,
    store,
    log,
    post,
    pay: async (payment, scheme) => (await post(PAYMENT_PATH, signedPayment(payment, scheme))).body,
    cosign: async (path, body) =>
      (await post(path, JSON.stringify(body), { authorization: VAULT_TOKEN })).body,
    async stop({ keep = false } = {}) {
      await store.close();
      await service.stop();
      if (!keep) rmSync(folder, { recursive: true, force: true });
    },
  };
}
