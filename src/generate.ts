import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { generatedPolicyFiles } from './policy/generated.ts';
import { generatedSettingsFiles } from './settings/generated.ts';

/**
 * Writes what is made from the schemas: JSON Schemas, references, the example. Tests hold the checked-in
 * files current.
 */
for (const [path, content] of [...generatedSettingsFiles(), ...generatedPolicyFiles()]) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
