import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { CosignerSourceConfig } from '../../src/signature/config.ts';
import { compileSigner } from '../../src/signature/schemes.ts';
import type { SignerConfig } from '../../src/signature/scheme.ts';
import { makePair } from './pairs.ts';
import {
  authenticate,
  authenticatorOf,
  codeOf,
  envelopeBy,
  faultOf,
  md5By,
  membersOf,
  payment,
  rsaBy,
  shop,
  textsOf,
} from './sources.ts';

const platform = makePair();
const merchant = makePair();
const secrets = {
  SECRET: 'sEcReT-of-md5-0123',
  PLATFORM: platform.publicText,
  MERCHANT: merchant.privateText,
  TOKEN: 'tOkEn-of-header-0123',
  PATH: 'pAtH-of-cosigner-0123',
};
const vault: CosignerSourceConfig = {
  name: 'vault',
  callback: 'cosigner',
  paths: {},
  authenticate: [
    { path: { secret: { env: 'PATH' } } },
    { header: { name: 'x-secret', secret: { env: 'TOKEN' } } },
  ],
};
const authenticator = authenticatorOf(
  [shop(md5By('SECRET'), rsaBy('PLATFORM'), envelopeBy('PLATFORM', 'MERCHANT')), vault],
  secrets,
);

const signers: readonly SignerConfig[] = [
  { scheme: 'md5', secret: secrets.SECRET, emptyValues: 'keep' },
  { scheme: 'rsa', senderKey: platform.privateText, digest: 'sha256', signs: 'string', emptyValues: 'keep' },
  { scheme: 'rsa-envelope', senderKey: platform.privateText, receiverKey: merchant.publicText },
];

/** Payments without words of the protocol in them, which therefore have one reading. */
const payments = fc.record(
  {
    appKey: fc.constant('demoKey'),
    userId: fc.oneof(fc.stringMatching(/^\d{1,32}$/), fc.nat()),
    appOrderId: fc.stringMatching(/^[A-Z0-9_-]{1,40}$/),
    orderAmount: fc.stringMatching(/^[1-9]\d{0,9}(\.\d{1,8})?$/),
    payCoinSymbol: fc.stringMatching(/^[A-Z0-9]{1,12}$/),
    time: fc.constantFrom('1522055680', 1522055680123),
  },
  { requiredKeys: ['appKey', 'userId', 'appOrderId', 'orderAmount', 'payCoinSymbol'] },
);

describe.each(signers)('$scheme', (config) => {
  const signer = compileSigner(config);
  const numRuns = config.scheme === 'md5' ? 200 : 25;

  it('accepts all that its own signer signs, with the same members', async () => {
    await fc.assert(
      fc.asyncProperty(payments, async (body) => {
        const outcome = await authenticate(authenticator, signer.sign(membersOf(body), 1));
        expect(outcome).toMatchObject({ ok: true, scheme: config.scheme });
        expect(outcome.ok && textsOf(outcome.members)).toEqual(textsOf(membersOf(body)));
      }),
      { numRuns },
    );
  });

  it('accepts no other text, in any order of members', async () => {
    await fc.assert(
      fc.asyncProperty(
        payments,
        fc.nat(),
        fc.string({ unit: 'grapheme', maxLength: 8 }),
        async (body, which, text) => {
          const sent: Readonly<Record<string, string>> = textsOf(membersOf(signer.sign(membersOf(body), 1)));
          const name = Object.keys(sent)[which % Object.keys(sent).length] ?? '';
          const changed = { ...sent, [name]: text };
          // An envelope's time is covered by nothing, and not looked at.
          if (sent[name] === text || (name === 'time' && 'data' in sent)) return;
          expect(codeOf(await authenticate(authenticator, changed))).not.toBe('ok');
          expect(codeOf(await authenticate(authenticator, { ...sent, [`x${text}`]: 1 }))).not.toBe('ok');
          const { [name]: _gone, ...fewer } = sent;
          expect(codeOf(await authenticate(authenticator, fewer))).not.toBe('ok');
          const reordered = Object.fromEntries(Object.entries(sent).toReversed());
          expect(codeOf(await authenticate(authenticator, reordered))).toBe('ok');
        },
      ),
      { numRuns },
    );
  });
});

describe('no secret, key or right sign is in any failure', () => {
  const leaks = (told: unknown, ...more: readonly string[]): readonly string[] => {
    const text = JSON.stringify(told);
    const hidden = [secrets.SECRET, secrets.TOKEN, secrets.PATH, secrets.MERCHANT.slice(40, 80), ...more];
    return hidden.filter((each) => text.includes(each));
  };

  it('of a payment', async () => {
    const signer = compileSigner({ scheme: 'md5', secret: secrets.SECRET, emptyValues: 'keep' });
    const sign = fc.oneof(
      fc.stringMatching(/^[0-9a-f]{32}$/),
      fc.uint8Array({ minLength: 256, maxLength: 256 }).map((bytes) => Buffer.from(bytes).toString('base64')),
      fc.string(),
    );
    const members = fc.dictionary(
      fc.constantFrom(
        'appKey',
        'userId',
        'appOrderId',
        'orderAmount',
        'payCoinSymbol',
        'time',
        'app_id',
        'data',
        'note',
      ),
      fc.oneof(fc.string(), fc.constantFrom('', 'demoKey', null, 1), fc.object({ maxDepth: 1, maxKeys: 2 })),
    );
    await fc.assert(
      fc.asyncProperty(payments, members, sign, async (body, changes, received) => {
        const sent = { ...body, ...changes, sign: received };
        const outcome = await authenticate(authenticator, sent);
        expect(outcome.ok).toBe(false);
        const flat = Object.values(sent).every((value) => typeof value !== 'object' || value === null);
        const right = flat
          ? String(textsOf(membersOf(signer.sign(membersOf(sent), 0)))['sign'])
          : secrets.SECRET;
        expect(leaks(outcome, right)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('of a co-signer', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.boolean(), (pathSecret, header, known) => {
        const outcome = authenticator.cosigner(
          'vault',
          {
            address: '10.0.0.1',
            header: () => header,
            fromProxy: true,
            pathSecret: known ? secrets.PATH : pathSecret,
            certificate: undefined,
          },
          membersOf(payment),
        );
        expect(outcome.ok).toBe(false);
        expect(leaks(outcome)).toEqual([]);
      }),
    );
  });

  it('of the settings, or in what is described', () => {
    const fault = faultOf(() =>
      authenticatorOf(
        [
          shop(
            rsaBy('MERCHANT'),
            rsaBy('SECRET'),
            rsaBy('TOKEN'),
            md5By('MERCHANT'),
            envelopeBy('SECRET', 'PATH'),
          ),
        ],
        secrets,
      ),
    );
    expect(fault.message.split('\n')).toHaveLength(5);
    expect(leaks([fault.message, fault.data, String(fault.stack), fault.cause])).toEqual([]);
    expect(leaks(authenticator.describe())).toEqual([]);
  });
});
