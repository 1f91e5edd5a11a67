import { describe, expect } from 'vitest';
import type { Callback } from '../../../src/callback/callback.ts';
import { callbackKinds } from '../../../src/callback/kinds.ts';
import { evaluate, pluginQuestionsOf } from '../../../src/policy/evaluate.ts';
import { type Facts, type PluginAnswer, factsAt } from '../../../src/policy/facts.ts';
import { type Proposal, proposalToJson } from '../../../src/policy/proposal.ts';
import type { Release } from '../../../src/policy/release.ts';
import { readPolicyDirectory } from '../../../src/release/files.ts';
import { pushRelease } from '../../../src/release/push.ts';
import { type ArrivalFacts, keptDecision, notingUse } from '../../../src/store/kept-decision.ts';
import type { PriceChange, Store } from '../../../src/store/store.ts';
import { readMembers } from '../../../src/values/members.ts';
import { VERSION } from '../../../src/values/version.ts';
import { type Random, createRandom } from '../../../tools/chaos/random.ts';
import { onePolicy, release as releaseOf } from '../../policy/callbacks.ts';
import { change, idOf, priceChange } from '../requests.ts';
import { type OpenStore, type StoreUnderTest, testsOn } from './store-under-test.ts';

/**
 * More with `DECISIONS=100000` in the environment of
 * `npm test -- test/store/embedded.test.ts test/store/redis.test.ts -t 'character by'`.
 */
const DECISIONS = Number(process.env['DECISIONS'] ?? 150);
/** A policy for each kind of rule. */
const POLICIES = 'test/golden/all-rules';

const ADDRESSES = [
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  '0xdAC17F958D2ee523a2206206994597C13D831ec7',
] as const;
const AMOUNTS = ['0.00001', '0.05', '1.5', '4999.999999', '12000'] as const;

const OTHER_RELEASE = releaseOf(onePolicy('amount-limit: { max: 1 }'));

interface Made {
  readonly callback: Callback;
  readonly arrival: ArrivalFacts;
}

