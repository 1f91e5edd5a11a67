import { settingsExample } from './example.ts';
import { settingsReference } from './reference.ts';
import { settingsJsonSchema } from './schema-file.ts';

/**
 * The files that are made from the schema of the settings and checked in: path from the root, and content.
 */
export function generatedSettingsFiles(): readonly (readonly [path: string, content: string])[] {
  return [
    ['config/schemas/settings.schema.json', `${JSON.stringify(settingsJsonSchema(), null, 2)}\n`],
    ['config/countersign.example.yaml', settingsExample()],
    ['docs/settings.md', settingsReference()],
  ];
}
