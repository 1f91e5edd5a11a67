import { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';

/** The classes that a server makes requests and responses of. */
export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Requests and responses that are the app's own from their beginning. Express gives each of them the app's
 * prototype when it comes in, and of an object whose prototype changes V8 forgets what it has learnt; what
 * has it already stays as it is.
 */
export function messagesOf(app: Express): MessageClasses {
  class AppRequest extends IncomingMessage {}
  class AppResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}
