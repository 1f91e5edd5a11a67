import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { operationsPage } from '../../packages/platform/specification.ts';
import { commandLine } from '../command-line.ts';
import { codesPage } from './codes.ts';
import { examplesPage } from './examples.ts';
import { oneFile, prometheusRule } from './manifests.ts';
import { readHere } from './marks.ts';
import { generatedPolicyFiles } from './rules.ts';
import { generatedSettingsFiles } from './settings.ts';

const { check = false } = commandLine(
  'generate',
  'Writes the files that are made from schemas, rules and examples. Prints those that change.',
  '--check',
)
  .option('--check', 'write nothing; end with 1 if a file would change')
  .parse()
  .opts<{ readonly check?: boolean }>();

for (const [path, content] of [
  ...generatedSettingsFiles(readHere),
  ...generatedPolicyFiles(readHere),
  codesPage(readHere),
  operationsPage(),
  oneFile(),
  prometheusRule(readHere),
  await examplesPage(readHere),
]) {
  if (existsSync(path) && readHere(path) === content) continue;
  console.log(path);
  if (check) process.exitCode = 1;
  else {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}