/** Any of the three kinds, about few subjects, with members that the rules treat differently. */
function anyCallback(random: Random, number: number): Made {
  const kind = random.oneOf(['payment', 'transfer', 'web3'] as const);
  const about = { pending_round: random.percent(10), type: random.oneOf(['sign_prepare', 'sign_start']) };
  const call = `${random.oneOf(['0xa9059cbb', '0x095ea7b3'])}${'0'.repeat(24)}${ADDRESSES[0].slice(2)}`;
  const bodies = {
    payment: {
      appKey: 'key "of" ✓',
      appOrderId: `o-${number % 50}`,
      orderAmount: random.oneOf(AMOUNTS),
      payCoinSymbol: random.oneOf(['USDT1742', 'BTC', 'DOGE']),
      userId: random.oneOf(['1', '666', '12345']),
      sign: 'x'.repeat(random.whole(0, 300)),
    },
    transfer: {
      ...about,
      transfer_id: number % 30,
      request_id: `r-${number % 30}`,
      from: ADDRESSES[2],
      to: random.oneOf([...ADDRESSES, 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh']),
      memo: random.oneOf(['', '88410023', 'INV-7', 'ünïcödé ✓']),
      amount: random.oneOf(AMOUNTS),
      symbol: random.oneOf(['ETH', 'BTC', 'XRP', 'USDT']),
      odd: random.oneOf<unknown>([null, 1.5, 'text']),
    },
    web3: {
      ...about,
      trans_id: number % 30,
      request_id: `w-${number % 30}`,
      from: ADDRESSES[2],
      to: random.oneOf(ADDRESSES),
      amount: random.oneOf<number | string>([0, -1, '0.3']),
      main_chain_symbol: random.oneOf(['ETH', 'BSC']),
      input_data: random.oneOf(['', `${call}${'f'.repeat(64)}`, `${call}${'0'.repeat(60)}4c4b`]),
      interactive_contract: random.oneOf(ADDRESSES),
    },
  };
  const body = JSON.stringify(bodies[kind]);
  const decoded = readMembers(body);
  const parsed = decoded.ok
    ? callbackKinds[kind].parse(decoded.members, kind === 'payment' ? 'shop' : 'vault')
    : decoded;
  // Some memos are no memos on some chains.
  if (!parsed.ok) return anyCallback(random, number);
  const isEnvelope = kind === 'payment' && random.percent(20);
  return {
    callback: parsed.callback,
    arrival: {
      requestId: `request-${number}`,
      address: random.oneOf(['127.0.0.1', '2001:db8::1']),
      by: kind === 'payment' ? 'rsa SHA256:abc' : 'addresses',
      scheme: kind === 'payment' ? random.oneOf(['rsa', 'md5']) : undefined,
      body: isEnvelope ? '{"app_id":"a"}' : body,
      plaintext: isEnvelope ? body : undefined,
    },
  };
}

function anyAnswers(random: Random, release: Release, callback: Callback): ReadonlyMap<string, PluginAnswer> {
  const keys = [...pluginQuestionsOf(release, callback).keys()];
  const answered = keys.filter(() => random.percent(90));
  return new Map(
    answered.map((key) => [
      key,
      { verdict: random.oneOf(['yes', 'no', 'failed'] as const), because: 'said so, "quoted"' },
    ]),
  );
}

/** The detail as readers see it: what was known, and then what evaluation said. */
function whole({ callback, arrival }: Made, { answers }: Facts, proposal: Proposal): string {
  const { kind, question, terms, unknown } = callback;
  const { requestId, address, by, scheme, body, plaintext } = arrival;
  return JSON.stringify({
    requestId,
    address,
    by,
    scheme,
    kind,
    question,
    terms,
    unknown,
    body,
    plaintext,
    answers: answers.size === 0 ? undefined : Object.fromEntries(answers),
    proposal: proposalToJson(proposal),
  });
}

function priceNow(asOfMs: number, prices: Readonly<Record<string, string>>): PriceChange {
  const all = priceChange(prices);
  return { ...all, set: all.set.map((each) => ({ ...each, asOfMs })) };
}

/** Conditions and alternatives, of which the store decides some, and the evaluation others. */
const ALTERNATIVES = `policy: payments
callback: payment
rules:
  - any:
      - all:
          - allow-list: { of: userId, list: blocked-users }
          - window-limit: { max: 50000, window: 24h, per: [userId, symbol] }
      - expected-order: {}
        when: { value: { above: 1000, maxAge: 10m } }
      - any:
          - amount-limit: { by: asset, max: { USDT1742: 5000 } }
          - schedule: { zone: UTC, hours: 22:00-06:00 }
        when: { not: { userId: { file: vips.txt } }, scheme: rsa }
      - window-limit: { max: 10, window: 24h, per: [userId, symbol] }
  - velocity-limit: { max: 9, window: 1h }
    when: { during: { zone: UTC, hours: 08:00-20:00 } }
---
policy: transfers
callback: transfer
rules:
  - pass: { because: small }
  - any:
      - allow-list: { of: to, list: partners }
        when: { pending_round: false }
      - expected-order: {}
    when: { amount: { above: 1 } }
    mode: observe
  - all:
      - any:
          - allow-list: { of: to, list: partners }
          - window-limit: { max: 20, window: day, per: [to, symbol] }
    when: { memo: ['88410023', INV-7] }
---
policy: contracts
callback: web3
when: { not: { amount: { above: 1 } } }
rules:
  - any:
      - value-limit: { max: 100, maxAge: 1h }
      - velocity-limit: { max: 5, window: 1h }
      - pass: { because: BSC is a test }
        when: { symbol: BSC }
`;

async function inForce(
  { store }: StoreUnderTest,
  read: () => Promise<Release> = () => readPolicyDirectory(POLICIES),
): Promise<Release> {
  await store.register(['shop', 'vault']);
  const release = await read();
  await pushRelease(store, { release, expected: '', by: 'ada', message: '' });
  await store.changeList(change('blocked-users', ['666']));
  await store.changeList({ ...change('partners', ADDRESSES.slice(0, 1)), source: 'vault' });
  return release;
}

/** Decides one callback as the pipeline does; undefined if the store did not decide it. */
async function decided(
  { store, clock }: StoreUnderTest,
  release: Release,
  made: Made,
  answers: ReadonlyMap<string, PluginAnswer>,
): Promise<{ readonly id: string; readonly detail: string } | undefined> {
  const { scheme } = made.arrival;
  const facts = factsAt(clock.nowMs, { scheme, prices: notingUse(await store.prices()), answers });
  const proposal = evaluate(release, made.callback, facts);
  const detail = keptDecision(made.arrival, facts, proposal);
  const result = await store.settle({ callback: made.callback, proposal, scheme: '', detail });
  return 'id' in result ? { id: result.id, detail: whole(made, facts, proposal) } : undefined;
}

const entryOf = (store: Store, { callback }: Made, id: string) => store.entry(callback.source, id);

export function describeExplanations(open: OpenStore): void {
  const it = testsOn(open);

  describe('an explanation', () => {
    it.for([
      ['any decision', undefined],
      [
        'a decision by conditions and alternatives',
        () => Promise.resolve(releaseOf(ALTERNATIVES, { 'vips.txt': '12345\n' })),
      ],
    ] as const)(
      'of %s is read as it was when it was made, character by character',
      { timeout: 3_600_000 },
      async ([, read], { empty: under }) => {
        const release = await inForce(under, read);
        const random = createRandom(7);
        const explained = new Map<string, number>();
        const different: (readonly [read: string | undefined, made: string])[] = [];
        for (let number = 0; number < DECISIONS; number++) {
          if (number % 20 === 0) {
            await under.store.changePrices(
              priceNow(under.clock.nowMs, { USDT1742: '1.0001', BTC: String(90_000 + number) }),
            );
          }
          const made = anyCallback(random, number);
          const expected = await decided(under, release, made, anyAnswers(random, release, made.callback));
          if (expected !== undefined) {
            const entry = await entryOf(under.store, made, expected.id);
            if (entry?.detail !== expected.detail) different.push([entry?.detail, expected.detail]);
            explained.set(made.callback.kind, (explained.get(made.callback.kind) ?? 0) + 1);
          }
          under.clock.advance(random.oneOf<number>([0, 1000, 600_000, 7_200_000]));
        }
        expect(different.slice(0, 3)).toEqual([]);
        for (const kind of ['payment', 'transfer', 'web3']) {
          expect(explained.get(kind)).toBeGreaterThan(DECISIONS / 6);
        }
      },
    );

    it('is left out on request: the detail is as it was kept', async ({ empty: under }) => {
      const release = await inForce(under);
      const made = anyCallback(createRandom(1), 1);
      const facts = factsAt(under.clock.nowMs);
      const proposal = evaluate(release, made.callback, facts);
      const detail = keptDecision(made.arrival, facts, proposal);
      await under.store.settle({ callback: made.callback, proposal, scheme: '', detail });
      const { source } = made.callback;
      const read = async (explained?: boolean) => {
        const options = explained === undefined ? {} : { explained };
        const [entry] = await under.store.entries({ source, newestFirst: true, limit: 1, ...options });
        return entry?.detail;
      };
      expect(await read(false)).toBe(detail);
      expect(await read()).toBe(whole(made, facts, proposal));
      expect(await read(true)).toBe(whole(made, facts, proposal));
    });

    it('says so where this version explains a decision otherwise than the one that made it', async ({
      empty: under,
    }) => {
      const release = await inForce(under);
      const made = anyCallback(createRandom(1), 1);
      const facts = factsAt(under.clock.nowMs);
      const proposal = evaluate(release, made.callback, facts);
      const detail = keptDecision(made.arrival, facts, {
        ...proposal,
        results: proposal.results.slice(1),
      }).replace(`"${VERSION}"`, '"0.0.7"');
      const result = await under.store.settle({ callback: made.callback, proposal, scheme: '', detail });
      const entry = await entryOf(under.store, made, idOf(result));
      expect(JSON.parse(entry?.detail ?? '')).toMatchObject({
        note: `explained again by version ${VERSION}; version 0.0.7, which made the decision, explained it otherwise`,
        proposal: { revision: release.revision },
      });
    });

    it('says so where the decision was valid in another period, as after a change of time zones', async ({
      empty: under,
    }) => {
      const release = await inForce(under);
      const made = anyCallback(createRandom(1), 1);
      const facts = factsAt(under.clock.nowMs);
      const proposal = evaluate(release, made.callback, facts);
      const detail = keptDecision(made.arrival, facts, {
        ...proposal,
        validUntilMs: proposal.validUntilMs - 3_600_000,
      });
      const result = await under.store.settle({ callback: made.callback, proposal, scheme: '', detail });
      const entry = await entryOf(under.store, made, idOf(result));
      expect(JSON.parse(entry?.detail ?? '')).toMatchObject({
        note: expect.stringContaining('its time zones, or the entry, have changed since'),
      });
    });

    it('shows an entry as far as it can, if the callback can no longer be read', async ({ empty: under }) => {
      const release = await inForce(under);
      const made = anyCallback(createRandom(1), 1);
      const facts = factsAt(under.clock.nowMs);
      const proposal = evaluate(release, made.callback, facts);
      const kept = keptDecision(
        { ...made.arrival, body: '{"type":7}', plaintext: undefined },
        facts,
        proposal,
      );
      for (const [detail, expected] of [
        [
          kept,
          { requestId: 'request-1', body: '{"type":7}', note: expect.stringContaining("body can't be") },
        ],
        [
          kept.replace('"request-1"', '1'),
          { kept: expect.stringContaining('{"type":7}'), note: expect.stringContaining("can't read") },
        ],
      ] as const) {
        const result = await under.store.settle({ callback: made.callback, proposal, scheme: '', detail });
        const entry = await entryOf(under.store, made, idOf(result));
        expect(JSON.parse(entry?.detail ?? '')).toMatchObject(expected);
      }
    });

    it.for([
      [
        'can no longer be compiled',
        '{"format":9}',
        (revision: string) => `can't compile the revision ${revision}`,
      ],
      [
        'is that of another revision',
        OTHER_RELEASE.document,
        (revision: string) => `as revision ${revision} is that of ${OTHER_RELEASE.revision}`,
      ],
    ] as const)(
      'has at least the words of the rule that refused, if its document %s',
      async ([, document, why], { empty: under }) => {
        await under.store.register(['shop', 'vault']);
        const release = await readPolicyDirectory(POLICIES);
        const { revision } = release;
        await under.store.push({ revision, document, expected: '', by: 'ada', message: '' });
        const random = createRandom(3);
        for (let number = 0; ; number++) {
          const made = anyCallback(random, number);
          const facts = factsAt(under.clock.nowMs, { scheme: made.arrival.scheme });
          const proposal = evaluate(release, made.callback, facts);
          const refused = proposal.results.find(
            ({ mode, verdict }) => mode === 'enforce' && verdict === 'refuse',
          );
          if (refused === undefined || proposal.prices !== 0) continue;
          const detail = keptDecision(made.arrival, facts, proposal);
          const result = await under.store.settle({ callback: made.callback, proposal, scheme: '', detail });
          if (!('id' in result)) continue;
          const entry = await entryOf(under.store, made, result.id);
          const { note, proposal: none, kept } = JSON.parse(entry?.detail ?? '') as Record<string, unknown>;
          expect([none, kept]).toEqual([undefined, detail]);
          expect(note).toContain(`version ${VERSION} can't explain this decision of version ${VERSION}: `);
          expect(note).toContain(why(revision));
          expect(note).toContain(`; ${refused.policy}/${refused.rule} refused: ${refused.because}`);
          return;
        }
      },
    );
  });
}
