import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { readPrivateKey, readPublicKey } from '../../src/signature/keys.ts';
import { openEnvelope } from '../../src/signature/rsa-envelope.ts';
import { readMembers } from '../../src/values/members.ts';
import { ROOT, textOf } from '../deploy/documents.ts';
import { PAYMENT_PATH, type TestService, startTestService } from '../service.ts';

/** The test vectors of docs/callbacks.md. */
export const vectors = z
  .strictObject({
    note: z.string(),
    path: z.literal(PAYMENT_PATH),
    appKey: z.string(),
    keys: z.strictObject({
      secret: z.string(),
      platformPrivateKey: z.string(),
      platformPublicKey: z.string(),
      merchantPrivateKey: z.string(),
      merchantPublicKey: z.string(),
    }),
    flat: z
      .array(
        z.strictObject({
          name: z.string(),
          why: z.string(),
          canonical: z.string(),
          md5: z.string().regex(/^[0-9a-f]{32}$/),
          rsa: z.string(),
          body: z.strictObject({ md5: z.string(), rsa: z.string() }),
        }),
      )
      .min(5),
    envelopes: z
      .array(
        z.strictObject({
          name: z.string(),
          why: z.string(),
          plaintext: z.string(),
          md5Hex: z.string(),
          data: z.string(),
          sign: z.string(),
          body: z.string(),
        }),
      )
      .min(5),
    refused: z.array(z.strictObject({ name: z.string(), code: z.string(), body: z.string() })).min(15),
  })
  .parse(JSON.parse(textOf('docs/callbacks.vectors.json')));

/**
 * A service with the sources of config/countersign.yaml, whose keys are those of the vectors and of the
 * examples.
 */
export function startDemoService(): Promise<TestService> {
  const file = (name: string): { file: string } => ({ file: join(ROOT, 'config/demo', name) });
  return startTestService({
    policies: {
      'all.yaml': `policy: payments
callback: payment
rules:
  - amount-limit: { max: 1000000 }
---
policy: withdrawals
callback: transfer
rules:
  - amount-limit: { max: 1000000 }
---
policy: calls
callback: web3
rules:
  - amount-limit: { max: 1000000 }
`,
    },
    settings: {
      answerTimeoutMs: 10_000,
      sources: [
        {
          name: 'shop',
          callback: 'payment',
          appKey: vectors.appKey,
          signatures: [
            { scheme: 'md5', secret: file('shop.secret') },
            { scheme: 'rsa', platformKey: file('platform.public.pem') },
            {
              scheme: 'rsa-envelope',
              platformKey: file('platform.public.pem'),
              merchantKey: file('merchant.private.pem'),
            },
          ],
        },
        {
          name: 'vault',
          callback: 'cosigner',
          paths: { withdraw: '/cosigner/withdraw', web3: '/cosigner/web3' },
          authenticate: [{ header: { name: 'authorization', secret: file('vault.token') } }],
        },
      ],
    },
  });
}

interface Example {
  /** Runs it from the root of a clone. */
  readonly command: readonly string[];
  readonly needs: readonly string[];
}

/** The programs of docs/callbacks that send a payment confirmation. */
export const examples = {
  sh: { command: ['sh', 'docs/callbacks/send.sh'], needs: ['curl', 'openssl'] },
  python3: { command: ['python3', 'docs/callbacks/send.py'], needs: ['python3'] },
  node: { command: ['node', 'docs/callbacks/send.mjs'], needs: [] },
  php: { command: ['php', 'docs/callbacks/send.php'], needs: ['php'] },
  go: { command: ['go', 'run', 'docs/callbacks/send.go'], needs: ['go'] },
  java: { command: ['java', 'docs/callbacks/Send.java'], needs: ['javac'] },
} as const satisfies Readonly<Record<string, Example>>;

/** The vectors that each example signs and encrypts. To start it for all vectors takes minutes. */
const SIGNED: ReadonlySet<string> = new Set(['with a time', 'numbers']);
const ENCRYPTED = 'two blocks';

/** Why a test that needs these programs can't run, for its title. Empty if it can. */
export function whyNot(programs: readonly string[]): string {
  const missing = programs.filter((program) => spawnSync(program, ['--version']).error !== undefined);
  return missing.length === 0 ? '' : ` (skipped: not on the PATH: ${missing.join(', ')})`;
}

