import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { START } from '../../src/journal/cursor.ts';
import { searchJournal } from '../../src/journal/search.ts';
import { announceOrder } from '../../src/orders/orders.ts';
import { placeIn } from '../cli/terminal.ts';
import { type TestService, transfer, web3 } from '../service.ts';
import { describeOnBothStores } from './on-both-stores.ts';
import { journalOf } from './audit.ts';

const TON = [
  'EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF',
  'UQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPuwA',
  'EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff+W72r5gqPrHF',
  '0:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e',
] as const;
const OTHER_TON = 'EQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p4q2';
/** What somebody claims of TON. It is wrong. */
const ONE_SPELLING = 'text, spellings: one';
const SUI = `0x${'7'.padStart(64, '0')}`;

const table = (ton: string): string => `assets:
  TON: { chain: ${ton}, decimals: 9 }
  SUI: { chain: sui, decimals: 9 }
  BCH: { chain: bch, decimals: 8 }
  XLM: { chain: stellar, decimals: 7 }
  ETH: { chain: evm, decimals: 18 }
`;
const policies = (rules: string, ton = 'ton'): Readonly<Record<string, string>> => ({
  'assets.yaml': table(ton),
  'transfers.yaml': `policy: transfers\ncallback: transfer\nrules:\n${rules}`,
  'web3.yaml': `policy: web3\ncallback: web3\nrules:\n${rules}`,
});

