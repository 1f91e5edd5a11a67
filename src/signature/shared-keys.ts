import type { SourceDescription } from './authenticate.ts';

/**
 * A sentence for each two sources that have a platform key in common. The appKey is part of what `md5` and
 * `rsa` sign; nothing signs the `app_id` of an envelope, and only its merchant key says whom it was for.
 */
export function sharedKeys(sources: readonly SourceDescription[]): readonly string[] {
  return sources.flatMap((one, at) =>
    sources.slice(at + 1).flatMap((other) => {
      const theirs = platformKeys(other);
      return [...platformKeys(one)].filter((key) => theirs.has(key)).map((key) => sentence(one, other, key));
    }),
  );
}

function sentence(one: SourceDescription, other: SourceDescription, key: string): string {
  const envelopes = [one, other].every(({ accepts }) => accepts.includes('rsa-envelope'));
  const worse = envelopes ? ', and an rsa-envelope for one, encrypted anew, passes for one of the other' : '';
  return `the sources ${one.source} and ${other.source} have one platform key, ${key}: whoever holds it speaks for both${worse}; have the platform use a key for each`;
}

function platformKeys({ keys }: SourceDescription): ReadonlySet<string> {
  return new Set(keys.flatMap(({ role, fingerprint }) => (role === 'platform key' ? [fingerprint] : [])));
}
