import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { secretText, word } from '../parameters.ts';
import { id, note, record, text } from '../readings.ts';

export const loginToken = defineOperation({
  section: '4.15',
  name: 'loginTokens.create',
  command: 'login-token',
  path: 'user/getExchangeToken',
  summary: 'Get a token that signs a user in to the exchange without a login.',
  parameters: z.strictObject({
    apiKey: secretText.describe('The key of the open API.'),
    secret: secretText.describe('The secret of the key.'),
    uid: word.describe('The UID of the user.'),
  }),
  secrets: ['apiKey', 'secret'],
  example: { apiKey: 'API-KEY', secret: 'SECRET', uid: '12345' },
  /** Section 2.13. */
  data: record({ uid: id, inviteCode: note, token: text }),
  reads: false,
});