/** Runs a command as a reader would, from the root of the clone. Resolves with what it prints. */
export async function run([program = '', ...args]: readonly string[], url = ''): Promise<string> {
  const env = { ...process.env, URL: url };
  const file = program === 'node' ? process.execPath : program;
  return (await promisify(execFile)(file, args, { cwd: ROOT, env })).stdout;
}

type Texts = Readonly<Record<string, string>>;

/** The members of a body with their texts, without `sign`. */
function textsOf(body: string): Texts {
  const read = readMembers(body);
  if (!read.ok) throw new Error(`not the members of a callback: ${body}`);
  const texts = [...read.members].filter(([name, { kind }]) => name !== 'sign' && kind !== 'null');
  return Object.fromEntries(texts.map(([name, member]) => [name, member.text]));
}

/** Answers each request alike, and keeps the body of the last one. */
async function startReceiver(
  status = 200,
  answer = 'SUCCESS',
): Promise<{ readonly url: string; readonly body: () => string }> {
  let body = '';
  const server = createServer((request, response) => {
    void text(request).then((sent) => {
      body = sent;
      return response.writeHead(status, { 'content-type': 'text/plain' }).end(answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, body: () => body };
}

function describeExample({ command, needs }: Example, service: () => TestService | undefined): void {
  const send = (url: string, scheme: string, members: Texts): Promise<string> =>
    run([...command, scheme, ...Object.entries(members).map(([name, value]) => `${name}=${value}`)], url);
  const payment = (appOrderId: string): Texts => ({
    ...textsOf(vectors.flat[0]?.body.md5 ?? ''),
    appOrderId,
  });
  const why = whyNot(needs);

  describe.skipIf(why !== '')(`${command.join(' ')}${why}`, () => {
    it.each(['md5', 'rsa'] as const)('gives vectors their signs: %s', async (scheme) => {
      const { url, body } = await startReceiver();
      for (const vector of vectors.flat.filter(({ name }) => SIGNED.has(name))) {
        const members = textsOf(vector.body[scheme]);
        const sign = scheme === 'rsa' ? Buffer.from(vector.rsa, 'base64').toString('base64url') : vector.md5;
        expect(await send(url, scheme, members)).toBe('SUCCESS 200\n');
        expect(JSON.parse(body())).toEqual({ ...members, sign });
      }
    });

    it('puts the plaintext of a vector into an envelope', async () => {
      const { url, body } = await startReceiver();
      const keys = {
        senderKey: readPublicKey(vectors.keys.platformPublicKey),
        receiverKey: readPrivateKey(vectors.keys.merchantPrivateKey),
      };
      const plaintext = vectors.envelopes.find(({ name }) => name === ENCRYPTED)?.plaintext ?? '';
      const { appKey, ...members } = { ...textsOf(plaintext), appKey: vectors.appKey };
      expect(await send(url, 'rsa-envelope', { appKey, ...members })).toBe('SUCCESS 200\n');
      const { app_id, data, sign, ...others } = JSON.parse(body()) as Record<string, string>;
      expect([app_id, others]).toEqual([appKey, {}]);
      const opened = openEnvelope({ data: data ?? '', sign: sign ?? '' }, keys);
      expect(opened.ok && JSON.parse(Buffer.from(opened.plaintext).toString())).toEqual(members);
    });

    it.each(['md5', 'rsa', 'rsa-envelope'])('is answered SUCCESS by a service: %s', async (scheme) => {
      const id = `${command[0]}-${scheme}`;
      expect(await send(service()?.url ?? '', scheme, payment(id))).toBe('SUCCESS 200\n');
      const [entry] = (await service()?.store.entries({ source: 'shop', newestFirst: true, limit: 1 })) ?? [];
      expect(entry).toMatchObject({ subject: `payment:${id}`, verdict: 'SUCCESS' });
      expect(entry?.detail).toContain(`"scheme":"${scheme}"`);
    });

    it.each([
      [200, 'FAILURE'],
      [202, 'SUCCESS'],
    ])('takes %i %j for a refusal', async (status, answer) => {
      const { url, body } = await startReceiver(status, answer);
      await expect(send(url, 'md5', payment('refused'))).rejects.toMatchObject({ code: 1 });
      expect(body()).toContain('"refused"');
    });
  });
}

/** What each example promises. The service has the sources of the demo. */
export function describeExamples(
  names: readonly (keyof typeof examples)[],
  service: () => TestService | undefined,
): void {
  for (const name of names) describeExample(examples[name], service);
}
