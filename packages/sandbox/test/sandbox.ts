import {
  type KeyObject,
  constants,
  createHash,
  createPrivateKey,
  createPublicKey,
  privateDecrypt,
  publicEncrypt,
  sign,
  verify,
} from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { ensureCredentials, readCredentials, settingsBlock } from '../credentials.ts';
import type { Entry } from '../log.ts';
import type { SandboxOptions } from '../running.ts';
import { startSandbox } from '../sandbox.ts';
import { steerSandbox } from './program.ts';

export const APP_KEY = 'demo-shop';
/** Noon of 15 January 2026 in Shanghai, where the clocks of these sandboxes stand. */
export const NOW_MS = Date.UTC(2026, 0, 15, 4);
export const SCHEMES = ['md5', 'rsa', 'rsa-envelope'] as const;
/** An answer to `rsa` has the form of `md5`. */
export const ANSWER_FORMS = ['md5', 'rsa-envelope'] as const;
export type AnswerForm = (typeof ANSWER_FORMS)[number];
export type TestScheme = (typeof SCHEMES)[number];

export type Params = Readonly<Record<string, string | number>>;

/** An answer of the platform: `raw` as it came, the other members read from the envelope if there is one. */
export interface Answer {
  readonly code: string;
  readonly msg: string;
  readonly data: unknown;
  /** The exact JSON of data. */
  readonly dataText: string;
  readonly raw: string;
}

export interface TestSandbox {
  readonly url: string;
  readonly controlUrl: string;
  readonly folder: string;
  readonly log: readonly Entry[];
  /** Sends a signed request, and reads its answer, whose signature must be valid. */
  call(path: string, params?: Params, scheme?: TestScheme): Promise<Answer>;
  /** Sends a body as it is. */
  post(path: string, body: string, method?: string): Promise<Record<string, unknown>>;
  /** Sends a command to the control port; resolves with its value. */
  steer(command: Readonly<Record<string, unknown>>): Promise<unknown>;
  stop(): Promise<void>;
}

const folders = new Map<string, string>();

/** A folder of credentials that all sandboxes of a process share: making keys takes long. */
export function sharedCredentials(): string {
  const known = folders.get('shared');
  if (known !== undefined) return known;
  const parent = mkdtempSync(join(tmpdir(), 'countersign-sandbox-'));
  process.once('exit', () => rmSync(parent, { recursive: true, force: true }));
  const folder = join(parent, 'credentials');
  ensureCredentials(folder);
  folders.set('shared', folder);
  return folder;
}

/** A sandbox in this process, which ends with the test. */
export async function startTestSandbox(over: Partial<SandboxOptions> = {}): Promise<TestSandbox> {
  const folder = sharedCredentials();
  const log: Entry[] = [];
  const receiver = over.receiver ?? 'http://127.0.0.1:9';
  const sandbox = await startSandbox({
    host: '127.0.0.1',
    port: 0,
    controlPort: 0,
    seed: 'tests',
    scale: 1,
    clock: () => NOW_MS,
    standsAtMs: NOW_MS,
    zone: 'Asia/Shanghai',
    segment: 'vendor',
    denied: [],
    dailyLimit: 0,
    credentials: readCredentials(folder, APP_KEY),
    receiver,
    withdrawUrl: `${receiver}/cosigner/withdraw`,
    web3Url: `${receiver}/cosigner/web3`,
    cosignerCredential: { in: 'header', name: 'authorization' },
    timeoutMs: 20_000,
    pollMs: 0,
    refusalsMax: 2,
    faults: new Map(),
    lateMs: 1,
    onEntry: (entry) => void log.push(entry),
    ...over,
  });
  onTestFinished(() => sandbox.stop());
  const client = createClient(sandbox.url, folder);
  return {
    ...client,
    url: sandbox.url,
    controlUrl: sandbox.controlUrl,
    folder,
    log,
    stop: () => sandbox.stop(),
    steer: (command) => steerSandbox(sandbox.controlUrl, command),
  };
}

