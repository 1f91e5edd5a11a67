import { z } from 'zod';
import type { Kind } from '../../callback/callback.ts';
import { PAYMENT_MEMBERS } from '../../callback/payment.ts';
import { transferAliases, transferValues } from '../../callback/transfer.ts';
import { web3Aliases, web3Values } from '../../callback/web3.ts';
import { KINDS } from '../document.ts';
import { SCALAR, schemaOf } from '../schema.ts';
import {
  VERDICTS,
  answersShape,
  callbackShape,
  caseShape,
  expectShape,
  fileShape,
  givenShape,
  listValueShape,
  orderShape,
  priceShape,
} from './shape.ts';

type Schema = Readonly<Record<string, unknown>>;

/** The JSON Schema of test files (`*.test.yaml`), for editors. */
export function testsJsonSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Tests of Countersign policies',
    ...layer(fileShape, { tests: { items: refTo('test') } }),
    definitions: {
      test: layer(caseShape, { given: refTo('given'), callbacks: { items: refTo('callback') } }),
      given: layer(givenShape, {
        lists: byName(
          byName({ type: 'array', items: { anyOf: [{ type: SCALAR }, schemaOf(listValueShape)] } }),
        ),
        prices: byName(schemaOf(priceShape)),
        orders: { type: 'array', items: { ...schemaOf(orderShape), oneOf: oneKind } },
        answers: schemaOf(answersShape),
      }),
      callback: {
        ...layer(callbackShape, {
          ...Object.fromEntries(KINDS.map((kind) => [kind, wireSchema(kind)])),
          expect: { anyOf: [{ enum: [...VERDICTS] }, schemaOf(expectShape)] },
        }),
        required: ['source', 'expect'],
        oneOf: oneKind,
      },
    },
  };
}

const oneKind = KINDS.map((kind) => ({ required: [kind] }));

const refTo = (name: string): Schema => ({ $ref: `#/definitions/${name}` });

const byName = (values: Schema): Schema => ({ type: 'object', additionalProperties: values });

const propertiesShape = z.record(z.string(), z.record(z.string(), z.unknown()));

/** A layer's schema, with what it reads on its own filled in. */
function layer(shape: z.ZodObject, filled: Readonly<Record<string, Schema>>): Schema {
  const { properties, ...schema } = schemaOf(shape);
  const described = Object.entries(propertiesShape.parse(properties)).map(
    ([name, property]): [string, unknown] => {
      const { description } = property;
      const more = filled[name];
      if (more === undefined) return [name, property];
      // In draft 7 nothing beside a $ref counts.
      return [name, '$ref' in more ? { description, allOf: [more] } : { ...property, ...more, description }];
    },
  );
  return { ...schema, properties: Object.fromEntries(described) };
}

/**
 * Any member may be given, so that a test can show that a stranger's is refused; those that are known are
 * suggested.
 */
function wireSchema(kind: Kind): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(WIRE_NAMES[kind].map((name) => [name, { type: SCALAR }])),
  };
}

const WIRE_NAMES: Readonly<Record<Kind, readonly string[]>> = {
  payment: Object.keys(PAYMENT_MEMBERS),
  transfer: [...transferValues, ...Object.keys(transferAliases)],
  web3: [...web3Values.filter((name) => name !== web3Aliases.main_chain_symbol), ...Object.keys(web3Aliases)],
};
