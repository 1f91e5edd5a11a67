import { PAYMENT_MEMBERS, PAYMENT_OPTIONAL } from '../../src/callback/payment.ts';
import { CountersignError, type Failure } from '../../src/errors.ts';
import {
  type Authenticator,
  type AuthenticatorParts,
  compileAuthenticator,
} from '../../src/signature/authenticate.ts';
import type { Authenticated } from '../../src/signature/scheme.ts';
import type { PaymentSourceConfig, SchemeConfig, SourceConfig } from '../../src/signature/config.ts';
import { type Members, decodeMembers } from '../../src/values/members.ts';
import { type ReadSecret, nameOfSecret } from '../../src/values/secret.ts';

export const payment = {
  appKey: 'demoKey',
  userId: '12345',
  appOrderId: '11321',
  orderAmount: '100',
  payCoinSymbol: 'USDT1742',
};

/** Secrets by the name of an environment variable. */
export function partsOf(secrets: Readonly<Record<string, string>>): AuthenticatorParts {
  const readSecret: ReadSecret = (reference) => {
    const secret = 'env' in reference ? secrets[reference.env] : undefined;
    if (secret === undefined) {
      throw new CountersignError('SECRET_UNREADABLE', `${nameOfSecret(reference)} is not set: set it`);
    }
    return secret;
  };
  return { readSecret, grammar: PAYMENT_MEMBERS, optional: PAYMENT_OPTIONAL };
}

export function shop(...signatures: readonly SchemeConfig[]): PaymentSourceConfig {
  return { name: 'shop', callback: 'payment', appKey: 'demoKey', signatures };
}

export const md5By = (env: string, emptyValues: 'keep' | 'skip' = 'keep'): SchemeConfig => ({
  scheme: 'md5',
  secret: { env },
  emptyValues,
});

export const rsaBy = (
  env: string,
  changes: Partial<Extract<SchemeConfig, { scheme: 'rsa' }>> = {},
): SchemeConfig => ({
  scheme: 'rsa',
  platformKey: { env },
  digest: 'sha256',
  signs: 'string',
  emptyValues: 'keep',
  ...changes,
});

export const envelopeBy = (platform: string, merchant: string): SchemeConfig => ({
  scheme: 'rsa-envelope',
  platformKey: { env: platform },
  merchantKey: { env: merchant },
});

export function authenticatorOf(
  sources: readonly SourceConfig[],
  secrets: Readonly<Record<string, string>>,
): Authenticator {
  return compileAuthenticator(sources, partsOf(secrets));
}

export function membersOf(body: unknown): Members {
  const decoded = decodeMembers(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
  if (!decoded.ok) throw new Error(decoded.because);
  return decoded.members;
}

/** What an authenticator says of a body, which may be an object or JSON text. */
export function authenticate(authenticator: Authenticator, body: unknown): Promise<Authenticated | Failure> {
  return authenticator.payment(membersOf(body));
}

export function textsOf(members: Members): Record<string, string> {
  return Object.fromEntries(Array.from(members, ([name, { text }]) => [name, text]));
}

/** The code of a failure; `ok` for what was accepted. */
export function codeOf(outcome: Authenticated | Failure): string {
  return outcome.ok ? 'ok' : outcome.code;
}

export function faultOf(run: () => unknown): CountersignError {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof CountersignError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}
