import { z } from 'zod';
import { subjectOf } from '../../callback/callback.ts';
import { announcedOrder } from '../order-members.ts';
import { defineRule } from './rule.ts';

export const expectedOrder = defineRule({
  name: 'expected-order',
  summary: 'A callback must match an order that was announced before, with the same id and the same members.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({}),
  compile: () => ({
    evaluate: (callback, { scheme }) => {
      const subject = subjectOf(callback);
      const claim = announcedOrder(callback, scheme);
      const { amount = '', symbol = '' } = claim.members;
      return {
        verdict: 'claim',
        because: `an announced order for ${subject} that agrees with it`,
        values: { subject, amount, symbol },
        claims: [claim],
        retryable: true,
      };
    },
  }),
});
