import { writeFileSync } from 'node:fs';
import { generatedPolicyFiles } from './policy/generated.ts';
import { generatedSettingsFiles } from './settings/generated.ts';

/** Writes what is made from the schemas: JSON Schemas, references, the example. Tests hold the checked-in files current. */
for (const [path, content] of [...generatedSettingsFiles(), ...generatedPolicyFiles()]) {
  writeFileSync(path, content);
}
