import type { Credentials } from './credentials.ts';
import { type Body, bodyText, readBody } from './json.ts';
import { withoutSecrets } from './log.ts';
import { Refusal } from './refusal.ts';
import { type Scheme, canonicalText, decrypt, isMd5Sign, isRsaSign, isRsaTextSign } from './signing.ts';

/** A request whose signature is valid. */
export interface Authentic {
  readonly scheme: Scheme;
  /** The parameters. */
  readonly body: Body;
}

/** What is known of a request so far, for the log and the form of the answer. */
export interface Trace {
  scheme: Scheme | undefined;
  /** The signed text, without secrets. */
  signed: string;
}

const APP_KEY = /^[\x21-\x7e]{1,128}$/;
const SECONDS_OR_MS = /^(?:\d{10}|\d{13})$/;

/**
 * Reads and verifies a request. Throws a Refusal with the code that is documented for the fault. `isLogin` is
 * section 4.1, whose parameters are encrypted under either scheme, and whose envelope may have nothing but
 * `data` and `sign`.
 */
export function authenticate(
  text: string,
  credentials: Credentials,
  { isLogin, trace }: { readonly isLogin: boolean; readonly trace: Trace },
): Authentic {
  const outer = readBody(text);
  if (typeof outer === 'string') throw new Refusal('10020', outer);
  const isEncryptedLogin = isLogin && outer.has('appKey') && outer.has('data');
  if (outer.has('data') && !isEncryptedLogin) {
    trace.scheme = 'rsa-envelope';
    return openEnvelope(outer, credentials, { isLogin, trace });
  }
  trace.scheme = 'md5';
  trace.signed = canonicalText(withoutSecrets(outer));
  checkAppKey(textOf(outer, 'appKey'), 'appKey', credentials);
  const sign = textOf(outer, 'sign');
  if (sign === undefined) throw new Refusal('50005', 'sign is missing');
  const scheme = flatScheme(outer, sign, { credentials, trace });
  return { scheme, body: isEncryptedLogin ? decryptLogin(outer, credentials) : outer };
}

/** The scheme whose signature of the sorted members is right. */
function flatScheme(
  outer: Body,
  sign: string,
  { credentials, trace }: { readonly credentials: Credentials; readonly trace: Trace },
): Scheme {
  const { secret, merchantKey } = credentials;
  if (/^[0-9a-fA-F]{32}$/.test(sign)) {
    if (isMd5Sign(outer, secret, sign)) return 'md5';
    throw new Refusal('50005', 'sign is not the MD5 of the sorted members and the secret');
  }
  const isValid = isRsaTextSign(canonicalText(outer), merchantKey, sign);
  if (isValid === undefined) {
    throw new Refusal('50005', 'sign is neither an MD5 in 32 hexadecimal digits nor an RSA signature');
  }
  trace.scheme = 'rsa';
  if (!isValid) throw new Refusal('50005', "sign is not the merchant's signature of the sorted members");
  return 'rsa';
}

/** Section 4.1 with flat members: appKey and `data` outside, and the parameters encrypted in `data`. */
function decryptLogin(outer: Body, credentials: Credentials): Body {
  const plaintext = decrypt(textOf(outer, 'data') ?? '', credentials.platformKey);
  if (plaintext === undefined) {
    throw new Refusal('10020', "data is not encrypted with the platform's public key");
  }
  const body = readBody(plaintext.toString('utf8'));
  if (typeof body === 'string') throw new Refusal('10020', `in data, ${body}`);
  checkAppKey(textOf(body, 'appKey'), 'appKey in data', credentials);
  return body;
}

function openEnvelope(
  outer: Body,
  credentials: Credentials,
  { isLogin, trace }: { readonly isLogin: boolean; readonly trace: Trace },
): Authentic {
  const [appId, data, sign] = [textOf(outer, 'app_id'), textOf(outer, 'data'), textOf(outer, 'sign')];
  if (appId !== undefined || !isLogin) checkAppKey(appId, 'app_id', credentials);
  const time = outer.get('time');
  if (!(isLogin && time === undefined) && !SECONDS_OR_MS.test(time?.text ?? '')) {
    throw new Refusal('50010', 'time is neither seconds nor milliseconds since the epoch');
  }
  if (data === undefined) throw new Refusal('10020', 'data is empty');
  if (sign === undefined) throw new Refusal('50005', 'sign is missing');
  const plaintext = decrypt(data, credentials.platformKey);
  if (plaintext === undefined) {
    throw new Refusal('50005', "data is not encrypted with the platform's public key");
  }
  if (!isRsaSign(plaintext, credentials.merchantKey, sign)) {
    throw new Refusal('50005', "sign is not the merchant's signature of the MD5 of the decrypted data");
  }
  const body = readBody(plaintext.toString('utf8'));
  if (typeof body === 'string') throw new Refusal('10020', `in data, ${body}`);
  trace.signed = bodyText(withoutSecrets(body));
  const inner = textOf(body, 'appKey');
  if (inner !== undefined || appId === undefined) checkAppKey(inner, 'appKey in data', credentials);
  return { scheme: 'rsa-envelope', body };
}

function checkAppKey(given: string | undefined, name: string, { appKey }: Credentials): void {
  if (given === undefined || !APP_KEY.test(given)) {
    throw new Refusal('50001', `${name} is missing, or is not 1 to 128 visible characters`);
  }
  if (given !== appKey) throw new Refusal('50004', `${name} ${given} is unknown`);
}

/** The text of a string that is not empty. */
function textOf(body: Body, name: string): string | undefined {
  const value = body.get(name);
  return value?.kind === 'string' && value.text !== '' ? value.text : undefined;
}
