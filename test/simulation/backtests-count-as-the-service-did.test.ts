import { expect, it } from 'vitest';
import { z } from 'zod';
import { mergedEntries } from '../../src/journal/record.ts';
import type { JournalEntry } from '../../src/store/store.ts';
import { type Place, placeIn } from '../cli/terminal.ts';
import { type StoreHost, describeOnBothStores } from '../scenarios/on-both-stores.ts';
import { PAYMENT_PATH, TO as PARTNER, type TestService, signedPayment, transfer, web3 } from '../service.ts';

const STRANGER = '0x8617e340b3d01fa5f11f306f4090fd50e238070d';
const USDT = '0xdac17f958d2ee523a2206206994597c13d831ec7';
const START_MS = Date.UTC(2026, 2, 2, 10);
const HOUR_MS = 3_600_000;
const SOURCES = ['shop', 'kiosk', 'vault'] as const;

/** The windows are longer than the story, so that the verdicts are the same by every clock. */
const POLICIES = {
  'assets.yaml': `assets:
  ETH: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT}' } }
`,
  // Two policies share the counter of a group of two sources.
  'shop.yaml': `policy: shop
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - amount-limit: { max: 1000 }
  - window-limit: { counter: spent, per: [userId], window: 48h, max: 1500, across: group }
  - lock-out: { per: [userId], after: 2, within: 48h, for: until-lifted }
`,
  'kiosk.yaml': `policy: kiosk
callback: payment
when: { source: kiosk, symbol: USDT1742 }
rules:
  - window-limit: { counter: spent, per: [userId], window: 48h, max: 1500, across: group }
`,
  'customers.yaml': `policy: customers
callback: payment
when: { source: [shop, kiosk], symbol: BTC }
rules:
  - distinct-limit: { of: userId, only: new, window: 48h, max: 2, across: group }
`,
  'recipients.yaml': `policy: recipients
callback: transfer
when: { source: vault, symbol: XTZ }
rules:
  - distinct-limit: { of: to, window: 48h, max: 2 }
`,
  'withdrawals.yaml': `policy: withdrawals
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - any:
      - all:
          - allow-list: { of: to, list: partners }
          - window-limit: { window: 48h, max: 5 }
      - window-limit: { per: [to], window: 48h, max: 2 }
`,
  'tokens.yaml': `policy: tokens
callback: web3
when: { source: vault, main_chain_symbol: ETH }
movements: { approvals: count }
rules:
  - window-limit: { by: asset, window: 48h, max: { USDT: 100, ETH: 1 } }
`,
};
type File = keyof typeof POLICIES;

// ---- the story ----

type Send = (service: TestService) => Promise<string>;

const payment =
  (source: 'shop' | 'kiosk', userId: string, orderAmount: string, payCoinSymbol = 'USDT1742') =>
  (id: string): Send =>
  async (service) => {
    const members = { appOrderId: id, userId, orderAmount, payCoinSymbol };
    return (
      await service.post(PAYMENT_PATH, signedPayment({ ...members, appKey: `test-${source}` } as object))
    ).body;
  };
const withdrawal =
  (symbol: string, to: string, amount: string, more: object = {}) =>
  (id: string): Send =>
  (service) =>
    service.cosign('/cosigner/withdraw', transfer({ request_id: id, symbol, to, amount, ...more }));
const word = (hexadecimal: string): string => hexadecimal.padStart(64, '0');
const token =
  (method: 'transfer' | 'approve', units: number) =>
  (id: string): Send =>
  (service) => {
    const selector = { transfer: '0xa9059cbb', approve: '0x095ea7b3' }[method];
    const data = `${selector}${word(STRANGER.slice(2))}${word((units * 1_000_000).toString(16))}`;
    return service.cosign(
      '/cosigner/web3',
      web3({ request_id: id, to: USDT, interactive_contract: USDT, input_data: data }),
    );
  };
const coins =
  (amount: string) =>
  (id: string): Send =>
  (service) =>
    service.cosign(
      '/cosigner/web3',
      web3({ request_id: id, to: STRANGER, amount, interactive_contract: STRANGER, input_data: '' }),
    );
const lift: Send = async ({ store }) => {
  for await (const { id } of store.lockouts('shop'))
    await store.liftLockout({ source: 'shop', id, by: 'ada', message: 'called the user' });
  return 'lifted';
};

