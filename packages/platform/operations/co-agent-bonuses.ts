import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { milliseconds, oneOf, page, pageSize, word } from '../parameters.ts';
import { amount, count, fields, id, integer, known, list, note, record, text } from '../readings.ts';

/** Section 2.18. */
const bonus = record({
  ...fields(amount, 'selfVolume amount subVolume scale'),
  remark: note,
  subUid: id,
  subAccount: note,
  uid: id,
  superUid: id,
  nickname: note,
  id,
  userType: known(1, 2).describe('1 without a child user, 2 with one.'),
  time: integer.describe('In milliseconds.'),
  bonusType: known(1, 2).describe('1 return commission, 2 divide commission.'),
  subLevel: integer,
  coin: text,
  status: known(0, 1, 2, 3).describe('0 pending review, 1 settlement, 2 settled, 3 failed.'),
});

export const coAgentBonuses = defineOperation({
  section: '4.20',
  name: 'coAgentBonuses.list',
  command: 'co-agent-bonuses',
  path: 'record/co_agent_user_bonus',
  summary: 'List the bonuses of co-agents.',
  parameters: z.strictObject({
    coin: word.optional().describe('The coin.'),
    ctimeStart: milliseconds.optional().describe('The earliest bonus, in milliseconds or as an instant.'),
    ctimeEnd: milliseconds.optional().describe('The latest bonus, in milliseconds or as an instant.'),
    pageSize: pageSize(10, 1000),
    page,
    uid: word.optional().describe('The UID of the invitee.'),
    pid: word.optional().describe('The UID of the invitee; the specification describes it like uid.'),
    superUid: word.optional().describe('The affiliated studio.'),
    status: oneOf(['0', '1', '2', '3'])
      .optional()
      .describe('0 pending review, 1 settlement, 2 settled, 3 failed; all if it is left out.'),
    levelType: oneOf(['1', '2']).optional().describe('1 first level, 2 second level.'),
    userType: oneOf(['1', '2']).optional().describe('1 without a child user, 2 with one.'),
    bonusType: oneOf(['1', '2']).optional().describe('1 return commission, 2 divide commission.'),
  }),
  example: { coin: 'USDT1742', status: '2' },
  data: record({ count, list: list(bonus) }),
  empty: { count: '0', list: [] },
  record: bonus,
  reads: true,
  paging: {
    page: 'page',
    size: 'pageSize',
    records: (data) => data.list,
    count: (data) => data.count,
    key: (each) => each.id,
  },
});
