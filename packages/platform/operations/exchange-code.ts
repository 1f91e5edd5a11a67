import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { secretText } from '../parameters.ts';
import { integer, record, text } from '../readings.ts';

/** The tokens of a user (section 2.14). */
export const tokens = record({
  openId: text,
  expireIn: integer.describe('Seconds until the token expires.'),
  refreshToken: text,
  token: text,
});

export const exchangeCode = defineOperation({
  section: '4.1',
  name: 'tokens.exchange',
  command: 'exchange-code',
  path: 'auth/token',
  summary: "Exchange the code of a user's login for the openId and the tokens of the user.",
  notes: ['A code can be used once.', 'appKey and code are always sent encrypted, also with md5 and rsa.'],
  clientNotes: ["With md5 and rsa credentials, it also needs the platform's public key."],
  parameters: z.strictObject({
    code: secretText.describe('The code that the first step of the login returned.'),
  }),
  secrets: ['code'],
  example: { code: 'CODE' },
  data: tokens,
  reads: false,
  body: 'encrypted',
});
