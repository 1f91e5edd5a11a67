import { type NextFunction, type Request, type Response, Router } from 'express';
import { z } from 'zod';
import { type OrderSource, announceOrder, orderJson, orderSource } from '../orders/orders.ts';
import { pricesJson, setPrices } from '../orders/prices.ts';
import { KINDS, subjectOf } from '../callback/callback.ts';
import { CountersignError, type ErrorCode, type Failure } from '../errors.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { formatSchemaError } from '../values/schema-error.ts';
import { type Bounds, decodeMembers } from '../values/members.ts';
import { equalInConstantTime } from '../values/secret.ts';
import { bodyReader } from './body.ts';

export interface ApiParts {
  readonly store: Pick<Store, 'expectOrder' | 'order' | 'cancelOrder' | 'prices' | 'changePrices'>;
  readonly sources: readonly OrderSource[];
  /** Undefined if the settings name no token: the API is off. */
  readonly token: (() => string) | undefined;
  readonly clock: Clock;
  /** Called for each call with a wrong token. */
  readonly onDenied: (address: string) => void;
}

/** The author that the store records for changes over the API. */
const BY = 'api';

const kind = z.enum(KINDS);
/** Amounts are text only: a JSON number may have lost digits before it arrives. */
const orderBody = z.strictObject({
  source: z.string(),
  kind,
  id: z.string(),
  members: z.record(z.string(), z.unknown()),
  expires: z.string().default('24h'),
});
const orderPath = z.object({ source: z.string(), kind, id: z.string() });
const pricesBody = z.strictObject({
  prices: z.record(z.string(), z.strictObject({ price: z.string(), asOf: z.string().optional() })),
});

/** The API of a merchant's back end on the ops port: orders and prices, as JSON. */
export function createApi({ store, sources, token, clock, onDenied }: ApiParts): Router {
  const api = Router();
  api.use(requireToken(token, onDenied));
  api.use(jsonBody());

  api.post('/orders', async (request, response) => {
    const body = read(orderBody, request.body, '{ source, kind, id, members, expires }, all of them texts');
    const { outcome, order } = await announceOrder(store, sources, { ...body, by: BY }, clock());
    response.status(outcome === 'expected' ? 201 : 200).json({ outcome, order: orderJson(order) });
  });
  api.get('/orders/:source/:kind/:id', async (request, response) => {
    const { source, subject } = subjectFromPath(sources, request.params);
    const order = await store.order(source, subject);
    if (order === undefined)
      refuse(response, 404, 'NOT_FOUND', `no order ${subject} was announced for ${source}`);
    else response.json({ order: orderJson(order) });
  });
  api.delete('/orders/:source/:kind/:id', async (request, response) => {
    const { outcome, order } = await store.cancelOrder({
      ...subjectFromPath(sources, request.params),
      by: BY,
    });
    response.status(outcome === 'cancelled' ? 200 : 409).json({ outcome, order: orderJson(order) });
  });
  api.get('/prices', async (_request, response) => {
    response.json(pricesJson(await store.prices()));
  });
  api.put('/prices', async (request, response) => {
    const { prices } = read(
      pricesBody,
      request.body,
      '{ prices: { BTC: { price, asOf } } }, all of them texts',
    );
    const written = Object.entries(prices).map(([asset, { price, asOf }]) => ({ asset, price, asOf }));
    response.json(pricesJson(await setPrices(store, written, { by: BY, nowMs: clock() })));
  });
  api.use((_request, response) => {
    refuse(
      response,
      404,
      'NOT_FOUND',
      'POST /api/orders, GET and DELETE /api/orders/SOURCE/KIND/ID, GET and PUT /api/prices',
    );
  });
  api.use(answerFault);
  return api;
}

function subjectFromPath(
  sources: readonly OrderSource[],
  params: unknown,
): { source: string; subject: string } {
  const path = read(orderPath, params, `/api/orders/SOURCE/KIND/ID, with a kind of ${KINDS.join(', ')}`);
  return { source: orderSource(sources, path.source, path.kind).name, subject: subjectOf(path) };
}

function read<T>(shape: z.ZodType<T>, value: unknown, expected: string): T {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new CountersignError(
    'USAGE',
    `${formatSchemaError(parsed.error, value, 'the body')}; write ${expected}`,
  );
}

