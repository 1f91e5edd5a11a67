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
  type: id,
  coin: text,
  showName: note,
  updateTime: integer,
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
  record: account,
  reads: true,
  records: (data) => data.accounts,
  check: ({ updateTime }, nowMs) =>
    Number(updateTime) < nowMs - DAY_MS
      ? `updateTime ${updateTime} is more than 24 hours ago; write at least ${nowMs - DAY_MS}`
      : undefined,
});
