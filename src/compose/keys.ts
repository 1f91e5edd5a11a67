import { PAYMENT_MEMBERS, PAYMENT_OPTIONAL } from '../callback/payment.ts';
import type { Settings } from '../settings/schema.ts';
import { type Authenticator, compileAuthenticator } from '../signature/authenticate.ts';
import type { ReadSecret } from '../values/secret.ts';

/** All sources with their keys, read now. Throws one error that lists every key that can't be read. */
export function authenticatorOf(settings: Settings, readSecret: ReadSecret): Authenticator {
  return compileAuthenticator(settings.sources, {
    readSecret,
    grammar: PAYMENT_MEMBERS,
    optional: PAYMENT_OPTIONAL,
  });
}
