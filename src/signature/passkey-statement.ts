import { hash } from 'node:crypto';
import { z } from 'zod';
import { CountersignError, messageOf } from '../errors.ts';
import { printableSentence } from '../values/printable.ts';

export interface PasskeySite {
  /** The host name that passkeys are bound to. */
  readonly host: string;
  /** Such as `https://ops.example.com`, exactly as browsers send it. */
  readonly origin: string;
}

export interface PasskeyAnswer {
  /** What the browser's `navigator.credentials.get` returned, as JSON. */
  readonly response: unknown;
  readonly site: PasskeySite;
  /** The passkey that is expected, in base64url. */
  readonly passkey: { readonly id: string; readonly publicKey: string };
}

/** Ed25519, ECDSA on P-256, RSA with SHA-256: what all browsers have. */
export const PASSKEY_ALGORITHMS = [-8, -7, -257];
const ECDSA = -7;
const COSE_ALGORITHM = 3;

const answerShape = z.object({
  id: z.string().max(2048),
  rawId: z.string().max(2048),
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: z.string().max(8192),
    authenticatorData: z.string().max(8192),
    signature: z.string().max(2048),
  }),
});

/** What a browser is asked to sign: the SHA-256 of the statement, in base64url. */
export function passkeyChallenge(statement: Uint8Array): string {
  return hash('sha256', statement, 'base64url');
}

/**
 * Verifies the signature of a statement by a passkey whose device knew the person. Resolves with the counter
 * of the device, which the caller compares with the one before. Throws SIGNATURE_REFUSED.
 */
export async function verifyPasskeySignature({
  statement,
  ...answer
}: PasskeyAnswer & { readonly statement: Uint8Array }): Promise<{ readonly newCounter: number }> {
  const newCounter = await verifyPasskeyAnswer(answer, passkeyChallenge(statement), (because) => {
    const message = `The signature by passkey is refused: ${because}. Open the page again, and sign there`;
    return new CountersignError('SIGNATURE_REFUSED', message);
  });
  return { newCounter };
}

/** Resolves with the counter of the device. Throws what `refused` makes of the reason. */
export async function verifyPasskeyAnswer(
  answer: PasskeyAnswer,
  challenge: string,
  refused: (because: string) => Error,
): Promise<number> {
  try {
    return await counterIn(answer, challenge);
  } catch (thrown) {
    throw refused(printableSentence(messageOf(thrown)));
  }
}

/** The counter in an answer that holds. Rejects with the reason why it does not, as the library does. */
async function counterIn({ response, site, passkey }: PasskeyAnswer, challenge: string): Promise<number> {
  // Loaded when it is first needed: most services never need it.
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const { decodeClientDataJSON, decodeCredentialPublicKey } = await import('@simplewebauthn/server/helpers');
  const { data: answer } = answerShape.safeParse(response);
  if (answer === undefined) throw new Error('what the browser sent can’t be read');
  if (answer.id !== passkey.id) throw new Error('another passkey was used');
  const publicKey = Uint8Array.from(Buffer.from(passkey.publicKey, 'base64url'));
  const algorithm: unknown = decodeCredentialPublicKey(publicKey).get(COSE_ALGORITHM);
  if (!PASSKEY_ALGORITHMS.some((each) => each === algorithm)) {
    throw new Error(`the passkey is of the algorithm ${String(algorithm)}, which is not accepted`);
  }
  const clientData = decodeClientDataJSON(answer.response.clientDataJSON);
  if (clientData.challenge !== challenge) throw new Error('the passkey signed something else');
  // The site around it could hide what the person agrees to.
  if (clientData.crossOrigin === true) throw new Error('the page was shown inside one of another site');
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: { ...answer, clientExtensionResults: {} },
    expectedChallenge: challenge,
    expectedOrigin: site.origin,
    expectedRPID: site.host,
    requireUserVerification: true,
    // The caller compares the counter.
    credential: { id: passkey.id, publicKey, counter: 0 },
  });
  // The library takes other forms too, with which a signature that is kept would not verify elsewhere.
  const isWhole = algorithm !== ECDSA || isDer(Buffer.from(answer.response.signature, 'base64url'));
  if (verified && isWhole && authenticationInfo.userVerified) return authenticationInfo.newCounter;
  throw new Error('the signature is wrong');
}

/** Whether these are two numbers in DER (X.690), of fewer than 128 bytes: the form of ECDSA. */
function isDer(signature: Buffer): boolean {
  let at = 2;
  for (let number = 0; number < 2; number++) {
    const [tag, length = 0, first = 0, second = 0] = signature.subarray(at);
    if (tag !== 2 || length === 0 || first >= 128 || (first === 0 && second < 128)) return false;
    at += 2 + length;
  }
  return signature[0] === 0x30 && signature[1] === signature.length - 2 && at === signature.length;
}
