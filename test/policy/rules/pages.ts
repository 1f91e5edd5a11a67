import { readFileSync } from 'node:fs';
import { type RulePage, readRulePage } from '../../../src/policy/rule-page.ts';

/** What docs/rules says of a rule. */
export const rulePage = (name: string): RulePage =>
  readRulePage(readFileSync(new URL(`../../../docs/rules/${name}.md`, import.meta.url), 'utf8'));
