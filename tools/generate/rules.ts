import { policyShape } from '../../src/policy/language/document.ts';
import { describedMembers, rules } from '../../src/policy/rules/registry.ts';
import type { Rule } from '../../src/policy/rules/rule.ts';
import { assetsJsonSchema, peopleJsonSchema, policyJsonSchema, testsJsonSchema } from './policy-schemas.ts';
import { type GeneratedFile, type ReadFile, pageWith } from './marks.ts';

/**
 * The files that are generated from the registry of rules: path from the root, and content. Of the pages about
 * rules, only what is between the marks is generated.
 */
export function generatedPolicyFiles(read: ReadFile): readonly GeneratedFile[] {
  return [
    ['config/schemas/policies.schema.json', `${JSON.stringify(policyJsonSchema(), null, 2)}\n`],
    ['config/schemas/tests.schema.json', `${JSON.stringify(testsJsonSchema(), null, 2)}\n`],
    ['config/schemas/assets.schema.json', `${JSON.stringify(assetsJsonSchema(), null, 2)}\n`],
    ['config/schemas/people.schema.json', `${JSON.stringify(peopleJsonSchema(), null, 2)}\n`],
    pageWith(tableOfRules(), 'docs/rules.md', read),
    ...rules.map((rule) => pageWith(parametersOf(rule), `docs/rules/${rule.name}.md`, read)),
  ];
}

function tableOfRules(): string {
  const rows = rules.map((rule) => {
    const link = `[${rule.name}](rules/${rule.name}.md)`;
    return `| ${link} | ${rule.callbacks.join(', ')} | ${rule.summary.replaceAll('|', '\\|')} |`;
  });
  const table = `## All rules\n\n| rule | for | condition |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
  return `${table}\n## A policy's members\n\n${membersOf(policyShape.shape)}\n`;
}

const parametersOf = (rule: Rule): string =>
  [
    `${wrapped(rule.summary)}\n\nFor: ${rule.callbacks.join(', ')}.\n`,
    `## Parameters\n\n${membersOf(rule.parameters.shape) || 'No parameters: write `{}`.'}\n`,
  ].join('\n');

function membersOf(shape: Rule['parameters']['shape']): string {
  return describedMembers(shape)
    .map(({ name, optional, description }) =>
      bullet(`\`${name}\`${optional ? ' (optional)' : ''}: ${description}`),
    )
    .join('\n');
}

const COLUMNS = 110;

const bullet = (text: string): string => wrapped(`- ${text}`, '  ');

/** Breaks a paragraph of Markdown into lines; `indent` is for all lines but the first. */
function wrapped(text: string, indent = ''): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > COLUMNS) {
      lines.push(line);
      line = `${indent}${word}`;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}
