import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { generatedOpenApiFiles } from './openapi/generated.ts';
import { generatedPlatformFiles } from './platform/generated.ts';
import { generatedPolicyFiles } from './policy/generated.ts';
import { generatedSettingsFiles } from './settings/generated.ts';

/**
 * Writes the files that are generated from the schemas. Tests check that the checked-in files are current.
 */
for (const [path, content] of [
  ...generatedSettingsFiles(),
  ...generatedPolicyFiles(),
  ...generatedPlatformFiles(),
  ...generatedOpenApiFiles(),
]) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
