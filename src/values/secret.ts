import { timingSafeEqual } from 'node:crypto';
import { CountersignError } from '../errors.ts';

/** Where to find a secret or a key. Settings never contain the secret itself. */
export type SecretRef = { readonly file: string } | { readonly env: string };

/** Reads the text behind a reference, without surrounding blanks. Throws SECRET_UNREADABLE. */
export type ReadSecret = (reference: SecretRef) => string;

/** For messages: `file keys/shop.pem` or `environment variable SHOP_SECRET`. */
export function nameOfSecret(reference: SecretRef): string {
  return 'file' in reference ? `file ${reference.file}` : `environment variable ${reference.env}`;
}

/**
 * Whether two texts are equal. Its time shows whether they have the same number of bytes, but not where they
 * differ.
 */
export function equalInConstantTime(a: string, b: string): boolean {
  const [first, second] = [Buffer.from(a), Buffer.from(b)];
  return first.length === second.length && timingSafeEqual(first, second);
}

/** A secret that is accepted now. */
export interface AcceptedSecret {
  readonly text: string;
  /** For logs, where two are accepted: ` line 1` or ` line 2`. Otherwise the empty text. */
  readonly line: string;
}

/**
 * The secrets behind a reference: one or, while one replaces the other, two on lines of their own. The first
 * is used to sign. Throws SECRET_UNREADABLE.
 */
export function acceptedSecrets(reference: SecretRef, read: ReadSecret): readonly AcceptedSecret[] {
  const lines = read(reference).split(/\r?\n/);
  const problem =
    lines.length > 2
      ? `has ${lines.length} lines; write one secret or, while one replaces the other, two on lines of their own`
      : lines.length === 2 && lines.some((line) => line.startsWith('#'))
        ? 'has a line that begins with #, and every line is a secret; delete comments'
        : lines.some((line) => line.trim() === '')
          ? 'has an empty line; write a secret on each line'
          : undefined;
  if (problem !== undefined) {
    throw new CountersignError('SECRET_UNREADABLE', `${nameOfSecret(reference)} ${problem}`);
  }
  return lines.map((text, index) => ({ text, line: lines.length === 1 ? '' : ` line ${index + 1}` }));
}

/** The secret that somebody presents; undefined if it is none of them. */
export function presentedSecret(
  shown: string,
  accepted: readonly AcceptedSecret[],
): AcceptedSecret | undefined {
  return accepted.find(({ text }) => equalInConstantTime(shown, text));
}
