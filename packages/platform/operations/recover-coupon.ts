import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { integer } from '../parameters.ts';

export const recoverCoupon = defineOperation({
  section: '4.16',
  name: 'coupons.recover',
  command: 'recover-coupon',
  path: 'futures/coupon/recovery',
  summary: 'Recover the bonus of a futures coupon.',
  clientNotes: [
    'It is never sent twice by itself. After the outcome `unknown`, read the status of the coupon.',
  ],
  parameters: z.strictObject({
    id: integer.describe('The id of the coupon record.'),
  }),
  numbers: ['id'],
  example: { id: '4711' },
  // What a success carries besides doesn't make it a failure.
  data: z
    .unknown()
    .describe('null. The answer has no data.')
    .transform(() => null)
    .meta({ tsType: 'null' }),
  reads: false,
});
