import { compileMembership, membershipNotes, membershipParameters } from './membership.ts';
import { defineRule } from './rule.ts';

export const denyList = defineRule({
  name: 'deny-list',
  summary: 'A member’s value must not be on a list.',
  notes: [
    ...membershipNotes,
    'A withdrawal to several addresses passes only if none of them is on the list.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: membershipParameters,
  example: `policy: no-blocked-users
callback: payment
when: { source: shop }
rules:
  - deny-list: { of: userId, list: blocked-users }
`,
  compile: (parameters, context) => compileMembership(parameters, 'hold-none', context),
});
