import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { operationsPage } from '../packages/platform/specification.ts';
import { generatedPolicyFiles } from './policy/generated.ts';
import { examplesPage } from './release/examples.ts';
import { generatedSettingsFiles } from './settings/generated.ts';

/**
 * Writes the files that are generated from the schemas and the examples. Tests check that the checked-in
 * files are current.
 */
for (const [path, content] of [
  ...generatedSettingsFiles(),
  ...generatedPolicyFiles((page) => readFileSync(page, 'utf8')),
  operationsPage(),
  await examplesPage(),
]) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
