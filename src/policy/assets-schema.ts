import { CHAINS, needsPrefix } from '../values/address.ts';
import { ASSETS_MAX, assetShape } from './assets.ts';
import { type Schema, schemaOf } from './schema.ts';

/** The JSON Schema of the asset table, for editors. */
export function assetsJsonSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Countersign asset table',
    type: 'object',
    required: ['assets'],
    additionalProperties: false,
    properties: {
      assets: {
        description:
          'By symbol, as callbacks have it: how its chain writes addresses, its decimals, and whether it needs a memo.',
        type: 'object',
        maxProperties: ASSETS_MAX,
        additionalProperties: {
          ...schemaOf(assetShape),
          if: { properties: { chain: { enum: CHAINS.filter(needsPrefix) } } },
          // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
          then: { required: ['prefix'] },
          else: { properties: { prefix: false } },
        },
      },
    },
  };
}
