import { type NextFunction, type Request, type Response, Router } from 'express';
import { z } from 'zod';
import { type OrderSource, announceOrder, orderSource, orderJson } from '../../orders/orders.ts';
import { pricesJson, setPrices } from '../../orders/prices.ts';
import { subjectOf } from '../../callback/callback.ts';
import { CountersignError, type ErrorCode } from '../../errors.ts';
import { KINDS } from '../../policy/document.ts';
import type { Store } from '../../store/store.ts';
import type { Clock } from '../../values/clock.ts';
import { formatSchemaError } from '../../values/schema-error.ts';
import { type ReportDenied, refuse, requireToken } from './access.ts';
import { jsonBody } from './json-body.ts';

export interface ApiParts {
  readonly store: Pick<Store, 'expectOrder' | 'order' | 'cancelOrder' | 'prices' | 'changePrices'>;
  readonly sources: readonly OrderSource[];
  /** Undefined where the settings name none: the API is off. */
  readonly token: (() => string) | undefined;
  readonly clock: Clock;
  readonly denied: ReportDenied;
}

/** Who is recorded as having done what came over the API. */
const BY = 'api';

const kind = z.enum(KINDS);
/** Amounts as text only: a JSON number may have lost digits before it gets here. */
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

/** What a merchant's back end may do over the ops port: announce orders, and set prices. JSON in and out. */
export function createApi({ store, sources, token, clock, denied }: ApiParts): Router {
  const api = Router();
  api.use(requireToken(token, denied));
  api.use(jsonBody());

  api.post('/orders', async (request, response) => {
    const body = read(orderBody, request.body, '{ source, kind, id, members, expires }, all of them texts');
    const { outcome, order } = await announceOrder(store, sources, { ...body, by: BY }, clock());
    response.status(outcome === 'expected' ? 201 : 200).json({ outcome, order: orderJson(order) });
  });
  api.get('/orders/:source/:kind/:id', async (request, response) => {
    const { source, subject } = named(sources, request.params);
    const order = await store.order(source, subject);
    if (order === undefined)
      refuse(response, 404, 'NOT_FOUND', `no order ${subject} was announced for ${source}`);
    else response.json({ order: orderJson(order) });
  });
  api.delete('/orders/:source/:kind/:id', async (request, response) => {
    const { outcome, order } = await store.cancelOrder({ ...named(sources, request.params), by: BY });
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

function named(sources: readonly OrderSource[], params: unknown): { source: string; subject: string } {
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
  // Express says so of a path that is wrongly encoded.
  const misspelt = thrown instanceof URIError;
  refuse(
    response,
    misspelt ? 400 : 500,
    misspelt ? 'USAGE' : 'INTERNAL',
    misspelt ? 'the path is not encoded as a path is' : 'something failed inside',
  );
}
