import { z } from 'zod';
import { policyShape } from './document.ts';
import { rules } from './rules/registry.ts';
import type { Rule } from './rules/rule.ts';

const INTRODUCTION = `# Rules

<!-- Generated from src/policy/rules; change it there. -->

A policy file is YAML and holds one policy, or several with \`---\` between them. Every scalar is the text it is written
as, so \`10000\` and \`"10000"\` are the same. Every rule of every policy that applies must pass; a callback to which no
policy with an enforcing rule applies is refused. A rule that does not know how to judge a callback refuses it.

A policy applies to a callback that has, for every member under \`when\`, one of the values given there. If a withdrawal to
several addresses has some that are named there and some that are not, the policy applies and refuses it.
`;

const MODE = `An entry of \`rules\` is a rule's name with its parameters; beside it, \`mode: observe\` makes the rule report what it
would have done, and decide nothing.
`;

/** The reference of all rules, for people, as Markdown. */
export function ruleReference(): string {
  const members = `## A policy's members\n\n${membersOf(policyShape.shape)}\n`;
  return [INTRODUCTION, members, MODE, ...rules.map(sectionOf)].join('\n');
}

function sectionOf(rule: Rule): string {
  return [
    `## ${rule.name}\n`,
    `${rule.summary} For: ${rule.callbacks.join(', ')}.\n`,
    `${membersOf(rule.parameters.shape)}\n`,
    `${rule.notes.map((note) => `- ${note}`).join('\n')}\n`,
    `\`\`\`yaml\n${rule.example}\`\`\`\n`,
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
