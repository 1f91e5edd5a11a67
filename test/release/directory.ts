import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '../temporary-folder.ts';

/** A directory with these files, gone after the test. */
export function directoryOf(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const directory = temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
  return directory;
}

export const SMALL = 'policy: small\ncallback: payment\nrules:\n  - amount-limit: { max: 1000 }\n';
export const SMALLER = SMALL.replace('1000', '10');
export const BLOCKED =
  'policy: blocked\ncallback: payment\nrules:\n  - deny-list: { of: userId, file: users.txt }\n';