/** What is sent, in order, and the answer to it. */
const STORY: readonly (readonly [id: string, send: (id: string) => Send, answer: string])[] = [
  // A limit of the group, in a counter that two policies share.
  ['group-1', payment('shop', '1', '900'), 'SUCCESS'],
  ['group-2', payment('kiosk', '1', '500'), 'SUCCESS'],
  ['group-3', payment('shop', '1', '200'), 'FAILURE'],
  ['group-4', payment('kiosk', '1', '100'), 'SUCCESS'],
  ['group-5', payment('kiosk', '1', '50'), 'FAILURE'],
  // New values, known in the whole group.
  ['new-1', payment('shop', '11', '1', 'BTC'), 'SUCCESS'],
  ['new-2', payment('kiosk', '12', '1', 'BTC'), 'SUCCESS'],
  ['new-3', payment('shop', '13', '1', 'BTC'), 'FAILURE'],
  ['new-4', payment('kiosk', '11', '1', 'BTC'), 'SUCCESS'],
  // Different values.
  ['distinct-1', withdrawal('XTZ', 'one', '1'), 'SUCCESS'],
  ['distinct-2', withdrawal('XTZ', 'two', '1'), 'SUCCESS'],
  ['distinct-3', withdrawal('XTZ', 'three', '1'), 'FAILURE'],
  ['distinct-4', withdrawal('XTZ', 'one', '1'), 'SUCCESS'],
  // Two refusals lock a user out, and an operator lifts that.
  ['locked-1', payment('shop', '9', '1001'), 'FAILURE'],
  ['locked-2', payment('shop', '9', '1001'), 'FAILURE'],
  ['locked-3', payment('shop', '9', '10'), 'FAILURE'],
  ['', () => lift, 'lifted'],
  ['locked-4', payment('shop', '9', '10'), 'SUCCESS'],
  ['locked-5', payment('shop', '9', '1001'), 'FAILURE'],
  ['locked-6', payment('shop', '9', '20'), 'SUCCESS'],
  // The second and third are approved by the later alternative.
  ['any-1', withdrawal('ETH', PARTNER, '4'), 'SUCCESS'],
  ['any-2', withdrawal('ETH', PARTNER, '2'), 'SUCCESS'],
  ['any-3', withdrawal('ETH', STRANGER, '2'), 'SUCCESS'],
  ['any-4', withdrawal('ETH', PARTNER, '1'), 'SUCCESS'],
  ['any-5', withdrawal('ETH', PARTNER, '1'), 'FAILURE'],
  ['any-6', withdrawal('ETH', STRANGER, '1'), 'FAILURE'],
  // A notification, which no policy decides.
  ['any-1', withdrawal('ETH', PARTNER, '4', { type: 'sign_success', txid: '0xab' }), 'SUCCESS'],
  // What transactions move.
  ['moved-1', token('transfer', 60), 'SUCCESS'],
  ['moved-2', token('approve', 40), 'SUCCESS'],
  ['moved-3', token('transfer', 1), 'FAILURE'],
  ['moved-4', coins('0.6'), 'SUCCESS'],
  ['moved-5', coins('0.5'), 'FAILURE'],
];

