import { policyShape } from './document.ts';
import { describedMembers, rules } from './rules/registry.ts';
import type { Rule } from './rules/rule.ts';
import { assetsJsonSchema, policyJsonSchema, testsJsonSchema } from './schema.ts';

/** Reads a file by its path from the root. */
export type ReadFile = (path: string) => string;

/**
 * The files that are generated from the registry of rules: path from the root, and content. Of the pages about
 * rules, only what is between the marks is generated.
 */
export function generatedPolicyFiles(read: ReadFile): readonly (readonly [path: string, content: string])[] {
  const page = (path: string, generated: string): readonly [string, string] => [
    path,
    withGenerated(path, read(path), generated),
  ];
  return [
    ['config/schemas/policies.schema.json', `${JSON.stringify(policyJsonSchema(), null, 2)}\n`],
    ['config/schemas/tests.schema.json', `${JSON.stringify(testsJsonSchema(), null, 2)}\n`],
    ['config/schemas/assets.schema.json', `${JSON.stringify(assetsJsonSchema(), null, 2)}\n`],
    page('docs/rules.md', tableOfRules()),
    ...rules.map((rule) => page(`docs/rules/${rule.name}.md`, parametersOf(rule))),
  ];
}

const BEGIN = '<!-- Generated from src/policy/rules by `npm run generate`. -->';
const END = '<!-- End of what is generated. -->';

function withGenerated(path: string, text: string, generated: string): string {
  const [before, ...rest] = text.split(BEGIN);
  const [, after] = rest.join(BEGIN).split(END);
  if (before === undefined || after === undefined) {
    throw new Error(`${path} lacks the lines between which it is generated: ${BEGIN} and ${END}`);
  }
  return `${before}${BEGIN}\n\n${generated}\n${END}${after}`;
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
