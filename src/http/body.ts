import bodyParser from 'body-parser';
import type { Request, Response } from 'express';
import { type Failure, failure, messageOf } from '../errors.ts';

/** The types of bodies: JSON of callbacks and of the API, and forms of the console. */
const TYPES = {
  'application/json':
    /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*(?:utf-?8|"utf-?8")[ \t]*)?(?:;[ \t]*)?$/i,
  'application/x-www-form-urlencoded': /^application\/x-www-form-urlencoded(?:;[ \t]*charset=utf-8)?$/i,
} as const;

/** Reads a body of at most `limitBytes` bytes, without compression, in UTF-8. */
export function bodyReader(
  limitBytes: number,
  type: keyof typeof TYPES = 'application/json',
): (request: Request, response: Response) => Promise<Uint8Array | Failure> {
  const raw = bodyParser.raw({ type: () => true, limit: limitBytes, inflate: false });

  return async (request, response) => {
    const contentType = request.headers['content-type'] ?? '';
    if (!TYPES[type].test(contentType)) {
      return failure('CONTENT_TYPE', `the content type is ${quote(contentType)}; send ${type} in UTF-8`);
    }
    const encoding = request.headers['content-encoding'] ?? 'identity';
    const transfer = request.headers['transfer-encoding'] ?? 'chunked';
    if (encoding.toLowerCase() !== 'identity' || transfer.toLowerCase() !== 'chunked') {
      return failure(
        'CONTENT_ENCODING',
        `the body is encoded as ${quote(`${encoding} ${transfer}`)}; send it uncompressed`,
      );
    }
    return new Promise((resolve) => {
      // A body that is missing when its answer is sent never arrives, and body-parser would wait for ever.
      response.once('close', () => resolve(failure('BODY_UNREADABLE', 'the body did not arrive in time')));
      raw(request, response, (error?: unknown) =>
        resolve(error === undefined ? bytesOf(request) : bodyFailure(error)),
      );
    });
  };
}

function bytesOf(request: Request): Uint8Array | Failure {
  const body: unknown = request.body;
  return body instanceof Uint8Array ? body : failure('BODY_UNREADABLE', 'the request has no body');
}

function bodyFailure(error: unknown): Failure {
  const tooLarge = error instanceof Error && 'type' in error && error.type === 'entity.too.large';
  return failure(
    tooLarge ? 'BODY_TOO_LARGE' : 'BODY_UNREADABLE',
    `the body could not be read: ${messageOf(error)}`,
  );
}

const quote = (text: string): string => JSON.stringify(text.slice(0, 80));