const settingsWith = (groups: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> => ({
  sources: SOURCES.map((name) => ({
    name,
    ...(groups[name] === undefined ? {} : { group: groups[name] }),
    ...(name === 'vault'
      ? {
          callback: 'cosigner',
          paths: { withdraw: '/cosigner/withdraw', web3: '/cosigner/web3' },
          authenticate: [{ header: { name: 'authorization', secret: { file: 'vault.token' } } }],
        }
      : {
          callback: 'payment',
          appKey: `test-${name}`,
          signatures: [{ scheme: 'md5', secret: { file: 'shop.secret' } }],
        }),
  })),
});
const GROUPS = { shop: 'sales', kiosk: 'sales', vault: 'custody' };

/** A service that has seen the story, and the commands in its folder. */
async function recorded(host: StoreHost): Promise<Place & { readonly service: TestService }> {
  let nowMs = START_MS;
  // Redis has a time of its own, which passes by itself.
  const clock = host.kind === 'embedded' ? { clock: () => nowMs } : {};
  const service = await host.start({ policies: POLICIES, settings: settingsWith(GROUPS), ...clock });
  await service.store.changeList({
    source: 'vault',
    list: 'partners',
    add: [PARTNER],
    remove: [],
    by: 'ada',
    message: '',
  });
  const answers: string[] = [];
  for (const [id, send] of STORY) {
    answers.push(`${id} ${await send(id)(service)}`);
    nowMs += HOUR_MS / 2;
  }
  expect(answers).toEqual(STORY.map(([id, , answer]) => `${id} ${answer}`));
  return { ...placeIn(service.folder), service };
}

async function entriesOf({ store }: TestService): Promise<readonly JournalEntry[]> {
  const queries = SOURCES.map((source) => ({ source }));
  const entries: JournalEntry[] = [];
  for await (const entry of mergedEntries(store, queries, false)) entries.push(entry);
  return entries;
}

// ---- candidates ----

interface Candidate {
  /** What is written in place of what, in each of the files that have it. */
  readonly change: readonly [from: string, to: string];
  readonly files: readonly File[];
  /** Every callback whose verdict changes: with the rule that refuses it now, or refused it before. */
  readonly toFailure?: Readonly<Record<string, string>>;
  readonly toSuccess?: Readonly<Record<string, string>>;
}

const CANDIDATES: Readonly<Record<string, Candidate>> = {
  'a tighter limit of the group': {
    files: ['shop.yaml', 'kiosk.yaml'],
    change: ['max: 1500', 'max: 1300'],
    toFailure: { 'group-2': 'kiosk/window-limit#1' },
    // What the second would have taken is left for them.
    toSuccess: { 'group-3': 'shop/window-limit#2', 'group-5': 'kiosk/window-limit#1' },
  },
  'a looser limit of the group': {
    files: ['shop.yaml', 'kiosk.yaml'],
    change: ['max: 1500', 'max: 1700'],
    toSuccess: { 'group-3': 'shop/window-limit#2' },
  },
  'a tighter limit of one policy on the counter that it shares': {
    files: ['kiosk.yaml'],
    change: ['max: 1500', 'max: 1440'],
    toFailure: { 'group-4': 'kiosk/window-limit#1' },
  },
  'a looser limit of one policy on the counter that it shares': {
    files: ['kiosk.yaml'],
    change: ['max: 1500', 'max: 1550'],
    toSuccess: { 'group-5': 'kiosk/window-limit#1' },
  },
  'a limit of each source in place of that of the group': {
    files: ['shop.yaml', 'kiosk.yaml'],
    change: ['across: group', 'across: source'],
    toSuccess: { 'group-3': 'shop/window-limit#2', 'group-5': 'kiosk/window-limit#1' },
  },
  'fewer new values': {
    files: ['customers.yaml'],
    change: ['max: 2', 'max: 1'],
    toFailure: { 'new-2': 'customers/distinct-limit#1' },
  },
  'more new values': {
    files: ['customers.yaml'],
    change: ['max: 2', 'max: 3'],
    toSuccess: { 'new-3': 'customers/distinct-limit#1' },
  },
  'fewer different values': {
    files: ['recipients.yaml'],
    change: ['max: 2', 'max: 1'],
    toFailure: { 'distinct-2': 'recipients/distinct-limit#1' },
  },
  'more different values': {
    files: ['recipients.yaml'],
    change: ['max: 2', 'max: 3'],
    toSuccess: { 'distinct-3': 'recipients/distinct-limit#1' },
  },
  // The first refusal locks out; after the lift, the next one does again.
  'a lock-out after fewer refusals': {
    files: ['shop.yaml'],
    change: ['after: 2', 'after: 1'],
    toFailure: { 'locked-6': 'shop/lock-out#3' },
  },
  'a lock-out after more refusals': {
    files: ['shop.yaml'],
    change: ['after: 2', 'after: 4'],
    toSuccess: { 'locked-3': 'shop/lock-out#3' },
  },
  // The lift lifts nothing, and the refusals before it still count.
  'a lock-out after the refusal that follows the lift': {
    files: ['shop.yaml'],
    change: ['after: 2', 'after: 3'],
    toFailure: { 'locked-6': 'shop/lock-out#3' },
    toSuccess: { 'locked-3': 'shop/lock-out#3' },
  },
  'a first alternative with less room': {
    files: ['withdrawals.yaml'],
    change: ['max: 5', 'max: 4'],
    toFailure: { 'any-4': 'withdrawals/any#1' },
  },
  // Then the first alternative takes the second withdrawal, and the later one has room for the fifth.
  'a first alternative with more room': {
    files: ['withdrawals.yaml'],
    change: ['max: 5', 'max: 6'],
    toSuccess: { 'any-5': 'withdrawals/any#1' },
  },
  'a later alternative with less room': {
    files: ['withdrawals.yaml'],
    change: ['max: 2', 'max: 1'],
    toFailure: { 'any-2': 'withdrawals/any#1', 'any-3': 'withdrawals/any#1' },
    toSuccess: { 'any-5': 'withdrawals/any#1', 'any-6': 'withdrawals/any#1' },
  },
  'a later alternative with more room': {
    files: ['withdrawals.yaml'],
    change: ['max: 2', 'max: 3'],
    toSuccess: { 'any-5': 'withdrawals/any#1', 'any-6': 'withdrawals/any#1' },
  },
  'a tighter limit on the tokens that are moved': {
    files: ['tokens.yaml'],
    change: ['USDT: 100', 'USDT: 99'],
    toFailure: { 'moved-2': 'tokens/window-limit#1' },
    toSuccess: { 'moved-3': 'tokens/window-limit#1' },
  },
  'a looser limit on the tokens that are moved': {
    files: ['tokens.yaml'],
    change: ['USDT: 100', 'USDT: 101'],
    toSuccess: { 'moved-3': 'tokens/window-limit#1' },
  },
  'a tighter limit on the coins that are moved': {
    files: ['tokens.yaml'],
    change: ['ETH: 1 ', 'ETH: 0.5 '],
    toFailure: { 'moved-4': 'tokens/window-limit#1' },
    toSuccess: { 'moved-5': 'tokens/window-limit#1' },
  },
  'a looser limit on the coins that are moved': {
    files: ['tokens.yaml'],
    change: ['ETH: 1 ', 'ETH: 1.1 '],
    toSuccess: { 'moved-5': 'tokens/window-limit#1' },
  },
};

const reason = z.object({ verdict: z.string(), rule: z.string() });
const reportShape = z.object({
  notKnown: z.number(),
  warnings: z.array(z.string()),
  changed: z.array(z.object({ subject: z.string(), recorded: reason, candidate: reason })),
});

/** The changed callbacks by their ids, and whatever else the report says. */
function changesIn(json: unknown) {
  const { notKnown, warnings, changed } = reportShape.parse(json);
  const to = (verdict: string): Readonly<Record<string, string>> =>
    Object.fromEntries(
      changed
        .filter(({ candidate }) => candidate.verdict === verdict)
        .map(({ subject, recorded: before, candidate }) => [
          subject.split(':').at(-1),
          (verdict === 'SUCCESS' ? before : candidate).rule,
        ]),
    );
  return {
    toFailure: to('FAILURE'),
    toSuccess: to('SUCCESS'),
    callbacks: changed.length,
    notKnown,
    warnings,
  };
}

describeOnBothStores(
  'limits over sources, values, refusals, alternatives and movements are decided again',
  (host) => {
    it('with the same verdicts under the policies that were in force, from the store and from a file', async () => {
      const { service, run, write } = await recorded(host);
      const entries = await entriesOf(service);
      expect(entries.filter(({ type }) => type === 'lockout')).toHaveLength(1);
      expect(entries.filter(({ type }) => type === 'notice')).toHaveLength(1);
      const callbacks = entries.filter(({ type }) => type === 'decision' || type === 'repeat').length;
      expect(callbacks).toBe(STORY.length - 2);

      const found = await run('policy', 'backtest', '--json');
      const all = { callbacks, unchanged: callbacks, toFailure: 0, toSuccess: 0, notKnown: 0, frozen: 0 };
      expect(found.json()).toMatchObject({ ...all, rules: [], warnings: [] });
      expect(found.code).toBe(0);

      const file = write('decisions.jsonl', (await run('decisions', 'export')).out);
      const again = await run('policy', 'backtest', '--from-file', file, '--json');
      expect(again.json()).toEqual(found.json());
    });

    it('with exactly the verdicts changed that a tighter or a looser limit changes', async () => {
      const { folder, run, write } = await recorded(host);
      const found: Record<string, unknown> = {};
      for (const [name, { files, change }] of Object.entries(CANDIDATES)) {
        for (const [file, text] of Object.entries(POLICIES)) {
          const isChanged = files.some((each) => each === file);
          expect(isChanged && !text.includes(change[0])).toBe(false);
          write(`candidate/${file}`, isChanged ? text.replace(...change) : text);
        }
        const { json } = await run('policy', 'backtest', `${folder}/candidate`, '--show', '100', '--json');
        found[name] = changesIn(json());
      }
      expect(found).toEqual(
        Object.fromEntries(
          Object.entries(CANDIDATES).map(([name, { toFailure = {}, toSuccess = {} }]) => [
            name,
            {
              toFailure,
              toSuccess,
              callbacks: Object.keys({ ...toFailure, ...toSuccess }).length,
              notKnown: 0,
              warnings: [],
            },
          ]),
        ),
      );
    });

    it('with the same verdicts where sources of a group ask in one millisecond', async () => {
      // On the embedded store, its clock stands still. The source that the journals begin with is refused.
      const stopped = host.kind === 'embedded' ? { clock: () => START_MS } : {};
      const service = await host.start({ policies: POLICIES, settings: settingsWith(GROUPS), ...stopped });
      for (const turn of Array.from({ length: 10 }).keys()) {
        const pay = (source: 'shop' | 'kiosk', id: string, amount: string) =>
          payment(source, String(100 + turn), amount)(`${id}-${turn}`)(service);
        expect(await pay('kiosk', 'a', '1000')).toBe('SUCCESS');
        expect(await pay('kiosk', 'b', '500')).toBe('SUCCESS');
        expect(await pay('shop', 'c', '900')).toBe('FAILURE');
        const both = await Promise.all([pay('kiosk', 'd', '0.01'), pay('shop', 'e', '0.01')]);
        expect(both).toEqual(['FAILURE', 'FAILURE']);
      }
      const { run } = placeIn(service.folder);
      const { json } = await run('policy', 'backtest', '--show', '100', '--json');
      expect(changesIn(json())).toEqual({
        toFailure: {},
        toSuccess: {},
        callbacks: 0,
        notKnown: 0,
        warnings: [],
      });
    });

    it('in the groups of the settings where none was recorded, with a warning that says how many', async () => {
      const alone = Object.entries(POLICIES).map(([file, text]) => [file, text.replace('across: group', '')]);
      const policies: Readonly<Record<string, string>> = Object.fromEntries(alone);
      const before = await host.start({ policies, settings: settingsWith({}) });
      const withdrawn = withdrawal('ETH', STRANGER, '1');
      const notified = withdrawal('ETH', STRANGER, '1', { type: 'sign_success', txid: '0xab' });
      expect(await payment('shop', '1', '900')('shop-1')(before)).toBe('SUCCESS');
      expect(await payment('kiosk', '1', '700')('kiosk-1')(before)).toBe('SUCCESS');
      expect(await withdrawn('any-1')(before)).toBe('SUCCESS');
      expect(await notified('any-1')(before)).toBe('SUCCESS');
      await before.stop({ keep: true });

      const after = await host.start({ policies: POLICIES, settings: settingsWith(GROUPS) }, before);
      const { json } = await placeIn(after.folder).run('policy', 'backtest', '--show', '100', '--json');
      expect(changesIn(json())).toEqual({
        toFailure: { 'kiosk-1': 'kiosk/window-limit#1' },
        toSuccess: {},
        callbacks: 1,
        notKnown: 0,
        warnings: [
          '3 callbacks were recorded without a group of their source: they count in the group of the settings',
        ],
      });
    });

    it('with a warning if other sources of the group are left out', async () => {
      const { service, run, write } = await recorded(host);
      const file = write('decisions.jsonl', (await run('decisions', 'export')).out);
      for (const record of [[], ['--from-file', file]]) {
        const { json } = await run('policy', 'backtest', '--source', 'shop', ...record, '--json');
        expect(reportShape.parse(json()).warnings).toEqual([
          expect.stringContaining('only callbacks of shop'),
        ]);
      }
      write('alone/shop.yaml', POLICIES['shop.yaml'].replace('across: group', ''));
      const { json } = await run(
        'policy',
        'backtest',
        `${service.folder}/alone`,
        '--source',
        'shop',
        '--json',
      );
      expect(reportShape.parse(json()).warnings).toEqual([]);
    });
  },
  { timeoutMs: 120_000 },
);
