import { platformDocument } from '../openapi/platform.ts';
import { serviceDocument } from '../openapi/service.ts';
import { callbackUrls } from '../start/sources.ts';
import type { CommandRow } from './command.ts';
import type { Session } from './session.ts';

export const openapiPlatform: CommandRow = {
  path: 'openapi platform',
  summary: "Print the OpenAPI document of the platform's operations.",
  example: 'openapi platform > platform.json',
  run: async (session) => print(session, platformDocument()),
};

export const openapiService: CommandRow = {
  path: 'openapi service',
  summary: 'Print the OpenAPI document of this service, with the paths of its settings.',
  example: 'openapi service > service.json',
  run: async (session) => print(session, serviceDocument(callbackUrls(session.settings().sources))),
};

function print(session: Session, document: object): 0 {
  session.print(JSON.stringify(document, null, 2), document);
  return 0;
}
