import { lazyFailure, usageError } from '../errors.ts';
import { membersJson, stringMember, withoutMembers } from '../values/members.ts';
import { type EmptyValues, canonicalString } from './canonical.ts';
import type { SchemeName } from './config.ts';
import { type KeyInUse, type Signer, type Verifier, digestOf, signFailure, signedOf } from './scheme.ts';
import { type Variant, variantsOf } from './variants.ts';

/** The parts in which the flat schemes differ. */
export interface FlatParts {
  readonly scheme: SchemeName;
  readonly by: string;
  readonly key: KeyInUse;
  readonly emptyValues: EmptyValues;
  readonly warnings?: readonly string[];
  /** The signed text: the canonical string (the default), or its MD5. */
  readonly signs?: 'string' | 'md5-hex';
  /** Whether `sign` is valid for the text. It must compare secrets in constant time. */
  matches(text: string, sign: string): boolean;
  /** The right `sign`, if the verifier can make it. It is a credential. */
  expected(text: string): string | undefined;
  /** What to fix if the sign doesn't match. */
  fix(text: string, sign: string, variants: readonly Variant[]): string;
}

/** Verifies a canonical string. The ambiguity check (ambiguity.ts) must follow. */
export function flatVerifier(parts: FlatParts): Verifier {
  const { scheme, by, emptyValues, warnings = [] } = parts;
  const keys = [parts.key];

  return {
    scheme,
    by,
    keys,
    warnings,
    async verify(members, sign) {
      const canonical = canonicalString(members, emptyValues);
      if (!canonical.ok) return canonical;
      if (parts.matches(canonical.text, sign)) {
        return { ok: true, members: withoutMembers(members, 'sign'), plaintext: undefined, canonical };
      }
      return lazyFailure('SIGN_WRONG', () => {
        const fix = parts.fix(canonical.text, sign, variantsOf(members, canonical, emptyValues));
        return signFailure(
          'SIGN_WRONG',
          `the signature does not match the body; ${fix}`,
          { scheme, keys },
          digestOf(canonical.text),
        );
      });
    },
    explain(members, sign) {
      const canonical = canonicalString(members, emptyValues);
      if (!canonical.ok) return canonical;
      const { text } = canonical;
      const verifies = parts.matches(text, sign);
      return {
        ok: true,
        scheme,
        keys,
        ...signedOf(text, parts.signs ?? 'string'),
        expected: parts.expected(text),
        received: sign,
        verifies,
        next: verifies ? undefined : parts.fix(text, sign, variantsOf(members, canonical, emptyValues)),
      };
    },
  };
}

export function flatSigner(
  scheme: SchemeName,
  emptyValues: EmptyValues,
  signText: (text: string) => string,
): Signer {
  return {
    scheme,
    sign(members) {
      const canonical = canonicalString(members, emptyValues);
      if (!canonical.ok) throw usageError(canonical.because, canonical.data);
      return membersJson(withoutMembers(members, 'sign').set('sign', stringMember(signText(canonical.text))));
    },
  };
}
