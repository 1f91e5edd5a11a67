import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { milliseconds } from '../parameters.ts';
import { amount, id, integer, list, note, record, text } from '../readings.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Section 2.2. */
const account = record({
  id,
  uid: id,
  balance: amount,
  type: id.describe(
    '201 normal balance, 202 frozen, 207 lockup, 210 OTC merchant margin, 217 OTC normal balance, ' +
      '218 OTC frozen, 221 frozen by a subscription of the innovation trial zone, 230 lockup V2. ' +
      'Samples have longer numbers that begin with these.',
  ),
  coin: text,
  showName: note.describe('The name of the coin for display.'),
  updateTime: integer.describe('In milliseconds.'),
});

export const accounts = defineOperation({
  section: '4.4',
  name: 'accounts.listChanged',
  command: 'accounts',
  path: 'ouser/batchQueryUserAccountsByUpdateTime',
  summary: 'List the accounts of users that changed since a time within the last 24 hours.',
  parameters: z.strictObject({
    updateTime: milliseconds.describe('The earliest change, in milliseconds or as an instant.'),
  }),
  numbers: ['updateTime'],
  example: { updateTime: '2026-03-02T10:00:00Z' },
  data: record({ accounts: list(account) }),
  empty: { accounts: [] },
  record: account,
  reads: true,
  records: (data) => data.accounts,
  check: ({ updateTime }, nowMs) =>
    Number(updateTime) < nowMs - DAY_MS
      ? `updateTime ${updateTime} is more than 24 hours ago; write at least ${nowMs - DAY_MS}`
      : undefined,
});
