import { compileMembership, membershipNotes, membershipParameters } from './membership.ts';
import { defineRule } from './rule.ts';

export const allowList = defineRule({
  name: 'allow-list',
  summary: 'The value of a member must be on a list.',
  notes: [
    ...membershipNotes,
    'A withdrawal to several addresses passes only if all of them are on the list.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: membershipParameters,
  listedValues: 'pass',
  example: `policy: exchange-deposits
callback: transfer
when: { source: vault, symbol: XRP }
rules:
  - allow-list: { of: to, values: [rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh, rPEPPER7kfTD9w2To4CQk6UCfuHM9c6GDY] }
  - allow-list: { of: [to, symbol, memo], list: vault-partners }
`,
  cases: `tests:
  - test: an address on both lists passes, with the memo that the list in the store has for it
    now: 2026-03-02T10:00:00Z
    given:
      lists: { vault: { vault-partners: ['rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh XRP 12345'] } }
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: ours, to: rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh, amount: '25', symbol: XRP,
            memo: '12345' }
        expect: SUCCESS
  - test: another memo, no memo and an unknown address are refused
    now: 2026-03-02T10:00:00Z
    given:
      lists:
        vault:
          vault-partners:
            - rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh XRP 12345
            - rrrrrrrrrrrrrrrrrrrrrhoLvTp XRP 12345
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: ours, to: rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh, amount: '25', symbol: XRP,
            memo: '12346' }
        expect: { verdict: FAILURE, rule: allow-list#2 }
      - source: vault
        transfer:
          { request_id: r2, from: ours, to: rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh, amount: '25', symbol: XRP }
        expect: { verdict: FAILURE, rule: allow-list#2, because: memo is missing }
      - source: vault
        transfer:
          { request_id: r3, from: ours, to: rrrrrrrrrrrrrrrrrrrrrhoLvTp, amount: '25', symbol: XRP,
            memo: '12345' }
        expect: { verdict: FAILURE, rule: allow-list#1, values: { values: rrrrrrrrrrrrrrrrrrrrrhoLvTp } }
  - test: without the list in the store every withdrawal is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: ours, to: rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh, amount: '25', symbol: XRP,
            memo: '12345' }
        expect: { verdict: FAILURE, rule: allow-list#2, because: there is no list vault-partners }
`,
  compile: (parameters, context) => compileMembership(parameters, 'hold-all', context),
});