/** The sources of a receiver for a sandbox with these credentials, as `countersign sandbox` prints them. */
export function receiverSources(folder: string): readonly object[] {
  return (parse(settingsBlock(folder, APP_KEY)) as { readonly sources: readonly object[] }).sources;
}

/** A merchant's client that shares no code with the project. */
export function createClient(url: string, folder: string): Pick<TestSandbox, 'call' | 'post'> {
  const keys = keysOf(folder);
  const send = async (path: string, body: string, method = 'POST'): Promise<string> => {
    const init = method === 'POST' ? { method, body } : { method };
    return (await fetch(`${url}/${path}`, init)).text();
  };
  return {
    post: async (path, body, method) => JSON.parse(await send(path, body, method)) as Record<string, unknown>,
    async call(path, params = {}, scheme = 'md5') {
      const body = signedBy(scheme, params, keys);
      const raw = await send(path, body);
      const read = JSON.parse(raw) as Record<string, string>;
      if (scheme !== 'rsa-envelope') {
        // The members of an answer without the envelope are its data (section 4.21).
        if (read['code'] === undefined) return { code: '0', msg: '', data: read, dataText: raw, raw };
        const dataText = /"data":(.*)\}$/.exec(raw)?.[1] ?? '';
        return { code: read['code'], msg: read['msg'] ?? '', data: read['data'], dataText, raw };
      }
      const dataText = openAnswer(read, keys);
      const [code = '', msg = ''] = [read['code'], read['msg']];
      return { code, msg, data: JSON.parse(dataText), dataText, raw };
    },
  };
}

export function keysOf(folder: string) {
  const text = (name: string): string => readFileSync(join(folder, name), 'utf8').trim();
  return {
    secret: text('shop.secret'),
    token: text('vault.token'),
    platformPublic: createPublicKey(text('platform.public.pem')),
    merchantPrivate: createPrivateKey(text('merchant.private.pem')),
    merchantPublic: createPublicKey(text('merchant.public.pem')),
    platformPrivate: createPrivateKey(text('platform.private.pem')),
  };
}

type Keys = ReturnType<typeof keysOf>;

const md5 = (data: string | Buffer): string => createHash('md5').update(data).digest('hex');

export function flat(params: Params, secret: string, appKey = APP_KEY): string {
  const members: Params = { appKey, ...params };
  return JSON.stringify({ ...members, sign: md5(joined(members) + secret) });
}

const joined = (members: Params): string =>
  Object.keys(members)
    .sort()
    .map((name) => `${name}${members[name]}`)
    .join('');

/** The body of a request. */
export function signedBy(scheme: TestScheme, params: Params, keys: Keys): string {
  if (scheme === 'md5') return flat(params, keys.secret);
  if (scheme === 'rsa-envelope') return envelope(params, keys);
  const members: Params = { appKey: APP_KEY, ...params };
  const signature = sign('sha256', Buffer.from(joined(members)), keys.merchantPrivate);
  return JSON.stringify({ ...members, sign: signature.toString('base64') });
}

export function envelope(params: Params, keys: Keys, over: Readonly<Record<string, unknown>> = {}): string {
  const plaintext = Buffer.from(JSON.stringify(params));
  const data = sealed(plaintext, keys.platformPublic);
  const signature = sign('sha256', Buffer.from(md5(plaintext)), keys.merchantPrivate).toString('base64url');
  return JSON.stringify({ app_id: APP_KEY, time: NOW_MS, data, sign: signature, ...over });
}

/** `data` and `sign` of an answer, as the platform makes them. */
export function sealedAnswer(data: unknown, { merchantPublic, platformPrivate }: Keys): object {
  const plaintext = Buffer.from(JSON.stringify(data));
  const signature = sign('sha256', Buffer.from(md5(plaintext)), platformPrivate);
  return { data: sealed(plaintext, merchantPublic), sign: signature.toString('base64url') };
}

