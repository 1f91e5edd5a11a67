import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { names } from '../parameters.ts';
import { amount, count, id, integer, list, record, text } from '../readings.ts';

/** Section 2.19. */
const agent = record({ itemDate: integer, uid: id, coin: text, tradeAmount: amount, feeAmount: amount });

export const agents = defineOperation({
  section: '4.21',
  name: 'agents.list',
  command: 'agents',
  path: 'futures/agentUser',
  summary: 'List the contract brokers among users, with their trades and fees.',
  notes: [
    'The specification shows an answer without code and msg. Such an answer is not signed, also with ' +
      'rsa-envelope.',
  ],
  parameters: z.strictObject({
    uids: names.describe('The UIDs of users, with commas between them.'),
  }),
  example: { uids: '12345,12346' },
  data: record({ count, list: list(agent) }),
  empty: { count: '0', list: [] },
  record: agent,
  reads: true,
  records: (data) => data.list,
  answer: 'bare',
});