const STATUS: Partial<Readonly<Record<ErrorCode, number>>> = {
  USAGE: 400,
  ORDER_INVALID: 400,
  PRICE_INVALID: 400,
  NOT_FOUND: 404,
  ORDER_CONFLICT: 409,
  STORE_UNREACHABLE: 503,
  STORE_MOVED: 503,
};

function answerFault(thrown: unknown, _request: Request, response: Response, _next: NextFunction): void {
  if (response.headersSent) return;
  if (thrown instanceof CountersignError) {
    refuse(response, STATUS[thrown.code] ?? 500, thrown.code, thrown.message);
    return;
  }
  // Express throws a URIError for a path with a wrong percent-encoding.
  const isBadEncoding = thrown instanceof URIError;
  refuse(
    response,
    isBadEncoding ? 400 : 500,
    isBadEncoding ? 'USAGE' : 'INTERNAL',
    isBadEncoding
      ? 'the path has an invalid percent-encoding; encode it again'
      : 'an internal error occurred',
  );
}

/**
 * Lets only calls with the token pass. The token is read at each call, so that a new one needs no restart.
 * Without a token in the settings, and while it can't be read, every call is refused.
 */
function requireToken(token: (() => string) | undefined, onDenied: ApiParts['onDenied']) {
  return (request: Request, response: Response, next: NextFunction): void => {
    if (token === undefined) {
      refuse(response, 403, 'API_OFF', 'the API is off; set ops.token in the settings');
      return;
    }
    const given = /^Bearer ([\x21-\x7e]{1,512})$/.exec(request.get('authorization') ?? '')?.[1];
    if (given !== undefined && isToken(given, token)) {
      next();
      return;
    }
    onDenied(request.socket.remoteAddress ?? '');
    response.set('WWW-Authenticate', 'Bearer');
    refuse(
      response,
      401,
      'TOKEN_WRONG',
      'the token is missing or wrong; send Authorization: Bearer with the token of ops.token',
    );
  };
}

function isToken(given: string, token: () => string): boolean {
  try {
    const expected = token();
    return expected !== '' && equalInConstantTime(given, expected);
  } catch {
    return false;
  }
}

function refuse(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ error: { code, message } });
}

const BODY_BYTES = 65_536;
/** More members than a body of that size can hold. */
const BOUNDS: Bounds = { bytes: BODY_BYTES, members: 16_384, depth: 8, numberCharacters: 80 };

const BODY_STATUS: Partial<Readonly<Record<Failure['code'], number>>> = {
  BODY_TOO_LARGE: 413,
  CONTENT_TYPE: 415,
  CONTENT_ENCODING: 415,
};

/**
 * Reads the body of a POST or PUT as one JSON object, as strictly as the body of a callback. A late body is
 * answered 408.
 */
function jsonBody() {
  const readBytes = bodyReader(BODY_BYTES);
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    if (request.method !== 'POST' && request.method !== 'PUT') {
      next();
      return;
    }
    // The server emits this when the body is late, and closes the connection after the answer: see refuse in
    // server.ts.
    request.once('aborted', () => {
      if (!response.headersSent) refuse(response, 408, 'USAGE', 'the body did not arrive in time');
    });
    const bytes = await readBytes(request, response);
    if (response.headersSent) return;
    const decoded = bytes instanceof Uint8Array ? decodeMembers(bytes, BOUNDS) : bytes;
    if (decoded.ok && !namesPrototype(decoded.text)) {
      request.body = JSON.parse(decoded.text);
      next();
      return;
    }
    const because = decoded.ok ? 'a member is called __proto__' : decoded.because;
    const status = decoded.ok ? 400 : (BODY_STATUS[decoded.code] ?? 400);
    const message = `the body must be a JSON object of at most ${BODY_BYTES} bytes: ${because}`;
    refuse(response, status, 'USAGE', message);
  };
}

/** Whether a member is called `__proto__`. Schemas would ignore it. */
function namesPrototype(json: string): boolean {
  let found = false;
  JSON.parse(json, (name, value: unknown) => {
    found ||= name === '__proto__';
    return value;
  });
  return found;
}
