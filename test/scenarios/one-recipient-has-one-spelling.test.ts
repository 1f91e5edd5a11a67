import { expect, it } from 'vitest';
import { TO, transfer, web3 } from '../service.ts';
import { journalOf } from './audit.ts';
import { describeOnBothStores } from './on-both-stores.ts';
import { ASSETS } from '../assets.ts';

/** At most 10 a day to one recipient, an address with its memo. */
const POLICIES = {
  'assets.yaml': ASSETS,
  'transfers.yaml': `policy: transfers
callback: transfer
when: { symbol: [EOS, XRP] }
rules:
  - window-limit: { by: asset, per: [to, memo], window: 24h, max: { EOS: 10, XRP: 10 } }
  - deny-list: { of: memo, values: ['666', 'bad memo'] }
`,
  'web3.yaml': 'policy: web3\ncallback: web3\nrules: [{ amount-limit: { max: 10 } }]\n',
};
const EOS = { symbol: 'EOS', to: 'exchange1234', from: 'ours' };
const XRP = { symbol: 'XRP', to: 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh', from: 'ours' };

/** Each is 666 to whoever reads it, and to most programs. */
const DISGUISED: readonly (readonly [name: string, memo: string])[] = [
  ['a blank before', ' 666'],
  ['a blank after', '666 '],
  ['a no-break space after', '666\u00a0'],
  ['an ideographic space before', '\u3000666'],
  ['a tab after', '666\t'],
  ['a line break after', '666\n'],
  ['a zero-width space', '6\u200b66'],
  ['a zero-width joiner', '66\u200d6'],
  ['a byte order mark', '\ufeff666'],
  ['a soft hyphen', '66\u00ad6'],
  ['a word joiner', '666\u2060'],
  ['a left-to-right mark', '\u200e666'],
  ['a right-to-left override', '\u202e666'],
  ['a directional isolate', '\u2066666\u2069'],
  ['a line separator', '666\u2028'],
  ['a C1 control character', '666\u0085'],
  ['a variation selector', '666\ufe0f'],
  ['a tag character', '666\u{e0036}'],
  ['a Hangul filler', '666\u3164'],
];

describeOnBothStores('a memo with a second spelling is refused, and so evades nothing', (host) => {
  it('whatever nobody sees in it', async () => {
    const service = await host.start({ policies: POLICIES });
    for (const [name, memo] of DISGUISED) {
      const body = transfer({ ...EOS, request_id: name.replaceAll(' ', '-'), memo });
      expect([name, await service.cosign('/cosigner/withdraw', body)]).toEqual([name, 'FAILURE']);
    }
    const entries = await journalOf(service.store, 'vault');
    expect([...new Set(entries.map(({ type, code }) => `${type} ${code}`))]).toEqual([
      'refused MEMBER_INVALID',
    ]);
    const because = (name: string): unknown =>
      JSON.parse(entries[DISGUISED.findIndex(([each]) => each === name)]?.detail ?? '{}').because;
    expect(because('a blank after')).toBe(
      'memo begins or ends with white space: a blank (U+0020), so another text looks the same; send it without that',
    );
    expect(because('a zero-width space')).toBe(
      'memo has an invisible character: a zero width space (U+200B), so another text looks the same; send it without that',
    );
  });

  it('also one that is no Unicode normal form C', async () => {
    const service = await host.start({ policies: POLICIES });
    const send = (id: string, memo: string): Promise<string> =>
      service.cosign('/cosigner/withdraw', transfer({ ...EOS, request_id: id, memo }));
    expect(await send('a', 'caf\u00e9 7')).toBe('SUCCESS');
    expect(await send('b', 'cafe\u0301 7')).toBe('FAILURE');
  });

  it('while memos that people really have pass', async () => {
    const service = await host.start({ policies: POLICIES });
    for (const [index, memo] of [
      '88410023',
      '0088410023',
      'order 7, with blanks',
      'Grüße',
      '支付 7',
      'a  b',
      '+7',
    ].entries()) {
      const body = transfer({ ...EOS, request_id: `r-${index}`, memo });
      expect([memo, await service.cosign('/cosigner/withdraw', body)]).toEqual([memo, 'SUCCESS']);
    }
  });

  it('a destination tag is written as the number that it is', async () => {
    const service = await host.start({ policies: POLICIES });
    let count = 0;
    const send = (memo: unknown, more: object = XRP): Promise<string> =>
      service.cosign('/cosigner/withdraw', transfer({ ...more, request_id: `r-${count++}`, memo }));
    for (const memo of ['12345', 12346, '0', '4294967295']) {
      expect([memo, await send(memo)]).toEqual([memo, 'SUCCESS']);
    }
    for (const memo of ['0666', '00', '+666', '-1', '6_66', '666x', '0x29a', '1e3', '4294967296', '６６６']) {
      expect([memo, await send(memo)]).toEqual([memo, 'FAILURE']);
    }
    const outputs = JSON.stringify([
      { address_to: EOS.to, amount: '1' },
      { address_to: XRP.to, amount: '0.5' },
    ]);
    const refused = (await journalOf(service.store, 'vault')).filter(({ verdict }) => verdict === 'FAILURE');
    expect(new Set(refused.map(({ detail }) => JSON.parse(detail).because))).toEqual(
      new Set([
        'memo is not a destination tag, which on Ripple is a whole number from 0 to 4294967295; send it in digits, without leading zeros',
      ]),
    );
    expect(await send('0777', { ...EOS, outputs })).toBe('FAILURE');
    expect(await send('777', { ...EOS, outputs })).toBe('SUCCESS');
  });

  it('and so are ids, addresses, symbols and hashes with white space or format characters', async () => {
    const service = await host.start({ policies: POLICIES });
    const spoilt = (text: string): readonly string[] => [
      ` ${text}`,
      `${text} `,
      `${text}\u200b`,
      `${text}\u00a0`,
    ];
    for (const name of ['request_id', 'transfer_id', 'from', 'to', 'symbol', 'txid'] as const) {
      const sound: Record<string, string> = { ...EOS, request_id: 'r', transfer_id: '7', txid: '0xa' };
      for (const text of spoilt(sound[name] ?? '')) {
        const body = transfer({ ...sound, memo: '1', [name]: text });
        expect([name, text, await service.cosign('/cosigner/withdraw', body)]).toEqual([
          name,
          text,
          'FAILURE',
        ]);
      }
    }
    for (const name of ['request_id', 'trans_id', 'from', 'to', 'main_chain_symbol', 'input_data', 'txid']) {
      const sound: Record<string, string> = {
        request_id: 'r',
        trans_id: '7',
        from: TO,
        to: TO,
        main_chain_symbol: 'ETH',
        input_data: '0x',
        txid: '0xa',
      };
      for (const text of spoilt(sound[name] ?? '')) {
        const answer = await service.cosign('/cosigner/web3', web3({ ...sound, [name]: text }));
        expect([name, text, answer]).toEqual([name, text, 'FAILURE']);
      }
    }
    for (const name of ['userId', 'appOrderId', 'payCoinSymbol', 'orderAmount']) {
      const sound: Record<string, string> = {
        userId: '7',
        appOrderId: 'o',
        payCoinSymbol: 'USDT',
        orderAmount: '1',
      };
      for (const text of spoilt(sound[name] ?? '')) {
        expect([name, text, await service.pay({ ...sound, [name]: text })]).toEqual([name, text, 'FAILURE']);
      }
    }
    const entries = [
      ...(await journalOf(service.store, 'vault')),
      ...(await journalOf(service.store, 'shop')),
    ];
    expect([...new Set(entries.map(({ type, code }) => `${type} ${code}`))]).toEqual([
      'refused MEMBER_INVALID',
    ]);
  });
});
