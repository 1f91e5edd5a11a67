import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import { refuse, refuseLate } from './api.ts';

/** Where another process of this service listens on loopback. It answers only requests with its secret. */
export interface Target {
  readonly port: number;
  readonly secret: string;
}

/** How a request is answered that gets no answer of the other process. */
interface Refusals {
  /** It was not forwarded, or the other process fails. */
  readonly unanswered: (response: Response, because: string) => void;
  /** Its body did not arrive in time. */
  readonly late: (response: Response) => void;
}

/** The header of the secret. */
export const SECRET_HEADER = 'x-countersign-secret';
const FORWARDED_MAX = 64;
/** Longer than the longest check of a candidate, and those of others before it. */
const SILENT_MS = 120_000;
/** Headers that are about one connection, and those by which this process says who the client is. */
const NOT_SENT_ON: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  SECRET_HEADER,
]);
/** The server frames its answers itself, as the client understands it. */
const NOT_SENT_BACK: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding']);

export interface Forwards {
  readonly pages: RequestHandler;
  readonly simulate: RequestHandler;
}

/**
 * Sends requests on to another process as they are, with the address of their client. So what people ask for
 * takes little of the thread that answers callbacks. At most 64 requests wait for the other process, each for
 * two minutes. `target` resolves with undefined while that process does not run.
 */
export function createForwards(target: () => Promise<Target | undefined>): Forwards {
  let forwarded = 0;
  const forwardOr =
    (refusals: Refusals) =>
    async (request: Request, response: Response): Promise<void> => {
      if (forwarded >= FORWARDED_MAX) {
        refusals.unanswered(response, `${forwarded} requests are waiting already. Try again in a second`);
        return;
      }
      forwarded += 1;
      response.once('close', () => (forwarded -= 1));
      const found = await target();
      if (found === undefined)
        refusals.unanswered(response, 'It does not run now, and is started again by itself');
      else if (!response.closed) pass(request, response, sentOn(request, found), refusals);
    };
  return {
    pages: forwardOr({
      unanswered(response, because) {
        response.status(503).set('Retry-After', '1').type('text/plain');
        response.send(`The process of the console does not answer. ${because}.\n`);
      },
      late: (response) =>
        void response
          .status(408)
          .type('text/plain')
          .send('The form did not arrive in time. Send it again.\n'),
    }),
    simulate: forwardOr({
      unanswered: (response, because) =>
        refuse(response, 'NOT_RUNNING', `the process that simulates does not answer. ${because}`),
      late: refuseLate,
    }),
  };
}

/** A connection of its own costs less than the doubt whether a kept one still stands. */
function sentOn(request: Request, { port, secret }: Target): ClientRequest {
  const headers = without(NOT_SENT_ON, request.rawHeaders);
  headers.push('X-Forwarded-For', request.socket.remoteAddress ?? '');
  headers.push('X-Forwarded-Proto', request.secure ? 'https' : 'http');
  headers.push(SECRET_HEADER, secret);
  const { method, originalUrl: path } = request;
  return httpRequest({ host: '127.0.0.1', port, agent: false, method, path, headers, timeout: SILENT_MS });
}

/** Names and values in turn, as they came. */
const without = (names: ReadonlySet<string>, rawHeaders: readonly string[]): string[] =>
  rawHeaders.filter((_, at) => !names.has((rawHeaders[at - (at % 2)] ?? '').toLowerCase()));

function pass(request: Request, response: Response, sent: ClientRequest, refusals: Refusals): void {
  const end = (answer: () => void): void => {
    // The answer is whole. What fails afterwards, such as the rest of the request, must not cut it.
    if (response.writableEnded) return;
    sent.destroy();
    if (response.headersSent) response.destroy();
    else if (!response.closed) answer();
  };
  const fail = (because: string): void => end(() => refusals.unanswered(response, because));
  sent.on('response', (answer: IncomingMessage) => {
    response.writeHead(answer.statusCode ?? 502, without(NOT_SENT_BACK, answer.rawHeaders));
    answer.on('error', () => response.destroy());
    answer.pipe(response);
  });
  sent.on('timeout', () => fail(`It has not answered for ${SILENT_MS / 1000} seconds. Try again`));
  sent.on('error', () => fail('It stopped. Try again in a second'));
  // The other process waits as long, and may have answered the same a moment before.
  request.on('aborted', () => {
    if (!response.headersSent) end(() => refusals.late(response));
  });
  response.once('close', () => sent.destroy());
  request.pipe(sent);
}
