import { type Operation, remarksOf } from './operation.ts';
import { operations } from './operations/registry.ts';

/** The schemes of requests (section 5). */
export const SCHEMES = ['md5', 'rsa', 'rsa-envelope'] as const;
/** What is tested of an operation over HTTP: the client, the sandbox and the command. */
export const SIDES = ['client', 'sandbox', 'command'] as const;

/**
 * A cell of the table in docs/operations.md. The test of this name in
 * test/scenarios/client-and-sandbox-agree.test.ts proves it.
 */
export interface Cell {
  readonly name: string;
  readonly operation: Operation;
  readonly scheme: (typeof SCHEMES)[number];
  readonly side: (typeof SIDES)[number];
}

/** A cell for each operation of the registry, scheme and side. */
export const cells: readonly Cell[] = operations.flatMap((operation) =>
  SCHEMES.flatMap((scheme) =>
    SIDES.map((side) => ({ name: `${operation.name}, ${scheme}, ${side}`, operation, scheme, side })),
  ),
);

/** The page docs/operations.md: its path from the root, and its content. */
export function operationsPage(): readonly [path: string, content: string] {
  const parts = [INTRODUCTION, overview(), TESTED, tested(), ...operations.map(chapter)];
  return ['docs/operations.md', `${parts.join('\n\n')}\n`];
}

const INTRODUCTION = `# The platform's operations

<!-- Generated from the registry of operations by \`npm run generate\`. -->

Each operation is a method of the client and a command. [platform.md](platform.md) says how to use them.
\`appKey\` and \`sign\` are added to every request. On the command line, \`orderAmount\` is
\`--order-amount\`.`;

function overview(): string {
  const rows = operations.map((operation) => [
    operation.section,
    `\`${methodOf(operation)}\``,
    `\`platform ${operation.command}\``,
    operation.reads ? 'yes' : 'no',
    operation.paging === undefined ? 'no' : 'yes',
  ]);
  return table(['section', 'method', 'command', 'only reads', 'has pages'], rows);
}

/** The methods of the client, for the page of its package. */
export function methodsTable(): string {
  const rows = operations.map((operation) => [operation.section, `\`${operation.name}\``, operation.summary]);
  return table(['section', 'method', 'what it does'], rows);
}

const TESTED = `## What is tested

Each cell is a test of \`test/scenarios/client-and-sandbox-agree.test.ts\`, over HTTP, with the name of its row and
columns, such as \`orders.list, md5, command\`. An operation without all of these tests fails the build.

- **client:** a program sends the request to the sandbox, and reads every member of the answer.
- **sandbox:** a client that shares no code with the project gets a signed answer with every field of section 2.
- **command:** \`countersign platform\` sends the request to the sandbox, and prints what it read as JSON.

The fixtures of \`packages/platform/test\` have a value in every field, also in those that may be missing.`;

function tested(): string {
  const header = ['operation', ...SCHEMES.flatMap((scheme) => SIDES.map((side) => `${scheme}, ${side}`))];
  const rows = operations.map((operation) => [
    `\`${operation.name}\``,
    ...cells.filter((cell) => cell.operation === operation).map(() => 'tested'),
  ]);
  return table(header, rows);
}

const methodOf = ({ name }: Operation): string => `platform.${name}()`;

function chapter(operation: Operation): string {
  const { section, name, path, summary, paging } = operation;
  const sentences = [
    summary,
    ...remarksOf(operation),
    ...(paging === undefined ? [] : [`\`${name.replace(/list$/, 'listAll')}\` reads all pages.`]),
  ];
  return [
    `## \`${name}\` (${section})`,
    `\`POST /platformapi/SEGMENT/open/${path}\``,
    sentences.join('\n'),
    ...parametersTable(operation),
  ].join('\n\n');
}

function parametersTable({ parameters, numbers = [], secrets = [] }: Operation): readonly string[] {
  const rows = Object.entries(parameters.shape).map(([name, schema]) => {
    const absent = schema.safeParse(undefined);
    const need = !absent.success ? 'required' : typeof absent.data === 'string' ? absent.data : '';
    const type = numbers.includes(name) ? 'number' : 'string';
    const secret = secrets.includes(name)
      ? ' A secret: the command has `-file` and `-env` options for it.'
      : '';
    return [`\`${name}\``, type, need, `${schema.description ?? ''}${secret}`];
  });
  return rows.length === 0 ? [] : [table(['parameter', 'sent as', 'default', 'meaning'], rows)];
}

/** A Markdown table with aligned columns, as the formatter writes it. */
function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, at) => Math.max(3, ...all.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const rule = line(widths.map((width) => '-'.repeat(width)));
  return [line(header), rule, ...rows.map(line)].join('\n');
}
