import { execFile, spawnSync } from 'node:child_process';
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { callbackKinds } from '../../src/callback/kinds.ts';
import { PAYMENT_MEMBERS, PAYMENT_OPTIONAL } from '../../src/callback/payment.ts';
import { ADDRESS, IDENTIFIER, MEMO, SYMBOL, NUMERIC_ID } from '../../src/callback/member-readers.ts';
import { canonicalString } from '../../src/signature/canonical.ts';
import { openEnvelope } from '../../src/signature/rsa-envelope.ts';
import { readPrivateKey, readPublicKey } from '../../src/signature/keys.ts';
import { compileSigner } from '../../src/signature/schemes.ts';
import { readMembers } from '../../src/values/members.ts';
import { ROOT, textOf } from '../deploy/documents.ts';
import { PAYMENT_PATH, type TestService, startTestService, transfer, web3 } from '../service.ts';

const vectors = z
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

const demo = (name: string): string => readFileSync(join(ROOT, 'config/demo', name), 'utf8');
const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

/**
 * A service with the sources of config/countersign.yaml, whose keys are those of the vectors and of the
 * examples.
 */
function startDemoService(): Promise<TestService> {
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

/** One for each scheme: an order is that of the scheme by which it came first. */
const services = new Map<string, TestService>();
beforeAll(async () => {
  for (const scheme of ['md5', 'rsa']) services.set(scheme, await startDemoService());
});
afterAll(() => Promise.all([...services.values()].map((service) => service.stop())));

/** The answer, and the code in the line of the log that says why. */
async function answered(
  body: string,
  scheme: 'md5' | 'rsa' = 'md5',
): Promise<{ readonly answer: string; readonly code: unknown }> {
  const service = services.get(scheme);
  if (service === undefined) throw new Error(`there is no service for ${scheme}`);
  const before = service.log.length;
  const { status, contentType, body: answer } = await service.post(PAYMENT_PATH, body);
  expect([status, contentType]).toEqual([200, 'text/plain']);
  return { answer, code: service.log.slice(before).findLast(({ event }) => event === 'callback')?.['code'] };
}

describe('the vectors of docs/callbacks.md', () => {
  const { keys } = vectors;

  it('have the published keys of config/demo', () => {
    expect(keys.secret).toBe(demo('shop.secret').trim());
    const line = (pem: string, kind: 'private' | 'public'): string =>
      (kind === 'private'
        ? createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' })
        : createPublicKey(pem).export({ type: 'spki', format: 'der' })
      ).toString('base64url');
    expect(keys.platformPrivateKey).toBe(line(demo('platform.private.pem'), 'private'));
    expect(keys.platformPublicKey).toBe(line(demo('platform.public.pem'), 'public'));
    expect(keys.merchantPrivateKey).toBe(line(demo('merchant.private.pem'), 'private'));
    expect(keys.merchantPublicKey).toBe(line(demo('merchant.public.pem'), 'public'));
  });

  describe.each(vectors.flat.map((vector) => [vector.name, vector] as const))('%s', (_name, vector) => {
    const read = readMembers(vector.body.md5);
    const members = read.ok ? read.members : new Map();

    it('is signed over the text that the vector names', () => {
      expect(canonicalString(members, 'keep')).toMatchObject({ ok: true, text: vector.canonical });
      expect(md5(vector.canonical + keys.secret)).toBe(vector.md5);
    });

    it('gets the same signs from the sender’s side', () => {
      const signOf = (body: string): string | undefined => {
        const made = readMembers(body);
        return made.ok ? made.members.get('sign')?.text : undefined;
      };
      const md5Signer = compileSigner({ scheme: 'md5', secret: keys.secret, emptyValues: 'keep' });
      expect(signOf(md5Signer.sign(members, 0))).toBe(vector.md5);
      const rsaSigner = compileSigner({
        scheme: 'rsa',
        senderKey: keys.platformPrivateKey,
        digest: 'sha256',
        signs: 'string',
        emptyValues: 'keep',
      });
      expect(signOf(rsaSigner.sign(members, 0))).toBe(vector.rsa);
    });

    it.each(['md5', 'rsa'] as const)('is answered SUCCESS, by %s', async (scheme) => {
      expect(await answered(vector.body[scheme], scheme)).toMatchObject({ answer: 'SUCCESS' });
    });

    it('is answered SUCCESS with an upper-case md5', async () => {
      const body = vector.body.md5.replace(vector.md5, vector.md5.toUpperCase());
      expect(await answered(body)).toMatchObject({ answer: 'SUCCESS' });
    });
  });

  it.each(vectors.envelopes.map((vector) => [vector.name, vector] as const))(
    'an envelope: %s',
    async (_name, { plaintext, md5Hex, data, sign, body }) => {
      expect(md5(plaintext)).toBe(md5Hex);
      const opened = openEnvelope(
        { data, sign },
        {
          senderKey: readPublicKey(keys.platformPublicKey),
          receiverKey: readPrivateKey(keys.merchantPrivateKey),
        },
      );
      expect(opened.ok && Buffer.from(opened.plaintext).toString()).toBe(plaintext);
      expect(JSON.parse(body)).toMatchObject({ app_id: vectors.appKey, data, sign });
      expect(await answered(body)).toMatchObject({ answer: 'SUCCESS' });
    },
  );

  it.each(vectors.refused.map((vector) => [vector.name, vector] as const))(
    'is answered FAILURE: %s',
    async (_name, { code, body }) => {
      expect(await answered(body)).toEqual({ answer: 'FAILURE', code });
    },
  );
});

const page = textOf('docs/callbacks.md');

/** The one block of code with these words behind its fence, without the indentation of a list. */
function blockOf(words: string): string {
  const fence = new RegExp(`^( *)\`\`\`${words}\\n([^]*?)^ *\`\`\`$`, 'gm');
  const [found, ...others] = page.matchAll(fence);
  if (found === undefined || others.length > 0) throw new Error(`not once in docs/callbacks.md: ${words}`);
  const [, indent = '', body = ''] = found;
  return body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
}

describe('docs/callbacks.md says of each member what the program wants:', () => {
  const grammarsIn = (words: string): ReadonlyMap<string, string> =>
    new Map(
      blockOf(words)
        .trim()
        .split('\n')
        .map((line) => {
          const [, name = '', length = '', pattern = ''] = /^(\w+) +1-(\d+) +(\S+)$/.exec(line) ?? [line];
          return [name, `${length} ${pattern}`] as const;
        }),
    );
  const written = (grammars: Readonly<Record<string, { pattern: RegExp; maxLength: number }>>) =>
    new Map(
      Object.entries(grammars).map(([name, { pattern, maxLength }]) => [
        name,
        `${maxLength} ${pattern.source}`,
      ]),
    );

  it('the closed list of a payment', () => {
    expect(grammarsIn('text grammar of a payment')).toEqual(written(PAYMENT_MEMBERS));
    expect([...PAYMENT_OPTIONAL]).toEqual(['time']);
  });

  it('the grammars of a co-signer', () => {
    expect(grammarsIn('text grammar of a co-signer')).toEqual(
      written({ IDENTIFIER, NUMERIC_ID, ADDRESS, SYMBOL, MEMO }),
    );
  });

  it.each([
    ['A withdrawal', 'transfer', transfer({ withdraw_id: '', txid: '0x1', outputs: '' })],
    ['A web3 transaction', 'web3', web3({ txid: '0x1' })],
  ] as const)('the members of: %s', (heading, kind, callback) => {
    const [, section = ''] = page.split(`### ${heading}\n`);
    const table = section.split(/\n\n(?!\|)/).find((part) => part.includes('| member')) ?? '';
    const named = [...table.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    );
    expect(named.sort()).toEqual(Object.keys(callback).sort());
    const read = readMembers(JSON.stringify({ ...callback, another: 1 }));
    const parsed = callbackKinds[kind].parse(read.ok ? read.members : new Map(), 'vault');
    expect(parsed).toMatchObject({ ok: true, callback: { unknown: ['another'] } });
  });
});

const isThere = (program: string, option = '--version'): boolean =>
  spawnSync(program, [option]).error === undefined;
const hasCurl = isThere('curl') && isThere('openssl', 'version');
const hasOpenssl = isThere('openssl', 'version');
const hasPython = isThere('python3');

describe('the examples of docs/callbacks.md are answered SUCCESS by a real service:', () => {
  /** Runs a program as a reader would, from the root of the clone. Resolves with what it prints. */
  async function printed(program: string, args: readonly string[], url = ''): Promise<string> {
    const env = { ...process.env, URL: url };
    return (await promisify(execFile)(program, [...args], { cwd: ROOT, env })).stdout;
  }

  async function run(words: string, [program, extension]: readonly [string, string]): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-example-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, `example.${extension}`);
    writeFileSync(file, blockOf(words));
    return printed(program, [file], services.get('md5')?.url);
  }

  /** The schemes by which the newest payments of the journal were signed. */
  async function schemesOf(count: number): Promise<readonly string[]> {
    const store = services.get('md5')?.store;
    const entries = (await store?.entries({ source: 'shop', newestFirst: true, limit: count })) ?? [];
    return entries.map(({ detail }) => /"scheme":"([\w-]+)"/.exec(detail)?.[1] ?? '').toReversed();
  }
  const ALL = ['md5', 'rsa', 'rsa-envelope'];
  const answers = ALL.map((scheme) => `${scheme} SUCCESS\n`).join('');

  it.skipIf(!hasCurl)('shell (skipped where there is no `curl` or no `openssl`)', async () => {
    expect(await run('sh run', ['sh', 'sh'])).toBe(answers);
    expect(await schemesOf(3)).toEqual(ALL);
  });

  it.skipIf(!hasCurl)('shell, as a co-signer (skipped where there is no `curl`)', async () => {
    expect(await run('sh cosigner', ['sh', 'sh'])).toBe('SUCCESS');
  });

  it.skipIf(!hasPython)('Python (skipped where there is no `python3`)', async () => {
    expect(await run('python run', ['python3', 'py'])).toBe(answers);
    expect(await schemesOf(3)).toEqual(ALL);
  });

  it('Node', async () => {
    expect(await run('js run', [process.execPath, 'mjs'])).toBe(answers);
    expect(await schemesOf(3)).toEqual(ALL);
  });

  it.skipIf(!hasOpenssl)('the pair of keys fits together (skipped where there is no `openssl`)', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-pair-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const script = `cd ${folder} && ${blockOf('sh make a key pair').trim().split('\n').join(' && ')}`;
    const line = await printed('sh', ['-c', script]);
    expect(line).toMatch(/^[\w-]+$/);
    const own = readPrivateKey(readFileSync(join(folder, 'shop.pem'), 'utf8'));
    expect(readPublicKey(line).fingerprint).toBe(own.fingerprint);
  });

  it('and the text and sign that it shows are those of the first vector', () => {
    const [first] = vectors.flat;
    expect(page).toContain(`\n${first?.canonical}\n`);
    expect(page).toContain(`\`${first?.md5}\``);
  });
});
