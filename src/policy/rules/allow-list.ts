import { MORE } from '../language/looser.ts';
import { compileMembership, membershipParameters } from './membership.ts';
import { defineRule } from './rule.ts';

export const allowList = defineRule({
  name: 'allow-list',
  summary: 'The value of a member must be on a list.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: membershipParameters(MORE),
  compile: (parameters, context) => compileMembership(parameters, 'hold-all', context),
});
