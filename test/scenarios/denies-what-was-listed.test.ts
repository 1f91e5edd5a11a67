import { expect, it } from 'vitest';
import { placeIn } from '../cli/terminal.ts';
import { call } from '../policy/calls/transactions.ts';
import { TO, transfer, web3 } from '../service.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const ENTRY = 'Evil Bridge 0xDEAD';
const BECH32 = 'BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ';
const POLICIES = {
  'web3.yaml': `policy: web3
callback: web3
when: { main_chain_symbol: ETH }
rules:
  - contract-calls:
      abis: own.abi
      calls: [{ contract: '${TO}', method: 'note(string)', where: { text: { not-list: blocked } } }]
`,
  'own.abi': 'note(string text)',
  'transfers.yaml':
    'policy: transfers\ncallback: transfer\nrules: [{ deny-list: { of: memo, list: blocked } }]\n',
};

describeOnBothStores('what `list add` put on a deny-list is denied', (host) => {
  it('in call data and in a memo, however it is written', async () => {
    const service = await host.start({ policies: POLICIES });
    const { run } = placeIn(service.folder);
    const added = await run(
      'list',
      'add',
      'blocked',
      ENTRY,
      `to ${BECH32}`,
      'cafe\u0301 7',
      '--source',
      'vault',
    );
    expect(added.code).toBe(0);
    let count = 0;
    const note = (text: string): Promise<string> =>
      service.cosign(
        '/cosigner/web3',
        web3({ request_id: `c-${count++}`, input_data: call('note(string)', text) }),
      );
    const memo = (text: string): Promise<string> =>
      service.cosign('/cosigner/withdraw', transfer({ request_id: `w-${count++}`, memo: text }));
    for (const send of [note, memo]) {
      for (const text of [
        ENTRY,
        'Evil Bridge 0xdead',
        `to ${BECH32}`,
        `to ${BECH32.toLowerCase()}`,
        'caf\u00e9 7',
        'cafe\u0301 7',
        `${ENTRY} `,
        `${ENTRY}\n`,
        'Evil\u200b Bridge 0xDEAD',
      ]) {
        expect([send.name, text, await send(text)]).toEqual([send.name, text, 'FAILURE']);
      }
      expect(await send('a friend')).toBe('SUCCESS');
    }
    const removed = await run('list', 'remove', 'blocked', ENTRY, 'cafe\u0301 7', '--source', 'vault');
    expect(removed.out).toContain('2 removed');
    expect([await note(ENTRY), await memo('caf\u00e9 7')]).toEqual(['SUCCESS', 'SUCCESS']);
  });
});