describeOnBothStores('an address in another spelling is the same address', (host) => {
  let count = 0;
  const send = (service: TestService, to: string, more: object = {}): Promise<string> =>
    service.cosign(
      '/cosigner/withdraw',
      transfer({
        request_id: `r-${count++}`,
        from: OTHER_TON,
        to,
        amount: '6',
        symbol: 'TON',
        memo: 'x',
        ...more,
      }),
    );
  const sign = (service: TestService, to: string): Promise<string> =>
    service.cosign(
      '/cosigner/web3',
      web3({
        request_id: `r-${count++}`,
        from: OTHER_TON,
        to,
        amount: '6',
        main_chain_symbol: 'TON',
        input_data: '',
        interactive_contract: '',
      }),
    );
  const everyTon = async (ask: (to: string) => Promise<string>): Promise<readonly string[]> => {
    const answers: string[] = [];
    for (const spelling of TON) answers.push(await ask(spelling));
    return answers;
  };
  const refusals = async (service: TestService): Promise<readonly unknown[]> =>
    (await journalOf(service.store, 'vault')).flatMap(({ verdict, code }) =>
      verdict === 'FAILURE' ? code : [],
    );

  it('for a limit: two spellings share it', async () => {
    const rules = '  - window-limit: { by: asset, per: [to], window: 24h, max: { TON: 10, SUI: 10 } }\n';
    const service = await host.start({ policies: policies(rules) });
    for (const ask of [send, sign]) {
      expect(await everyTon((to) => ask(service, to))).toEqual(['SUCCESS', 'FAILURE', 'FAILURE', 'FAILURE']);
    }
    expect(await send(service, OTHER_TON)).toBe('SUCCESS');
    const outputs = JSON.stringify([
      { address_to: '0x7', amount: '3' },
      { address_to: SUI, amount: '4' },
    ]);
    const several = { symbol: 'SUI', from: '0x1', amount: '7', outputs };
    expect(await send(service, SUI, several)).toBe('SUCCESS');
    expect(await send(service, '0x07', { symbol: 'SUI', from: '0x1', amount: '4' })).toBe('FAILURE');
    expect(await send(service, '0x07', { symbol: 'SUI', from: '0x1', amount: '3' })).toBe('SUCCESS');
  });

  it.each([
    ['  - deny-list: { of: to, list: named }\n', 'FAILURE', 'SUCCESS'],
    ['  - allow-list: { of: [to, symbol], list: named }\n', 'SUCCESS', 'FAILURE'],
    ['  - cooling-period: { of: [to, symbol], list: named, for: 1s }\n', 'FAILURE', 'FAILURE'],
  ])('for an entry that was added in any of them: %s', async (rule, listed, unlisted) => {
    const service = await host.start({ policies: policies(rule) });
    const end = rule.includes('symbol') ? ' TON' : '';
    for (const added of [...TON, '0:CA6E321C7CCE9ECEDF0A8CA2492EC8592494AA5FB5CE0387DFF96EF6AF982A3E']) {
      const change = { source: 'vault', list: 'named', by: 'ada', message: '' };
      // As it is stored before a policy names the list.
      await service.store.changeList({ ...change, add: [`${added}${end}`], remove: [] });
      expect([added, ...(await everyTon((to) => send(service, to)))]).toEqual([
        added,
        listed,
        listed,
        listed,
        listed,
      ]);
      expect(await sign(service, TON[1])).toBe(listed);
      expect(await send(service, OTHER_TON)).toBe(unlisted);
      await service.store.changeList({ ...change, add: [], remove: [`${added}${end}`] });
      expect(await send(service, TON[0])).toBe(unlisted);
    }
  });

  it('under `when` of a rule, in `not` and in a file there', async () => {
    const service = await host.start({
      policies: {
        ...policies(
          [
            '  - pass: { because: nothing else is asked }',
            `  - amount-limit: { max: 5 }\n    when: { to: ${TON[3]} }`,
            `  - amount-limit: { max: 7 }\n    when: { symbol: TON, not: { to: { file: trusted.txt } } }\n`,
          ].join('\n'),
        ),
        'trusted.txt': `${OTHER_TON}\n${TON[1]}\n`,
      },
    });
    const paying = (to: string, amount: string) => send(service, to, { amount });
    expect(await everyTon((to) => paying(to, '6'))).toEqual(TON.map(() => 'FAILURE'));
    expect(await everyTon((to) => paying(to, '5'))).toEqual(TON.map(() => 'SUCCESS'));
    expect(await paying('UQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p9dz', '8')).toBe('SUCCESS');
    const stranger = `0:${'7'.padStart(64, '0')}`;
    expect(await paying(stranger, '7')).toBe('SUCCESS');
    expect(await paying(stranger, '8')).toBe('FAILURE');
    // No address of the chain: whether the rules apply is not clear.
    expect(await paying(TON[0].replace('HF', 'HG'), '1')).toBe('FAILURE');
  });

  it('for an alternative that looks it up, of which only the one that holds counts', async () => {
    const rules = [
      '  - any:',
      '      - all:',
      '          - allow-list: { of: to, list: known }',
      '          - window-limit: { by: asset, per: [to], window: 24h, max: { TON: 20 } }',
      `      - allow-list: { of: to, values: ['${TON[2]}'] }\n        when: { amount: { atMost: 1 } }\n`,
    ];
    const service = await host.start({ policies: policies(rules.join('\n')) });
    const change = { source: 'vault', list: 'known', by: 'ada', message: '' };
    // As it is stored before a policy names the list.
    await service.store.changeList({ ...change, add: [TON[1]], remove: [] });
    expect(await everyTon((to) => send(service, to))).toEqual(['SUCCESS', 'SUCCESS', 'SUCCESS', 'FAILURE']);
    expect(await send(service, OTHER_TON)).toBe('FAILURE');
    await service.store.changeList({ ...change, add: [OTHER_TON], remove: [TON[1]] });
    expect(await everyTon((to) => send(service, to))).toEqual(TON.map(() => 'FAILURE'));
    expect(await everyTon((to) => send(service, to, { amount: '1' }))).toEqual(TON.map(() => 'SUCCESS'));
    expect(await send(service, TON[0].replace('HF', 'HG'), { amount: '1' })).toBe('FAILURE');
  });

  it('for an order, announced before or after the asset table names the chain', async () => {
    const rule = '  - expected-order: {}\n';
    const service = await host.start({ policies: policies(rule, ONE_SPELLING) });
    const { run } = placeIn(service.folder);
    const announce = (id: string, to: string) =>
      announceOrder(
        service.store,
        [{ name: 'vault', kinds: ['transfer'], schemes: [] }],
        {
          source: 'vault',
          kind: 'transfer',
          id,
          members: { to, symbol: 'TON', amount: '6', memo: 'x' },
          expires: '1h',
          by: 'ada',
        },
        Date.now(),
      );
    for (const [index, to] of TON.entries()) await announce(`o-${index}`, to);
    // There, another spelling is another address.
    expect(await send(service, TON[1], { request_id: 'o-0' })).toBe('FAILURE');
    writeFileSync(join(service.folder, 'policies', 'assets.yaml'), table('ton'));
    expect((await run('policy', 'push', '--message', 'TON has a chain')).code).toBe(0);
    const spellings = [TON[3], TON[2], TON[0], TON[1]];
    for (const [index, to] of spellings.entries()) {
      expect([to, await send(service, to, { request_id: `o-${index}` })]).toEqual([to, 'SUCCESS']);
    }
    await announce('o-9', TON[0]);
    expect(await send(service, OTHER_TON, { request_id: 'o-9' })).toBe('FAILURE');
  });

  it('for what lists hold when the asset table first names the chain', async () => {
    const rules =
      '  - deny-list: { of: to, list: named }\n  - deny-list: { of: to, values: [EQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p4q2] }\n';
    const service = await host.start({ policies: policies(rules, ONE_SPELLING) });
    const { run } = placeIn(service.folder);
    await run('list', 'add', 'named', TON[1], '--source', 'vault');
    expect(await everyTon((to) => send(service, to))).toEqual(['SUCCESS', 'FAILURE', 'SUCCESS', 'SUCCESS']);
    writeFileSync(join(service.folder, 'policies', 'assets.yaml'), table('ton'));
    expect((await run('policy', 'push', '--message', 'TON has a chain')).code).toBe(0);
    expect(await everyTon((to) => send(service, to))).toEqual(['FAILURE', 'FAILURE', 'FAILURE', 'FAILURE']);
    expect(await send(service, 'UQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p9dz')).toBe('FAILURE');
  });

  it('for the terms of a withdrawal, whatever the asset table says of its chain', async () => {
    for (const ton of ['ton', 'text']) {
      const service = await host.start({ policies: policies('  - amount-limit: { max: 10 }\n', ton) });
      const id = { request_id: 'same' };
      expect(await send(service, TON[1], { ...id, type: 'sign_prepare' })).toBe('SUCCESS');
      expect(await everyTon((to) => send(service, to, { ...id, type: 'sign_start' }))).toEqual(
        TON.map(() => 'SUCCESS'),
      );
      expect(await send(service, TON[3], { ...id, type: 'sign_success', txid: 't' })).toBe('SUCCESS');
      expect(await send(service, OTHER_TON, id)).toBe('FAILURE');
      expect(await refusals(service)).toEqual(['TERMS_CHANGED']);
      const found = await searchJournal(service.store, {
        streams: [{ source: 'vault' }],
        newestFirst: false,
        period: {},
        cursor: START,
        filter: { address: TON[2] },
        limit: 10,
      });
      expect(found.entries).toHaveLength(6);
    }
  });

  it('for Bitcoin Cash, in each of its forms', async () => {
    const forms = [
      'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a',
      'qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a',
      'QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A',
      '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu',
    ];
    const other = 'bitcoincash:qr95sy3j9xwd2ap32xkykttr4cvcu7as4y0qverfuy';
    const bch = { symbol: 'BCH', from: other, memo: '' };
    const deny = await host.start({ policies: policies('  - deny-list: { of: to, list: named }\n') });
    const { run } = placeIn(deny.folder);
    for (const form of forms) {
      expect((await run('list', 'add', 'named', form, '--source', 'vault')).code).toBe(0);
      for (const to of forms) expect([form, to, await send(deny, to, bch)]).toEqual([form, to, 'FAILURE']);
      expect((await run('list', 'remove', 'named', form, '--source', 'vault')).code).toBe(0);
    }
    expect(await send(deny, forms[1] ?? '', bch)).toBe('SUCCESS');
    const id = { ...bch, request_id: 'same' };
    for (const to of forms) expect([to, await send(deny, to, id)]).toEqual([to, 'SUCCESS']);
    expect(await send(deny, other, id)).toBe('FAILURE');
  });

  it('and a muxed account of Stellar is refused, since it is also the account in it', async () => {
    const account = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
    const muxed = 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ';
    const rule = `  - deny-list: { of: to, list: named }\n`;
    const service = await host.start({ policies: policies(rule) });
    const { run } = placeIn(service.folder);
    expect((await run('list', 'add', 'named', account, '--source', 'vault')).code).toBe(0);
    for (const to of [account, muxed]) {
      expect([to, await send(service, to, { symbol: 'XLM', from: 'ours' })]).toEqual([to, 'FAILURE']);
    }
  });

  it('and a text that is no address of the chain is refused by rules that use it, and by no other', async () => {
    const using = await host.start({ policies: policies('  - deny-list: { of: to, values: [x] }\n') });
    const other = await host.start({ policies: policies('  - amount-limit: { max: 10 }\n') });
    const bad = [
      ['TON', TON[0].replace('HF', 'HG')],
      ['TON', TON[3].slice(2)],
      ['SUI', '7'],
      ['ETH', '52908400098527886e0f7030069857d2e4169ee7'],
      ['ETH', '0x52908400098527886E0F7030069857D2E4169Ee7'],
    ];
    for (const [symbol, to = ''] of bad) {
      expect([to, await send(using, to, { symbol, from: 'ours' })]).toEqual([to, 'FAILURE']);
      expect([to, await send(other, to, { symbol, from: 'ours' })]).toEqual([to, 'SUCCESS']);
    }
    expect(await send(using, TON[3], { from: 'ours' })).toBe('SUCCESS');
    const [entry] = await journalOf(using.store, 'vault');
    const { out } = await placeIn(using.folder).run('decisions', 'explain', `vault/${entry?.id}`);
    expect(out).toContain(`is not an address of TON: its checksum is wrong`);
  });
});
