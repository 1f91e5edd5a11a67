import { compileMembership, membershipNotes, membershipParameters } from './membership.ts';
import { defineRule } from './rule.ts';

export const allowList = defineRule({
  name: 'allow-list',
  summary: 'A member’s value must be on a list.',
  notes: [
    ...membershipNotes,
    'A withdrawal to several addresses passes only if all of them are on the list.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: membershipParameters,
  example: `policy: known-addresses
callback: transfer
when: { source: vault }
rules:
  - allow-list: { of: to, values: ['0x52908400098527886E0F7030069857D2E4169EE7'] }
  - allow-list: { of: to, list: partners }
`,
  compile: (parameters, context) => compileMembership(parameters, 'hold-all', context),
});
