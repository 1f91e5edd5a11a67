import { z } from 'zod';
import { policyShape } from './document.ts';
import { rules } from './rules/registry.ts';
import type { Rule } from './rules/rule.ts';
import { assetsJsonSchema, policyJsonSchema, testsJsonSchema } from './schema.ts';

/** The files that are generated from the registry of rules: path from the root, and content. */
export function generatedPolicyFiles(): readonly (readonly [path: string, content: string])[] {
  return [
    ['config/schemas/policies.schema.json', `${JSON.stringify(policyJsonSchema(), null, 2)}\n`],
    ['config/schemas/tests.schema.json', `${JSON.stringify(testsJsonSchema(), null, 2)}\n`],
    ['config/schemas/assets.schema.json', `${JSON.stringify(assetsJsonSchema(), null, 2)}\n`],
    ...ruleReference(),
  ];
}

const GENERATED = '<!-- Generated from src/policy/rules; change it there. -->';

const INTRODUCTION = `# Rules

${GENERATED}

A policy file is YAML and holds one policy, or several with \`---\` between them. Every scalar is the text it is written
as, so \`10000\` and \`"10000"\` are the same. Every rule of every policy that applies must pass; a callback to which no
policy with an enforcing rule applies is refused. A rule that does not know how to judge a callback refuses it.

A policy applies to a callback that has, for every member under \`when\`, one of the values given there. If a withdrawal to
several addresses has some that are named there and some that are not, the policy applies and refuses it.

A policy that names no \`symbol\` under \`when\` judges every coin, and a coin that no other policy names then passes by its rules
alone. Name the coins, unless that is meant.

Beside the policies there may be an asset table, \`assets.yaml\`: how the chain of each asset writes addresses, its decimals,
and whether it needs a memo. Some rules refuse an asset that it does not have.
`;

const MODE = `An entry of \`rules\` is a rule's name with its parameters; beside it, \`mode: observe\` makes the rule report what it
would have done, and decide nothing.

What a rule refused stays refused when the same callback comes again, until the policies or a list it depends on have
changed. Where a page says *afresh*, the refusal depends on something else that changes, such as the time, and each repeat
is decided anew. \`refusals: final\` makes all refusals of a policy stand for good.
`;

/** The reference of all rules, for people, as Markdown: an overview, and a page a rule. */
function ruleReference(): readonly (readonly [path: string, content: string])[] {
  const members = `## A policy's members\n\n${membersOf(policyShape.shape)}\n`;
  const index = rules.map((rule) => {
    const link = `[${rule.name}](rules/${rule.name}.md)`;
    return `| ${link} | ${rule.callbacks.join(', ')} | ${rule.summary.replaceAll('|', '\\|')} |`;
  });
  const table = `## Every rule\n\n| rule | for | what it lets through |\n| --- | --- | --- |\n${index.join('\n')}\n`;
  return [
    ['docs/rules.md', [INTRODUCTION, table, members, MODE].join('\n')],
    ...rules.map((rule) => [`docs/rules/${rule.name}.md`, pageOf(rule)] as const),
  ];
}

function pageOf(rule: Rule): string {
  const files = Object.entries(rule.files ?? {}).map(
    ([name, text]) =>
      `Beside it, \`${name}\`:\n\n\`\`\`${name.endsWith('.yaml') ? 'yaml' : 'text'}\n${text}\`\`\`\n`,
  );
  return [
    `# ${rule.name}\n\n${GENERATED}\n`,
    `${rule.summary} For: ${rule.callbacks.join(', ')}.\n`,
    `## Parameters\n\n${membersOf(rule.parameters.shape) || 'None: write `{}`.'}\n`,
    `## What to know\n\n${rule.notes.map((note) => `- ${note}`).join('\n')}\n`,
    `## Example\n\n\`\`\`yaml\n${rule.example}\`\`\`\n`,
    ...files,
    `## Its tests\n\n\`\`\`yaml\n${rule.cases}\`\`\`\n`,
    'All rules: [rules.md](../rules.md).\n',
  ].join('\n');
}

function membersOf(shape: Rule['parameters']['shape']): string {
  return Object.entries(shape)
    .map(([name, schema]) => {
      const optional = schema instanceof z.ZodOptional;
      return `- \`${name}\`${optional ? ' (optional)' : ''}: ${z.globalRegistry.get(schema)?.description ?? ''}`;
    })
    .join('\n');
}
