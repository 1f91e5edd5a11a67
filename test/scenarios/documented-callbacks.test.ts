import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { callbackKinds } from '../../src/callback/kinds.ts';
import { PAYMENT_MEMBERS, PAYMENT_OPTIONAL } from '../../src/callback/payment.ts';
import { ADDRESS, IDENTIFIER, MEMO, SYMBOL, NUMERIC_ID } from '../../src/callback/member-readers.ts';
import { canonicalString } from '../../src/signature/canonical.ts';
import { openEnvelope } from '../../src/signature/rsa-envelope.ts';
import { readPrivateKey, readPublicKey } from '../../src/signature/keys.ts';
import { compileSigner } from '../../src/signature/schemes.ts';
import { readMembers } from '../../src/values/members.ts';
import { ROOT, textOf } from '../deploy/documents.ts';
import { PAYMENT_PATH, type TestService, transfer, web3 } from '../service.ts';
import { describeExamples, examples, run, startDemoService, vectors, whyNot } from './callback-examples.ts';

const demo = (name: string): string => readFileSync(join(ROOT, 'config/demo', name), 'utf8');
const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

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

describeExamples(['sh', 'python3', 'node', 'php'], () => services.get('md5'));

describe('docs/callbacks.md', () => {
  it.each(Object.values(examples).map(({ command }) => command.join(' ')))(
    'names the example %s',
    (command) => {
      expect(page).toContain(`\`${command}\``);
    },
  );

  const noCurl = whyNot(['curl']);
  it.skipIf(noCurl !== '')(`has an example of a co-signer${noCurl}`, async () => {
    const url = services.get('md5')?.url ?? '';
    expect(await run(['sh', 'docs/callbacks/cosigner.sh'], url)).toBe('SUCCESS');
  });

  const noOpenssl = whyNot(['openssl']);
  it.skipIf(noOpenssl !== '')(`makes a pair of keys that fit together${noOpenssl}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-pair-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const script = `cd ${folder} && ${blockOf('sh make a key pair').trim().split('\n').join(' && ')}`;
    const line = await run(['sh', '-c', script]);
    expect(line).toMatch(/^[\w-]+$/);
    const own = readPrivateKey(readFileSync(join(folder, 'shop.pem'), 'utf8'));
    expect(readPublicKey(line).fingerprint).toBe(own.fingerprint);
  });

  it('shows the text and the sign of the first vector', () => {
    const [first] = vectors.flat;
    expect(page).toContain(`\n${first?.canonical}\n`);
    expect(page).toContain(`\`${first?.md5}\``);
  });
});
