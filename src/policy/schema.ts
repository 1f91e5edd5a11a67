import { z } from 'zod';
import type { Kind } from '../callback/callback.ts';
import { KINDS, MODES, RULES_MAX, policyShape } from './document.ts';
import { memberNames } from './members.ts';
import { rules } from './rules/registry.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** The JSON Schema of policy files, for editors. */
export function policyJsonSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Countersign policies',
    anyOf: [
      { $ref: '#/definitions/policy' },
      { type: 'array', minItems: 1, items: { $ref: '#/definitions/policy' } },
    ],
    definitions: { policy: policySchema() },
  };
}

function policySchema(): Schema {
  const { properties, ...shape } = schemaOf(policyShape);
  const { when, rules: list } = policyShape.shape;
  return {
    ...shape,
    properties: {
      ...properties,
      when: { description: when.description, type: 'object', additionalProperties: texts },
      rules: {
        description: list.description,
        type: 'array',
        minItems: 1,
        maxItems: RULES_MAX,
        items: ruleSchema(),
      },
    },
    anyOf: KINDS.map(whenOf),
  };
}

/** The members that `when` may name, and the rules that can judge, depend on the kind of callback. */
function whenOf(kind: Kind): Schema {
  return {
    properties: {
      callback: { const: kind },
      when: { propertyNames: { enum: memberNames(kind) } },
      rules: { items: { propertyNames: { enum: rulesFor(kind) } } },
    },
  };
}

const rulesFor = (kind: Kind): readonly string[] => [
  ...rules.filter(({ callbacks }) => callbacks.includes(kind)).map(({ name }) => name),
  'mode',
];

function ruleSchema(): Schema {
  return {
    type: 'object',
    additionalProperties: false,
    properties: {
      ...Object.fromEntries(
        rules.map((rule): [string, Schema] => [
          rule.name,
          { description: rule.summary, ...schemaOf(rule.parameters) },
        ]),
      ),
      mode: { enum: [...MODES], description: '`observe`: reports what it would have done, decides nothing.' },
    },
    oneOf: rules.map((rule) => ({ required: [rule.name] })),
  };
}

/**
 * What a policy reads as text may be written without quotes, and is then a number or a boolean to an editor.
 */
export const SCALAR = ['string', 'number', 'boolean'];
const texts: Schema = {
  anyOf: [{ type: SCALAR }, { type: 'array', minItems: 1, items: { type: SCALAR } }],
};

/** The JSON Schema of what a policy may write for it. */
export function schemaOf(shape: z.ZodObject): Schema & { readonly properties?: object | undefined } {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, {
    target: 'draft-07',
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.type === 'string' && jsonSchema.enum === undefined && jsonSchema.const === undefined) {
        Object.assign(jsonSchema, { type: SCALAR });
      }
    },
  });
  return schema;
}
