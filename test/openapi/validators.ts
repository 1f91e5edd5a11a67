import { Ajv2020 } from 'ajv/dist/2020.js';
import { callbackUrls } from '../../src/start/sources.ts';
import { platformDocument } from '../../src/openapi/platform.ts';
import { serviceDocument } from '../../src/openapi/service.ts';
import { source } from '../../src/settings/sources.ts';

/** What is wrong with a value; empty if it is valid. */
export type Faults = readonly string[];

/** The parts of a document that the tests read. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, unknown>>;
    readonly responses?: Readonly<Record<string, OpenApiContent>>;
  };
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly requestBody?: OpenApiContent;
  readonly responses: Readonly<Record<string, OpenApiContent>>;
  readonly 'x-plaintext'?: Readonly<Record<'request' | 'answer', { readonly $ref: string }>>;
}

export interface OpenApiContent {
  readonly content?: Readonly<
    Record<string, { readonly examples?: Readonly<Record<string, { readonly value: unknown }>> }>
  >;
}

const cosigner = source.parse({ name: 'cosigner', callback: 'cosigner', authenticate: ['none'] });

/** The documents as they are printed; that of the service has the default paths. */
export const documents = {
  platform: printed(platformDocument()),
  service: printed(serviceDocument(callbackUrls([cosigner]))),
};

function printed(document: object): OpenApiDocument {
  return JSON.parse(JSON.stringify(document)) as OpenApiDocument;
}

/**
 * Validates by the schema at a JSON pointer of a document, such as `/components/schemas/Id`. Each schema is
 * first checked itself: an unknown keyword, a pattern that doesn't compile or a dangling reference throws.
 */
export function createValidators(document: object): (pointer: string, value: unknown) => Faults {
  const ajv = new Ajv2020({
    strict: true,
    // Types are checked where a schema is referred to, and not again at each keyword beside the reference.
    strictTypes: false,
    strictRequired: false,
    allErrors: true,
    formats: { int64: true, date: /^\d{4}-\d\d-\d\d$/, 'date-time': /^\d{4}-\d\d-\d\dT[\d:.]+Z$/ },
  });
  // The document itself is not a schema, but its schemas refer to each other through it.
  ajv.addVocabulary([...Object.keys(document), 'discriminator']);
  ajv.addSchema(document, 'document');
  return (pointer, value) => {
    const validate = ajv.getSchema(`document#${encodeURI(pointer)}`);
    if (validate === undefined) throw new Error(`the document has no schema at ${pointer}`);
    if (validate(value) === true) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
}

/** A path of names as a JSON pointer. */
export const pointerOf = (...names: readonly string[]): string =>
  names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

export interface MediaType {
  readonly pointer: string;
  readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
}

/** All operations of a document. */
export function operationsOf({ paths }: OpenApiDocument) {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      method === 'servers' ? [] : [{ path, method, operation }],
    ),
  );
}

/** All bodies of requests and answers of a document. */
export function mediaTypesOf(document: OpenApiDocument): readonly MediaType[] {
  return operationsOf(document).flatMap(({ path, method, operation }) => {
    const typesOf = ({ content = {} }: OpenApiContent, ...names: readonly string[]): readonly MediaType[] =>
      Object.entries(content).map(([type, { examples = {} }]) => ({
        pointer: pointerOf('paths', path, method, ...names, 'content', type, 'schema'),
        examples,
      }));
    return [
      ...typesOf(operation.requestBody ?? {}, 'requestBody'),
      ...Object.entries(operation.responses).flatMap(([status, response]) =>
        typesOf(response, 'responses', status),
      ),
    ];
  });
}
