import { assetsJsonSchema } from './assets-schema.ts';
import { ruleReference } from './reference.ts';
import { policyJsonSchema } from './schema.ts';
import { testsJsonSchema } from './suite/schema.ts';

/** The files that are made from the registry of rules and checked in: path from the root, and content. */
export function generatedPolicyFiles(): readonly (readonly [path: string, content: string])[] {
  return [
    ['config/schemas/policies.schema.json', `${JSON.stringify(policyJsonSchema(), null, 2)}\n`],
    ['config/schemas/tests.schema.json', `${JSON.stringify(testsJsonSchema(), null, 2)}\n`],
    ['config/schemas/assets.schema.json', `${JSON.stringify(assetsJsonSchema(), null, 2)}\n`],
    ...ruleReference(),
  ];
}
