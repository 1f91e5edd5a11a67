import { z } from 'zod';
import { type Operation, remarksOf } from '../../packages/platform/operation.ts';
import { operations } from '../../packages/platform/operations/registry.ts';

/*
 * Writes the declarations of packages/platform/client.ts: what each operation takes and gives, as plain
 * interfaces. A reader sees each member with its meaning, and a compiler that checks a caller loads no schema.
 * test/tools/package proves that they agree with the types of the schemas.
 */

const HEAD = `\
import type { ${[
  'AtLeastOne',
  'CallOptions',
  'Decimal',
  'Id',
  'Known',
  'ListAll',
  'OfAllPages',
  'PaymentQuery',
  'UnreadableRecord',
  'Verb',
  'Written',
  'WrittenAmount',
  'WrittenTime',
].join(', ')} } from './calls.ts';
import type { PlatformConfig, PlatformParts } from './connection.ts';

/** The client of one merchant application. Throws USAGE or KEY_UNREADABLE. */
export declare function createPlatform(config: PlatformConfig, parts?: PlatformParts): Platform;

/** The methods of a client. */
export interface Platform extends Operations {
  readonly payments: Operations['payments'] & {
    /**
     * The payment in the bill (4.17) of the days around an instant; undefined if it isn't there. That is no
     * proof that the user was not debited: a payment may be billed later.
     */
    readonly find: (query: PaymentQuery, options?: CallOptions) => Promise<BillListRecord | undefined>;
  };
}`;

/** The text of client.d.ts. */
export function clientDeclarations(): string {
  return [HEAD, methodsText(), ...operations.flatMap(typesOf)].join('\n\n').concat('\n');
}

function methodsText(): string {
  const resources = Map.groupBy(operations, ({ name }) => name.split('.')[0] ?? '');
  const members = Array.from(resources, ([resource, own]) => [
    `  readonly ${resource}: {`,
    ...own.flatMap(methodsOf),
    '  };',
  ]);
  return [
    '/** The operations of the platform, a resource each. The numbers are sections of its specification. */',
    'export interface Operations {',
    ...members.flat(),
    '}',
  ].join('\n');
}

function methodsOf(operation: Operation): readonly string[] {
  const { name, section, summary, paging } = operation;
  const verb = name.split('.')[1] ?? '';
  const stem = stemOf(operation);
  const sentences = [`${summary.replace(/\.$/, '')} (${section}).`, ...remarksOf(operation)];
  const one = [...comment(sentences, '    '), `    readonly ${verb}: Verb<${stem}Parameters, ${stem}Data>;`];
  if (paging === undefined) return one;
  return [
    ...one,
    `    /** Reads all pages of \`${verb}\`, one request a page. */`,
    `    readonly ${verb}All: ListAll<OfAllPages<${stem}Parameters, '${paging.page}'>, ${stem}Record>;`,
  ];
}

/** Such as `OrdersList`, to which `Parameters`, `Data` or `Record` is added. */
function stemOf({ name }: Operation): string {
  return name.replaceAll(/(?:^|\.)[a-z]/g, (start) => start.slice(-1).toUpperCase());
}

function typesOf(operation: Operation): readonly string[] {
  const { name, section, parameters, data, record, oneOf } = operation;
  const stem = stemOf(operation);
  const declaration = (suffix: string, about: string, type: string): string => {
    const start = type.startsWith('{') ? `interface ${stem}${suffix} ` : `type ${stem}${suffix} = `;
    return `/** ${about} \`${name}\` (${section}). */\nexport ${start}${type}${type.startsWith('{') ? '' : ';'}`;
  };
  return [
    declaration(
      'Parameters',
      'The parameters of',
      oneOf === undefined
        ? typeOf(parameters)
        : `AtLeastOne<${typeOf(parameters)}, ${oneOf.map((each) => `'${each}'`).join(' | ')}>`,
    ),
    declaration('Data', 'The data that answers', typeOf(data, { record, name: `${stem}Record` })),
    ...(record === undefined ? [] : [declaration('Record', 'A record of', typeOf(record))]),
  ];
}

interface Context {
  readonly indent?: string;
  /** A schema whose type is written elsewhere, under this name. */
  readonly record?: z.core.$ZodType | undefined;
  readonly name?: string;
}

/**
 * What a caller writes as a parameter, or reads in an answer. A schema that doesn't say it by itself, because
 * it converts its value, says it as `tsType`.
 */
function typeOf(schema: z.core.$ZodType, context: Context = {}): string {
  if (schema === context.record) return context.name ?? '';
  const stated = z.globalRegistry.get(schema)?.['tsType'];
  if (typeof stated === 'string') return stated;
  if (schema instanceof z.ZodString) return 'string';
  if (schema instanceof z.ZodBoolean) return 'boolean';
  if (schema instanceof z.ZodUnknown) return 'unknown';
  if (schema instanceof z.ZodNullable) return `${typeOf(schema.unwrap(), context)} | null`;
  if (isOptional(schema)) return typeOf(schema.unwrap(), context);
  if (schema instanceof z.ZodPipe) return typeOf(schema.out, context);
  if (schema instanceof z.ZodRecord) {
    return `{ readonly [name: string]: ${typeOf(schema.valueType, context)} }`;
  }
  if (schema instanceof z.ZodUnion)
    return `(${schema.options.map((option) => typeOf(option, context)).join(' | ')})`;
  if (schema instanceof z.ZodArray) return `readonly ${typeOf(schema.element, context)}[]`;
  if (schema instanceof z.ZodObject) return objectType(schema.shape, context);
  throw new Error(`${schema.constructor.name} has no TypeScript type; give the schema the meta tsType`);
}

const isOptional = (schema: z.core.$ZodType): schema is z.ZodOptional | z.ZodPrefault =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault;

function objectType(shape: Readonly<Record<string, z.core.$ZodType>>, context: Context): string {
  const { indent = '' } = context;
  const deeper = `${indent}  `;
  const members = Object.entries(shape).flatMap(([name, schema]) => {
    const type = typeOf(schema, { ...context, indent: deeper });
    const about = descriptionOf(schema);
    const otherwise =
      schema instanceof z.ZodPrefault ? ` By default ${String(schema.parse(undefined))}.` : '';
    return [
      ...(about === undefined ? [] : comment([`${about}${otherwise}`], deeper)),
      `${deeper}readonly ${name}${isOptional(schema) ? `?: ${type} | undefined` : `: ${type}`};`,
    ];
  });
  return members.length === 0
    ? 'Readonly<Record<string, never>>'
    : ['{', ...members, `${indent}}`].join('\n');
}

/** That of the member itself. A kind of values, which has an id, describes itself to the OpenAPI document. */
function descriptionOf(schema: z.core.$ZodType): string | undefined {
  const { id, description } = z.globalRegistry.get(schema) ?? {};
  return id === undefined ? description : undefined;
}

function comment(sentences: readonly string[], indent: string): readonly string[] {
  const [only = '', ...more] = sentences;
  if (more.length === 0) return [`${indent}/** ${only} */`];
  return [`${indent}/**`, ...sentences.map((sentence) => `${indent} * ${sentence}`), `${indent} */`];
}