function sealed(plaintext: Buffer, key: KeyObject): string {
  const blocks: Buffer[] = [];
  for (let at = 0; at < plaintext.length; at += 245) {
    const block = plaintext.subarray(at, at + 245);
    blocks.push(publicEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, block));
  }
  return Buffer.concat(blocks).toString('base64url');
}

/** The plaintext of an envelope from the platform; `null` if it has no data. Throws for a wrong signature. */
export function openAnswer(read: Readonly<Record<string, unknown>>, keys: Keys): string {
  const [data, signature] = [String(read['data']), String(read['sign'])];
  if (data === '' && signature === '') return 'null';
  const bytes = Buffer.from(data, 'base64url');
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 256) {
    const key = { key: keys.merchantPrivate, padding: constants.RSA_PKCS1_PADDING };
    parts.push(privateDecrypt(key, bytes.subarray(at, at + 256)));
  }
  const plaintext = Buffer.concat(parts);
  const signed = Buffer.from(md5(plaintext));
  if (!verify('sha256', signed, keys.platformPublic, Buffer.from(signature, 'base64url'))) {
    throw new Error("the platform's signature is wrong");
  }
  return plaintext.toString();
}

export interface Received {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A receiver that answers as it is told to. */
export async function startReceiver(
  answer: (received: Received, response: ServerResponse) => void,
): Promise<{ readonly url: string; readonly received: readonly Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const one = { path: request.url ?? '', headers: request.headers, body };
      received.push(one);
      answer(one, response);
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return { url: `http://127.0.0.1:${port}`, received };
}

/** A sandbox, and a receiver that answers all of its calls: with a text, or as it is told to. */
export async function startAnswered(
  answer: string | Parameters<typeof startReceiver>[0] = 'SUCCESS',
  over: Partial<SandboxOptions> = {},
): Promise<TestSandbox & { readonly received: readonly Received[] }> {
  const { url, received } = await startReceiver(
    typeof answer === 'string' ? (_, response) => void response.end(answer) : answer,
  );
  return { ...(await startTestSandbox({ receiver: url, ...over })), received };
}

export const FROM = '0x27b1fdb04752bbc536007a920d24acb045561c26';
/** An address of mixed case. */
export const TO = '0x52908400098527886E0F7030069857D2E4169EE7';

/** The command that begins a withdrawal. */
export const withdrawal = (over = {}) => ({
  ...asked('withdraw', '1.5'),
  memo: '',
  outputs: [],
  ...over,
});
/** The command that begins a web3 transaction. */
export const transaction = (over = {}) => ({
  ...asked('web3', '0'),
  data: '0xa9059cbb',
  contract: TO,
  ...over,
});
const asked = (command: string, amount: string) => ({
  command,
  from: FROM,
  to: TO,
  symbol: 'ETH',
  amount,
  speedUps: 0,
});

/** Polls until nothing is pending. */
export async function pollAll(sandbox: TestSandbox): Promise<void> {
  for (let polls = 0; polls < 20; polls++) {
    const { looked } = (await sandbox.steer({ command: 'poll' })) as { readonly looked: number };
    if (looked === 0) return;
  }
  throw new Error('after 20 polls, something is still pending');
}

export interface SandboxUser {
  readonly uid: number;
  readonly openId: string;
  readonly email: string;
  readonly mobileNumber: string;
  readonly code: string;
  readonly apiKey: string;
  readonly secret: string;
  readonly balances: Readonly<Record<string, string>>;
}

export async function usersOf(sandbox: TestSandbox): Promise<readonly [SandboxUser, ...SandboxUser[]]> {
  return (await sandbox.steer({ command: 'users' })) as readonly [SandboxUser, ...SandboxUser[]];
}

export async function balanceOf(sandbox: TestSandbox, uid: number, coin: string): Promise<string> {
  const user = (await usersOf(sandbox)).find((each) => each.uid === uid);
  return user?.balances[coin] ?? '';
}
