import { policyShape } from './document.ts';
import { describedMembers, rules } from './rules/registry.ts';
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

A policy file is YAML. It has one policy, or several with \`---\` between them. Every scalar is read as text,
so \`10000\` and \`"10000"\` are the same.

- A callback passes if every rule of every policy that applies passes.
- A callback is refused if no policy covers it. A policy covers a callback if its \`when\` is met, and that of at
  least one of its enforcing rules.
- A rule refuses a callback that it can't judge.

A policy applies to a callback if all conditions in \`when\` are met. If some addresses of a withdrawal meet a
condition and others don't, the policy applies and refuses. A rule can have a \`when\` of its own, and rules can
be alternatives: see [conditions.md](conditions.md). Limits over time are in [limits.md](limits.md).

A policy without \`symbol\` in \`when\` judges every coin. A coin that no other policy names passes by the
rules of that policy alone. Name the coins, unless you want that.

The file \`assets.yaml\` beside the policies is the asset table. It has the chain of each asset, its decimals,
whether it needs a memo, and the contracts of a token. Some rules refuse an asset that is not in the table.

Rules about web3 transactions see the native coins, or, in a policy with \`movements\`, all that the transaction
moves: see [movements.md](movements.md).

## Addresses

If the asset table names the chain of an asset, every rule and \`when\` compares and counts the canonical form
of an address, whatever its spelling in the callback, the policy, a list or an order:

- On \`ton\`, the form \`EQ…\` (\`Ef…\` on the masterchain) stands for \`UQ…\`, \`0:…\`, both alphabets of base64, and
  the forms for test networks.
- On \`sui\`, \`aptos\` and \`starknet\`, all 64 digits in lower case stand for the address without its leading
  zeros.
- Hexadecimal and bech32 addresses are in lower case. On the other chains, an address has only one form.

A text that is not an address of the chain (without \`0x\`, with a wrong checksum, in a form that the chain does
not have) is refused by each rule that uses the address. A policy that names the address under \`when\` applies
and refuses. Under the chain \`text\`, and for an asset that is not in the table, addresses are compared as
text: another spelling is another address. \`policy validate\` warns of that.

If you change the chain of an asset from \`text\`, its addresses may get another form. The counts of limits by
such an address then start again, and the address is new for \`first-use-limit\`. Entries of lists and announced
orders are found in each spelling, also those that were added before.
`;

const MODE = `An entry of \`rules\` is the name of a rule with its parameters. With \`mode: observe\`
beside it, the rule only reports its verdict, and decides nothing. With \`when\` beside it, the rule judges only
the callbacks that meet these conditions.

A repeat of a refused callback is refused again until the policies, or a list that the refusal depends on,
change. Some refusals depend on something else that changes, such as the time. The pages of the rules call
such a refusal "not final": each repeat is decided again.

The log and \`countersign decisions explain\` name the rule that stands in the way of a new decision. After a
refusal by a full window and a deny-list, the first decision names whichever comes first, and a repeat names the
deny-list.
`;

/** The reference of the rules as Markdown: an overview, and a page for each rule. */
function ruleReference(): readonly (readonly [path: string, content: string])[] {
  const members = `## A policy's members\n\n${membersOf(policyShape.shape)}\n`;
  const index = rules.map((rule) => {
    const link = `[${rule.name}](rules/${rule.name}.md)`;
    return `| ${link} | ${rule.callbacks.join(', ')} | ${rule.summary.replaceAll('|', '\\|')} |`;
  });
  const table = `## All rules\n\n| rule | for | condition |\n| --- | --- | --- |\n${index.join('\n')}\n`;
  return [
    ['docs/rules.md', [INTRODUCTION, table, members, MODE].join('\n')],
    ...rules.map((rule) => [`docs/rules/${rule.name}.md`, pageOf(rule)] as const),
  ];
}

function pageOf(rule: Rule): string {
  const files = Object.entries(rule.files ?? {}).map(
    ([name, text]) =>
      `The file \`${name}\`:\n\n\`\`\`${name.endsWith('.yaml') ? 'yaml' : 'text'}\n${text}\`\`\`\n`,
  );
  return [
    `# ${rule.name}\n\n${GENERATED}\n`,
    `${wrapped(rule.summary)}\n\nFor: ${rule.callbacks.join(', ')}.\n`,
    `## Parameters\n\n${membersOf(rule.parameters.shape) || 'No parameters: write `{}`.'}\n`,
    `## Notes\n\n${rule.notes.map(bullet).join('\n')}\n`,
    `## Example\n\n\`\`\`yaml\n${rule.example}\`\`\`\n`,
    ...files,
    `## Tests of the example\n\n\`\`\`yaml\n${rule.cases}\`\`\`\n`,
    'All rules: [rules.md](../rules.md).\n',
  ].join('\n');
}

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
