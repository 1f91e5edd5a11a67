import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { secretText, word } from '../parameters.ts';
import { tokens } from './exchange-code.ts';

/** Section 4 doesn't contain it; the platform documents it elsewhere. */
export const refreshToken = defineOperation({
  section: '4.1 refresh',
  name: 'tokens.refresh',
  command: 'refresh-token',
  path: 'auth/refreshToken',
  summary: 'Exchange the refresh token of a user for new tokens.',
  parameters: z.strictObject({
    openId: word.describe('The openId of the user.'),
    token: secretText.describe('The token that expires.'),
    refreshToken: secretText.describe('The refresh token that came with it.'),
  }),
  secrets: ['token', 'refreshToken'],
  example: { openId: 'OPEN-ID', token: 'TOKEN', refreshToken: 'REFRESH-TOKEN' },
  data: tokens,
  reads: false,
});
