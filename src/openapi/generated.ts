import { platformDocument } from './platform.ts';

/** The checked-in documents: path from the root, and content. */
export function generatedOpenApiFiles(): readonly (readonly [path: string, content: string])[] {
  return [['docs/openapi/platform.json', `${JSON.stringify(platformDocument(), null, 2)}\n`]];
}
