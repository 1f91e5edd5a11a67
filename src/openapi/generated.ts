import { callbackUrls } from '../compose/urls.ts';
import { source } from '../settings/sources.ts';
import { platformDocument } from './platform.ts';
import { serviceDocument } from './service.ts';

/** The checked-in documents: path from the root, and content. That of the service has the default paths. */
export function generatedOpenApiFiles(): readonly (readonly [path: string, content: string])[] {
  const cosigner = source.parse({ name: 'cosigner', callback: 'cosigner', authenticate: ['none'] });
  return [
    ['docs/openapi/platform.json', textOf(platformDocument())],
    ['docs/openapi/service.json', textOf(serviceDocument(callbackUrls([cosigner])))],
  ];
}

const textOf = (document: object): string => `${JSON.stringify(document, null, 2)}\n`;
