import { CountersignError, lazyFailure } from '../errors.ts';
import { type Members, membersJson, stringMember, withoutMembers } from '../values/members.ts';
import { type Canonical, type EmptyValues, canonicalString } from './canonical.ts';
import type { SchemeName } from './config.ts';
import { type KeyInUse, type Signer, type Verifier, measured, signFailure, signedOf } from './scheme.ts';

/** The parts in which the flat schemes differ. */
export interface FlatParts {
  readonly scheme: SchemeName;
  readonly by: string;
  readonly key: KeyInUse;
  readonly emptyValues: EmptyValues;
  readonly warnings?: readonly string[];
  /** The signed text: the canonical string (the default), or its MD5. */
  readonly signs?: 'string' | 'md5-hex';
  /** Compares secrets in constant time. */
  matches(text: string, sign: string): boolean;
  /** The right `sign`, if the verifier can make it. It is a credential. */
  expected(text: string): string | undefined;
  /** What to fix if the sign doesn't match. */
  cure(text: string, sign: string, variants: readonly Variant[]): string;
}

/** Another text that the sender may have signed, and what to do about it. */
export interface Variant {
  readonly text: string;
  readonly cure: string;
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
    verify(members, sign) {
      const canonical = canonicalString(members, emptyValues);
      if (!canonical.ok) return canonical;
      if (parts.matches(canonical.text, sign)) {
        return { ok: true, members: withoutMembers(members, 'sign'), plaintext: undefined, canonical };
      }
      return lazyFailure('SIGN_WRONG', () => {
        const cure = parts.cure(canonical.text, sign, variantsOf(members, canonical, emptyValues));
        return signFailure(
          'SIGN_WRONG',
          `the sign does not match the body: ${cure}`,
          { scheme, keys },
          measured(canonical.text),
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
        next: verifies ? undefined : parts.cure(text, sign, variantsOf(members, canonical, emptyValues)),
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
      if (!canonical.ok) throw new CountersignError('USAGE', canonical.because, canonical.data);
      return membersJson(withoutMembers(members, 'sign').set('sign', stringMember(signText(canonical.text))));
    },
  };
}

function variantsOf(members: Members, canonical: Canonical, emptyValues: EmptyValues): readonly Variant[] {
  const textOf = (changed: Members, empty: EmptyValues): string => {
    const other = canonicalString(changed, empty);
    return other.ok ? other.text : canonical.text;
  };
  const other = emptyValues === 'keep' ? 'skip' : 'keep';
  const nulls = new Map(
    Array.from(
      members,
      ([name, member]) => [name, member.kind === 'null' ? stringMember('null') : member] as const,
    ),
  );
  return [
    {
      text: textOf(members, other),
      cure: `it is right with empty values left as ${other}: set emptyValues: ${other}`,
    },
    {
      text: textOf(nulls, emptyValues),
      cure: 'it is right with null as a text: the sender must leave out null members',
    },
    {
      text: textOf(withoutMembers(members, 'appKey'), emptyValues),
      cure: 'it is right without appKey: the sender must sign appKey as well',
    },
  ].filter(({ text }) => text !== canonical.text);
}
