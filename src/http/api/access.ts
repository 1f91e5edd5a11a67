import type { NextFunction, Request, Response } from 'express';
import { equalInConstantTime } from '../../values/secret.ts';

/** Told of each call with a wrong token: how often is whoever counts them to bound. */
export type ReportDenied = (address: string) => void;

/**
 * Lets through only calls that carry the token. It is read at each call, so that a new one needs no restart;
 * without one in the settings, and while it can't be read, nobody gets in.
 */
export function requireToken(token: (() => string) | undefined, denied: ReportDenied) {
  return (request: Request, response: Response, next: NextFunction): void => {
    if (token === undefined) {
      refuse(response, 403, 'API_OFF', 'the API is off; name a token under ops.token of the settings');
      return;
    }
    let expected: string | undefined;
    try {
      expected = token();
    } catch {
      expected = undefined;
    }
    const given = /^Bearer ([\x21-\x7e]{1,512})$/.exec(request.get('authorization') ?? '')?.[1];
    if (
      expected !== undefined &&
      expected !== '' &&
      given !== undefined &&
      equalInConstantTime(given, expected)
    ) {
      next();
      return;
    }
    denied(request.socket.remoteAddress ?? '');
    response.set('WWW-Authenticate', 'Bearer');
    refuse(response, 401, 'TOKEN_WRONG', 'send Authorization: Bearer with the token of ops.token');
  };
}

export function refuse(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ error: { code, message } });
}
