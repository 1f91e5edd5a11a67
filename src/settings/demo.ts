import { createHash } from 'node:crypto';
import { CountersignError } from '../errors.ts';
import { type ReadSecret, type SecretRef, nameOfSecret } from '../values/secret.ts';
import type { Settings } from './schema.ts';

/** Digests of what config/demo holds, so that copies of it are found in other places too. */
const demoDigests: ReadonlySet<string> = new Set([
  '8f131c732d76852732b6a969a13a7eff7217c02961410d6a144ee09b903fd05d', // shop.secret
  'e08e4834848dd991f3009e06aff430359bfb3866b7908e3689be8ba79d8f03a1', // vault.token
  'cc5543cd249e79c082872b5399134768ec5a94bfdb56e05eb826795e9f38f943', // platform.private.pem
  'fce0b2218c574b23e31119fad04351abd5bd75b8d661cf5c829988688b957c63', // platform.public.pem
  'e36468d8b37b354c32b3f8a44f7a597c1b4e3b6161cb1129e79eda0e1384317d', // merchant.private.pem
  '42ec966f18fe50ebfbbba764434d7eb81b41a0d5d0f8df1056d45f0c8976a4e1', // merchant.public.pem
]);

/**
 * Whether it is one of the published secrets and keys, as the file has it or without PEM armour and line
 * breaks.
 */
export function isDemoCredential(content: string): boolean {
  return demoDigests.has(createHash('sha256').update(bare(content)).digest('hex'));
}

function bare(content: string): string {
  const letters = content.replaceAll(/-----[^-]+-----|\s/g, '');
  return letters.replaceAll('-', '+').replaceAll('_', '/').replaceAll('=', '');
}

/**
 * Which of the settings' secrets and keys are published ones: a sentence for each, for a warning at start.
 * What cannot be read is left to whoever needs it.
 */
export function demoCredentials(settings: Settings, read: ReadSecret): readonly string[] {
  return secretsOf(settings).flatMap(({ setting, reference }) => {
    const content = contentOf(reference, read);
    if (content === undefined || !isDemoCredential(content)) return [];
    return [`${setting} (${nameOfSecret(reference)}) is published with the program: for trying out only`];
  });
}

interface NamedSecret {
  readonly setting: string;
  readonly reference: SecretRef;
}

/** All references below a part of the settings, each by its name there. */
export function secretsOf(settings: object): readonly NamedSecret[] {
  const found: NamedSecret[] = [];
  const visit = (node: unknown, setting: string): void => {
    if (typeof node !== 'object' || node === null) return;
    const reference = referenceOf(node);
    if (reference !== undefined) found.push({ setting, reference });
    for (const [name, child] of Object.entries(node)) {
      visit(
        child,
        Array.isArray(node) ? `${setting}[${name}]` : setting === '' ? name : `${setting}.${name}`,
      );
    }
  };
  visit(settings, '');
  return found;
}

function referenceOf(node: object): SecretRef | undefined {
  if ('file' in node && typeof node.file === 'string') return { file: node.file };
  if ('env' in node && typeof node.env === 'string') return { env: node.env };
  return undefined;
}

function contentOf(reference: SecretRef, read: ReadSecret): string | undefined {
  try {
    return read(reference);
  } catch (thrown) {
    if (thrown instanceof CountersignError) return undefined;
    throw thrown;
  }
}
