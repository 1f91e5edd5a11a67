import { z } from 'zod';
import { KINDS, type Kind } from '../../src/callback/callback.ts';
import { PAYMENT_MEMBERS } from '../../src/callback/payment.ts';
import { transferAliases, transferValues } from '../../src/callback/transfer.ts';
import { web3Aliases, web3Values } from '../../src/callback/web3.ts';
import { CHAINS, needsPrefix } from '../../src/values/address.ts';
import { ASSETS_MAX, assetShape } from '../../src/policy/language/assets.ts';
import { personShape } from '../../src/policy/people.ts';
import { amountShape, listFileShape, valueShape } from '../../src/policy/language/when.ts';
import {
  GROUPS,
  type Group,
  MODES,
  RULES_MAX,
  movementsShape,
  policyShape,
} from '../../src/policy/language/document.ts';
import { memberNames } from '../../src/policy/language/members.ts';
import { rules } from '../../src/policy/rules/registry.ts';
import { scheduleParameters } from '../../src/policy/language/schedule.ts';
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
} from '../../src/policy/suite/shape.ts';
import { formNames } from '../../src/policy/language/when.ts';

type Schema = Readonly<Record<string, unknown>>;

/** The JSON Schema of policy files, for editors. */
export function policyJsonSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Countersign policies',
    anyOf: [
      { $ref: '#/definitions/policy' },
      { type: 'array', minItems: 1, items: { $ref: '#/definitions/policy' } },
    ],
    definitions: { policy: policySchema(), rule: ruleSchema(), conditions: conditionsSchema() },
  };
}

function policySchema(): Schema {
  const { properties, ...shape } = schemaOf(policyShape);
  const { when, movements, rules: list } = policyShape.shape;
  return {
    ...shape,
    properties: {
      ...properties,
      when: { description: when.description, ...conditionsRef },
      movements: { ...schemaOf(movementsShape), description: movements.description },
      rules: {
        description: list.description,
        type: 'array',
        minItems: 1,
        maxItems: RULES_MAX,
        items: { $ref: '#/definitions/rule' },
      },
    },
    anyOf: KINDS.map(whenOf),
  };
}

/** The names in `when`, and the rules, depend on the kind of callback. */
function whenOf(kind: Kind): Schema {
  return {
    properties: {
      callback: { const: kind },
      when: { propertyNames: { enum: [...memberNames(kind), ...formNames(kind)] } },
      rules: { items: { propertyNames: { enum: rulesFor(kind) } } },
    },
  };
}

const rulesFor = (kind: Kind): readonly string[] => [
  ...rules.filter(({ callbacks }) => callbacks.includes(kind)).map(({ name }) => name),
  ...GROUPS,
  'mode',
  'when',
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
      ...Object.fromEntries(
        GROUPS.map((group): [string, Schema] => [
          group,
          {
            description: GROUP_TEXTS[group],
            type: 'array',
            minItems: 1,
            items: { $ref: '#/definitions/rule' },
          },
        ]),
      ),
      when: {
        description: 'The callbacks that the rule judges: conditions, all of which must be met.',
        ...conditionsRef,
      },
      mode: {
        enum: [...MODES],
        description: '`observe`: the verdict of the rule is reported, and decides nothing.',
      },
    },
    oneOf: [...rules.map(({ name }) => name), ...GROUPS].map((name) => ({ required: [name] })),
  };
}

const GROUP_TEXTS: Readonly<Record<Group, string>> = {
  any: 'Alternatives: the first that holds is taken. If none holds, the callback is refused.',
  all: 'Rules that must all hold. In `any`, they are one alternative.',
};

// Draft 7 ignores the siblings of a $ref.
const conditionsRef: Schema = { allOf: [{ $ref: '#/definitions/conditions' }] };

/** Members with their values, a file or a range; and the conditions that are not about a member. */
function conditionsSchema(): Schema {
  return {
    type: 'object',
    properties: {
      amount: { anyOf: [...texts.anyOf, schemaOf(listFileShape), schemaOf(amountShape)] },
      value: { description: 'The value at the current price.', ...schemaOf(valueShape) },
      during: {
        description: 'Opening hours, like those of the rule schedule.',
        ...schemaOf(scheduleParameters),
      },
      scheme: texts,
      not: { description: 'The callback must not meet all of these conditions.', ...conditionsRef },
    },
    additionalProperties: { anyOf: [...texts.anyOf, schemaOf(listFileShape)] },
  };
}

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
          'By symbol, as in callbacks: the form of its addresses, its decimals, and whether it needs a memo.',
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

/** The JSON Schema of people.yaml, for editors. */
export function peopleJsonSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Countersign people',
    type: 'object',
    required: ['people'],
    additionalProperties: false,
    properties: {
      people: {
        description: 'By name: roles and keys.',
        type: 'object',
        additionalProperties: schemaOf(personShape),
      },
      groups: {
        description: 'By name: the people whose approvals count.',
        type: 'object',
        additionalProperties: { type: 'array', minItems: 1, items: { type: 'string' } },
      },
    },
  };
}

/** The JSON Schema of test files (`*.test.yaml`), for editors. */
export function testsJsonSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Tests of Countersign policies',
    ...schemaWith(fileShape, { tests: { items: refTo('test') } }),
    definitions: {
      test: schemaWith(caseShape, { given: refTo('given'), callbacks: { items: refTo('callback') } }),
      given: schemaWith(givenShape, {
        lists: byName(
          byName({ type: 'array', items: { anyOf: [{ type: SCALAR }, schemaOf(listValueShape)] } }),
        ),
        prices: byName(schemaOf(priceShape)),
        orders: { type: 'array', items: { ...schemaOf(orderShape), oneOf: oneKind } },
        answers: schemaOf(answersShape),
        groups: byName({ type: 'array', items: { type: SCALAR } }),
      }),
      callback: {
        ...schemaWith(callbackShape, {
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

/** The schema of a shape, with `filled` in place of its unknown values. */
function schemaWith(shape: z.ZodObject, filled: Readonly<Record<string, Schema>>): Schema {
  const { properties, ...schema } = schemaOf(shape);
  const described = Object.entries(propertiesShape.parse(properties)).map(
    ([name, property]): [string, unknown] => {
      const { description } = property;
      const more = filled[name];
      if (more === undefined) return [name, property];
      // Draft 7 ignores the siblings of a $ref.
      return [name, '$ref' in more ? { description, allOf: [more] } : { ...property, ...more, description }];
    },
  );
  return { ...schema, properties: Object.fromEntries(described) };
}

/** Suggests the known members. Others are valid, so that a test can show that they are refused. */
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

/** The types of a text without quotes: an editor may take it for a number or a boolean. */
const SCALAR = ['string', 'number', 'boolean'];
const texts: Schema & { readonly anyOf: readonly Schema[] } = {
  anyOf: [{ type: SCALAR }, { type: 'array', minItems: 1, items: { type: SCALAR } }],
};

/** The JSON Schema of the input of a zod schema. */
function schemaOf(shape: z.ZodObject): Schema & { readonly properties?: object | undefined } {
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
