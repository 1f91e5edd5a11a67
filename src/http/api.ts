import {
  type ErrorRequestHandler,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from 'express';
import type { z } from 'zod';
import { type Author, perform } from '../act/act.ts';
import { cancelOrder, expectOrder } from '../act/orders.ts';
import { type PricesParts, setPrices } from '../act/prices.ts';
import { releaseApproval } from '../act/release.ts';
import { type OrderSource, orderJson, orderSource } from '../orders/orders.ts';
import { pricesJson } from '../orders/prices.ts';
import { subjectOf } from '../callback/callback.ts';
import { CountersignError, type ErrorCode, type Failure, messageOf, usageError } from '../errors.ts';
import type { Simulate } from '../simulation/simulator.ts';
import type { ApprovalRequests, Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { formatSchemaError } from '../values/schema-error.ts';
import { type Bounds, decodeMembers } from '../values/members.ts';
import { type AcceptedSecret, presentedSecret } from '../values/secret.ts';
import { bodyReader } from './body.ts';
import { type Answers, type ApiRoute, type Reply, apiRoutes, expressPath, statusOf } from './routes.ts';

export interface ApiParts {
  readonly store: PricesParts['store'] &
    Pick<
      Store,
      | 'expectOrder'
      | 'order'
      | 'cancelOrder'
      | 'subject'
      | 'releaseApproval'
      | 'entries'
      | 'entry'
      | 'control'
      | 'document'
      | keyof ApprovalRequests
    >;
  readonly sources: readonly OrderSource[];
  readonly deployment?: string | undefined;
  /** Undefined if the settings name no token: the API is off. */
  readonly token: (() => readonly AcceptedSecret[]) | undefined;
  /** Called for each call with a right token, with which one it is: `token`, or `token line 2`. */
  readonly tokenUsed: (token: string) => void;
  /** Whether approvals may be released. */
  readonly releases: boolean;
  /** Answers `POST /api/simulate`: see createSimulationApi. */
  readonly simulate: RequestHandler;
  readonly fourEyes: Author['fourEyes'];
  readonly clock: Clock;
  /** Called for each call with a wrong token. */
  readonly onDenied: (address: string) => void;
}

/** Called for each request that can't be served: because of an internal error, or of the store. */
export type OnFailed = (request: string, because: string) => void;

/** How the log names a request, without parameters: `GET /readyz`. */
export const requestName = ({ method, baseUrl, path }: Request): string =>
  `${method} ${`${baseUrl}${path}`.replace(INVITATION, '$1TOKEN')}`;

/** How the log names a call of the API: `GET /api/orders/:source/:kind/:id`. The log limits lines by name. */
const callName = (request: Request): string => {
  const route: { readonly path: string } | undefined = request.route;
  return route === undefined ? requestName(request) : `${request.method} ${request.baseUrl}${route.path}`;
};

/** Who reads the log must not be able to use an invitation to the console. */
const INVITATION = /^(\/console\/+invite\/+)[^/]+/i;

/** The author that the store records for changes over the API. */
const API = 'api';

/** The API of a merchant's back end on the ops port: orders, releases and prices, as JSON. */
export function createApi(
  { store, sources, deployment, token, tokenUsed, releases, simulate, fourEyes, clock, onDenied }: ApiParts,
  onFailed: OnFailed,
): Router {
  const api = Router();
  api.use(requireToken({ token, tokenUsed, onDenied }));
  api.post(expressPath(apiRoutes.simulate.path), simulate);
  api.use(jsonBody());
  const serve = servingOn(api);
  const parts = { store, sources, clock, deployment };
  const author: Author = { by: API, fourEyes };
  serve(apiRoutes.announceOrder, async ({ body }, reply) => {
    const result = await perform(expectOrder, parts, body, author);
    reply(result.outcome === 'expected' ? 201 : 200, expectOrder.json(result));
  });
  serve(apiRoutes.showOrder, async ({ params }, reply) => {
    const named = orderIn(params);
    const [source, subject] = [orderSource(sources, named.source, named.kind).name, subjectOf(named)];
    const order = await store.order(source, subject);
    if (order !== undefined) reply(200, { order: orderJson(order) });
    else throw new CountersignError('NOT_FOUND', `no order ${subject} was announced for ${source}`);
  });
  serve(apiRoutes.cancelOrder, async ({ params }, reply) => {
    const result = await perform(cancelOrder, parts, orderIn(params), author);
    reply(result.outcome === 'cancelled' ? 200 : 409, cancelOrder.json(result));
  });
  serve(apiRoutes.releaseApproval, async (request, reply, response) => {
    if (!releases) {
      refuse(response, 'API_OFF', 'releases over the API are off; set ops.releases in the settings');
      return;
    }
    const result = await perform(releaseApproval, parts, request.body, author);
    reply(result.outcome === 'released' ? 201 : 200, releaseApproval.json(result));
  });
  serve(apiRoutes.showPrices, async (_request, reply) => reply(200, pricesJson(await store.prices())));
  serve(apiRoutes.setPrices, async (request, reply) => {
    const { prices } = readBody(apiRoutes.setPrices, request);
    const written = Object.entries(prices).map(([asset, price]) => ({ asset, ...price }));
    reply(200, setPrices.json(await perform(setPrices, parts, { prices: written }, author)));
  });
  api.use((_request, response) => {
    refuse(
      response,
      'NOT_FOUND',
      'POST /api/orders, GET and DELETE /api/orders/SOURCE/KIND/ID, POST /api/releases, POST /api/simulate, ' +
        'GET and PUT /api/prices',
    );
  });
  api.use(answerFaults(onFailed));
  return api;
}

/**
 * The call of the API that may take long. Another process than that of the callbacks serves it, once the
 * token was verified.
 */
export function createSimulationApi(simulate: Simulate, onFailed: OnFailed): Router {
  const api = Router();
  api.use(jsonBody());
  servingOn(api)(apiRoutes.simulate, async (request, reply) => {
    const given = readBody(apiRoutes.simulate, request);
    const { deciding = null, next = null, ...simulated } = await simulate({ ...given, body: '' }, API);
    reply(200, { ...simulated, deciding, next });
  });
  api.use(answerFaults(onFailed));
  return api;
}

/** Adds a route to a router. */
const servingOn =
  (api: Router) =>
  <A extends Answers>(
    { method, path }: ApiRoute<A>,
    handle: (request: Request, reply: Reply<A>, response: Response) => Promise<void>,
  ): void => {
    api[method](expressPath(path), (request, response) =>
      handle(request, (status, body) => void response.status(status).json(body), response),
    );
  };

function answerFaults(onFailed: OnFailed): ErrorRequestHandler {
  return (thrown: unknown, request, response, _next) => {
    if (isFailure(thrown)) onFailed(callName(request), messageOf(thrown));
    answerFault(thrown, response);
  };
}

function orderIn(params: unknown) {
  const { parameters, form } = apiRoutes.showOrder;
  return read(parameters, params, form);
}

function readBody<T>(route: { readonly body: z.ZodType<T>; readonly form: string }, { body }: Request): T {
  return read(route.body, body, route.form);
}

function read<T>(shape: z.ZodType<T>, value: unknown, expected: string): T {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  throw usageError(`${formatSchemaError(parsed.error, value, 'the body')}; write ${expected}`);
}

/** Whether the service, and not the call, is at fault. */
const isFailure = (thrown: unknown): boolean =>
  thrown instanceof CountersignError ? statusOf(thrown.code) >= 500 : isInternal(thrown);

/** Express throws a URIError for a path with a wrong percent-encoding. */
const isInternal = (thrown: unknown): boolean =>
  !(thrown instanceof CountersignError || thrown instanceof URIError);

function answerFault(thrown: unknown, response: Response): void {
  if (response.headersSent) return;
  if (thrown instanceof CountersignError) {
    const { code, message, data } = thrown;
    if (code === 'AWAITS_SIGNATURES') response.status(statusOf(code)).json({ ...data, message });
    else refuse(response, code, message);
    return;
  }
  if (isInternal(thrown)) refuse(response, 'INTERNAL', 'an internal error occurred');
  else refuse(response, 'USAGE', 'the path has an invalid percent-encoding; encode it again');
}

/**
 * Lets only calls with the token pass. The token is read at each call, so that a new one needs no restart.
 * Without a token in the settings, and while it can't be read, every call is refused.
 */
function requireToken({ token, tokenUsed, onDenied }: Pick<ApiParts, 'token' | 'tokenUsed' | 'onDenied'>) {
  return (request: Request, response: Response, next: NextFunction): void => {
    if (token === undefined) {
      refuse(response, 'API_OFF', 'the API is off; set ops.token in the settings');
      return;
    }
    const given = /^Bearer ([\x21-\x7e]{1,512})$/.exec(request.get('authorization') ?? '')?.[1];
    const presented = given === undefined ? undefined : presentedToken(given, token);
    if (presented !== undefined) {
      tokenUsed(`token${presented.line}`);
      next();
      return;
    }
    onDenied(request.socket.remoteAddress ?? '');
    response.set('WWW-Authenticate', 'Bearer');
    refuse(
      response,
      'TOKEN_WRONG',
      'the token is missing or wrong; send Authorization: Bearer with the token of ops.token',
    );
  };
}

function presentedToken(given: string, token: () => readonly AcceptedSecret[]): AcceptedSecret | undefined {
  try {
    return presentedSecret(given, token());
  } catch {
    return undefined;
  }
}

export function refuse(response: Response, code: ErrorCode, message: string, status = statusOf(code)): void {
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

export const refuseLate = (response: Response): void =>
  refuse(response, 'USAGE', 'the body did not arrive in time', 408);

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
      if (!response.headersSent) refuseLate(response);
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
    refuse(response, 'USAGE', message, status);
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
