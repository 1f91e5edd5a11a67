import { compileMembership, membershipNotes, membershipParameters } from './membership.ts';
import { defineRule } from './rule.ts';

export const denyList = defineRule({
  name: 'deny-list',
  summary: 'The value of a member must not be on a list.',
  notes: [...membershipNotes, 'A withdrawal to several addresses is refused if one of them is on the list.'],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: membershipParameters,
  listedValues: 'refuse',
  example: `policy: no-blocked-users
callback: payment
when: { source: shop }
rules:
  - deny-list: { of: userId, list: blocked-users }
`,
  cases: `tests:
  - test: a user who is not on the list passes, one who is does not
    now: 2026-03-02T10:00:00Z
    given:
      lists: { shop: { blocked-users: ['666'] } }
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '2', userId: '666', payCoinSymbol: USDT1742, orderAmount: '100' }
        expect: { verdict: FAILURE, rule: deny-list#1, because: is on the list blocked-users }
  - test: an empty list denies nobody
    now: 2026-03-02T10:00:00Z
    given:
      lists: { shop: { blocked-users: [] } }
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '666', payCoinSymbol: USDT1742, orderAmount: '100' }
        expect: SUCCESS
  - test: a missing list is not an empty list
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        expect: { verdict: FAILURE, rule: deny-list#1, because: there is no list blocked-users }
`,
  compile: (parameters, context) => compileMembership(parameters, 'hold-none', context),
});
