import type { NextFunction, Request, Response } from 'express';
import type { Failure } from '../../errors.ts';
import { type Bounds, decodeMembers } from '../../values/members.ts';
import { bodyReader } from '../body.ts';
import { refuse } from './access.ts';

const BODY_BYTES = 65_536;
/** More members than a body of that size has room for; the strictness is that no name is there twice. */
const BOUNDS: Bounds = { bytes: BODY_BYTES, members: 16_384, depth: 8, numberCharacters: 80 };

const STATUS: Partial<Readonly<Record<Failure['code'], number>>> = {
  BODY_TOO_LARGE: 413,
  CONTENT_TYPE: 415,
  CONTENT_ENCODING: 415,
};

/**
 * Reads the body of a POST or PUT as one JSON object, as strictly as a callback's. One that does not come in
 * time gets 408.
 */
export function jsonBody() {
  const readBytes = bodyReader(BODY_BYTES);
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    if (request.method !== 'POST' && request.method !== 'PUT') {
      next();
      return;
    }
    // The server gives up on it (see refuse in server.ts), and closes the connection once it is answered.
    request.once('aborted', () => {
      if (!response.headersSent) refuse(response, 408, 'USAGE', 'the body did not come in time');
    });
    const bytes = await readBytes(request, response);
    if (response.headersSent) return;
    const decoded = bytes instanceof Uint8Array ? decodeMembers(bytes, BOUNDS) : bytes;
    if (decoded.ok && !namesPrototype(decoded.text)) {
      request.body = JSON.parse(decoded.text);
      next();
      return;
    }
    const because = decoded.ok ? 'no member is called __proto__' : decoded.because;
    const status = decoded.ok ? 400 : (STATUS[decoded.code] ?? 400);
    refuse(
      response,
      status,
      'USAGE',
      `the body is no JSON object of at most ${BODY_BYTES} bytes: ${because}`,
    );
  };
}

/** Schemas leave such a member out without a word. */
function namesPrototype(json: string): boolean {
  let found = false;
  JSON.parse(json, (name, value: unknown) => {
    found ||= name === '__proto__';
    return value;
  });
  return found;
}
