import type { Members } from '../values/members.ts';
import type { ReadSecret } from '../values/secret.ts';
import type { SchemeName } from './config.ts';
import type { DecryptionThreads } from './blocks.ts';
import { md5 } from './md5.ts';
import { rsaEnvelope } from './rsa-envelope.ts';
import { rsa } from './rsa.ts';
import type { ConfigOf, Scheme, Shape, Signer, SignerConfigOf, Verifier } from './scheme.ts';

/** The registry of schemes. */
const schemes: { readonly [N in SchemeName]: Scheme<N> } = {
  md5,
  rsa,
  'rsa-envelope': rsaEnvelope,
};

const all: readonly Pick<Scheme<SchemeName>, 'name' | 'shape' | 'matchesForm'>[] = Object.values(schemes);

/** Reads one key of a source. Throws KEY_UNREADABLE or SECRET_UNREADABLE. */
export function compileVerifier<N extends SchemeName>(
  config: ConfigOf<N>,
  readSecret: ReadSecret,
  threads?: DecryptionThreads,
): Verifier {
  return schemes[config.scheme].verifier(config, readSecret, threads);
}

/** The sender's side: signs bodies that {@link compileVerifier} accepts. Throws KEY_UNREADABLE. */
export function compileSigner<N extends SchemeName>(config: SignerConfigOf<N>): Signer {
  return schemes[config.scheme].signer(config);
}

/** Only an envelope has `app_id` or `data`. */
export function shapeOf(members: Members): Shape {
  return members.has('app_id') || members.has('data') ? 'envelope' : 'flat';
}

/** The scheme of a callback with this shape and `sign`; undefined if no scheme has them. */
export function schemeOf(shape: Shape, sign: string): SchemeName | undefined {
  return all.find((scheme) => scheme.shape === shape && scheme.matchesForm(sign))?.name;
}
