import { FEWER } from '../language/looser.ts';
import { compileMembership, membershipParameters } from './membership.ts';
import { defineRule } from './rule.ts';

export const denyList = defineRule({
  name: 'deny-list',
  summary: 'The value of a member must not be on a list.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: membershipParameters(FEWER),
  compile: (parameters, context) => compileMembership(parameters, 'hold-none', context),
});
