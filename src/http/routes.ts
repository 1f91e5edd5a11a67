import { z } from 'zod';
import { cancelOrder, expectOrder, named } from '../act/orders.ts';
import { setPrices } from '../act/prices.ts';
import { releaseApproval } from '../act/release.ts';
import { KINDS } from '../callback/callback.ts';
import { ERRORS, type ErrorCode } from '../errors.ts';

/** The bodies of answers by status. The description of a body says what the status means. */
export type Answers = Readonly<Record<number, z.ZodType>>;

/** A route of the ops port. The app serves it, and the OpenAPI document describes it. */
export interface Route<A extends Answers = Answers> {
  /** Unique, for the document. */
  readonly id: string;
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** A parameter is written `{name}`. */
  readonly path: string;
  readonly summary: string;
  /** A body of an answer is JSON, unless this says otherwise. */
  readonly contentType?: string;
  readonly answers: A;
}

/** A route of the API. It needs the token. */
export interface ApiRoute<A extends Answers = Answers> extends Route<A> {
  readonly parameters?: z.ZodObject;
  readonly body?: z.ZodObject;
  /**
   * The parameters or the body in a few words, for errors. Absent if the route has none, or those of an act.
   */
  readonly form?: string;
  readonly example?: Readonly<Record<string, unknown>>;
  /** The codes of its own refusals. {@link ERRORS} has their statuses. */
  readonly refusals: readonly ErrorCode[];
}

/** The path as Express writes it. */
export function expressPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** Sends one of the answers. */
export type Reply<A extends Answers> = <S extends keyof A & number>(status: S, body: z.input<A[S]>) => void;

/** What the status of a refusal means. */
export const REFUSALS: Readonly<Record<number, string>> = {
  400: 'the request has a fault',
  401: 'the token is wrong',
  403: 'the settings have no token, or turn the call off',
  404: 'there is no such order, decision or path',
  408: 'the body did not arrive in time',
  409: 'the id has another order, or a used one; or it has no approval that can be released',
  413: 'the body is larger than 64 KiB',
  415: 'the body is not `application/json` in UTF-8',
  429: 'too many simulations are waiting',
  500: 'an internal error',
  503: "the service can't use the store, or the process that simulates does not run",
};

/** The refusals of all API routes, and those of routes with a body. */
export const REFUSED_ALWAYS = [401, 403, 500, 503] as const;
export const REFUSED_BODIES = [408, 413, 415] as const;

/** The status of an error. One that has none is an internal error. */
export function statusOf(code: ErrorCode): number {
  const row = ERRORS[code];
  return 'status' in row ? row.status : 500;
}

/** The codes of refusals with a status. */
export function codesOf(status: number): readonly string[] {
  if (REFUSED_BODIES.some((each) => each === status)) return ['USAGE'];
  return Object.entries(ERRORS).flatMap(([code, row]) =>
    'status' in row && row.status === status ? [code] : [],
  );
}

export const refusal = z.strictObject({ error: z.strictObject({ code: z.string(), message: z.string() }) });

const { source, kind, id } = named;
const instant = z.string().describe('An instant in UTC, such as 2026-03-02T10:00:00.000Z.');

const order = z
  .strictObject({
    source,
    subject: z.string().describe('The kind and the id, such as payment:11321.'),
    state: z.enum(['expected', 'used', 'cancelled', 'expired']),
    members: z.record(z.string(), z.string()).describe('By canonical names, as comparable texts.'),
    expires: instant,
    announced: instant,
    ended: z.string().describe('When it was used or cancelled; empty before.'),
    by: z.string().describe('Who announced it; `api` for this API.'),
  })
  .meta({ id: 'Order' });

const orderPath = z.object({ source, kind, id });
const pricesBody = z.strictObject({
  prices: z.record(
    z.string(),
    z.strictObject({
      price: z.string().describe('The price of one whole unit, a decimal above zero.'),
      asOf: z.string().optional().describe('When the price was true, an instant; now if it is left out.'),
    }),
  ),
});
const prices = z
  .strictObject({
    version: z.number().int().min(0),
    prices: z.record(z.string(), z.strictObject({ price: z.string(), asOf: instant })),
  })
  .meta({ id: 'Prices' });

const release = z
  .strictObject({
    outcome: z.enum(['released', 'before']),
    release: z.strictObject({
      id: z.string().describe('The journal entry, such as shop/17.'),
      source,
      subject: z.string().describe('The kind and the id, such as payment:11321.'),
      at: instant,
      by: z.string().describe('Who released it; `api` for this API.'),
      message: z.string(),
      amounts: z
        .array(
          z.strictObject({
            policy: z.string(),
            rule: z.string().describe('The kind of the rule and its place, such as window-limit#1.'),
            key: z.string().describe('The key of the count.'),
            amount: z.string().describe('What was given back; of a velocity limit, 1.'),
            until: instant.describe('Until when it would have counted.'),
          }),
        )
        .readonly(),
      kept: z
        .array(z.strictObject({ key: z.string(), until: instant }))
        .readonly()
        .describe(
          'The counts that go on until then: they count different values, or no longer have what was reserved there.',
        ),
    }),
  })
  .meta({ id: 'Release' });

const simulationBody = z.strictObject({
  source,
  kind,
  members: z
    .record(z.string(), z.string())
    .describe('By their names in policies or on the wire. An id may be left out.'),
  scheme: z
    .string()
    .optional()
    .describe('The scheme of a payment; by default the first that the source accepts.'),
  askPlugins: z
    .boolean()
    .optional()
    .describe('False to ask no service and no module: rules that need one then refuse.'),
});
const namedRule = z.strictObject({ policy: z.string(), rule: z.string(), because: z.string() });
const simulation = z
  .strictObject({
    verdict: z.enum(['SUCCESS', 'FAILURE']),
    code: z.string(),
    because: z.string(),
    deciding: namedRule.nullable().describe('The rule that would refuse.'),
    next: namedRule.nullable().describe('The rule that would refuse if the deciding one passed.'),
    rules: z
      .array(
        z.strictObject({
          policy: z.string(),
          rule: z.string(),
          mode: z.enum(['enforce', 'observe', 'alternative']),
          verdict: z.enum(['SUCCESS', 'FAILURE']),
          because: z.string(),
          values: z.record(z.string(), z.string()).readonly(),
          asked: z.boolean().describe('False if the store would refuse before it checks the rule.'),
        }),
      )
      .readonly(),
    revision: z.string().describe('The revision in force; empty if there is none.'),
    movements: z
      .array(
        z.strictObject({
          policy: z.string(),
          list: z
            .array(
              z.strictObject({
                type: z.enum(['native', 'transfer', 'approval']),
                symbol: z.string().optional(),
                contract: z.string().optional(),
                to: z.string(),
                amount: z.string().describe('A decimal, `unlimited` or `unknown`.'),
              }),
            )
            .readonly(),
          problem: z.string().describe("Why they can't be read; empty if they can."),
        }),
      )
      .readonly()
      .describe('What a web3 transaction moves, for each policy with `movements` that may apply.'),
    of: z.string().describe('The entry of the decision that would be repeated; empty if none would be.'),
  })
  .meta({ id: 'Simulation' });

const waiting = z
  .strictObject({
    request: z.string().describe('The id of the request, such as r7k2mqx.'),
    signatures: z.number().int().min(0).describe('How many have signed.'),
    expires: instant,
    message: z.string(),
  })
  .meta({ id: 'Waiting' })
  .describe(
    'Nothing has changed: people must sign the request first, because of `fourEyes` in the settings.',
  );

const announced = z
  .strictObject({
    outcome: z.enum(['expected', 'unchanged']),
    order,
    request: z
      .strictObject({ id: z.string(), state: z.string(), expires: instant })
      .optional()
      .describe('With `ask`: the request by which people approve it.'),
  })
  .meta({ id: 'AnnouncedOrder' });
const cancelled = z
  .strictObject({ outcome: z.enum(['cancelled', 'ended']), order })
  .meta({ id: 'CancelledOrder' });
const ORDER_PATH = '/orders/{source}/{kind}/{id}';
const ORDER_FORM = `/api/orders/SOURCE/KIND/ID, with a kind of ${KINDS.join(', ')}`;

/** The routes below `/api`. */
export const apiRoutes = {
  announceOrder: {
    id: 'orders.announce',
    method: 'post',
    path: '/orders',
    summary: expectOrder.summary,
    body: expectOrder.input,
    example: {
      source: 'shop',
      kind: 'payment',
      id: '11321',
      expires: '2h',
      members: { userId: '12345', symbol: 'USDT1742', amount: '100', scheme: 'rsa' },
    },
    answers: {
      200: announced.describe('The same order was announced before.'),
      201: announced.describe('The order is announced.'),
      202: waiting,
    },
    refusals: ['USAGE', 'ORDER_INVALID', 'ORDER_CONFLICT'],
  },
  showOrder: {
    id: 'orders.show',
    method: 'get',
    path: ORDER_PATH,
    summary: 'Show an order.',
    parameters: orderPath,
    form: ORDER_FORM,
    answers: { 200: z.strictObject({ order }).describe('The order.') },
    refusals: ['USAGE', 'ORDER_INVALID', 'NOT_FOUND'],
  },
  cancelOrder: {
    id: 'orders.cancel',
    method: 'delete',
    path: ORDER_PATH,
    summary: cancelOrder.summary,
    parameters: orderPath,
    form: ORDER_FORM,
    answers: {
      200: cancelled.describe('The order is cancelled.'),
      409: cancelled.describe('The order was used, cancelled or expired before.'),
    },
    refusals: ['USAGE', 'ORDER_INVALID', 'NOT_FOUND'],
  },
  releaseApproval: {
    id: 'approvals.release',
    method: 'post',
    path: '/releases',
    summary: releaseApproval.summary,
    body: releaseApproval.input,
    example: {
      source: 'shop',
      kind: 'payment',
      id: '11321',
      message: 'the platform answered 70005',
      members: { userId: '12345', symbol: 'USDT1742', amount: '100' },
    },
    answers: {
      200: release.describe('The approval was released before.'),
      201: release.describe('The approval is released.'),
      202: waiting,
    },
    refusals: ['USAGE', 'ORDER_INVALID', 'NOT_FOUND', 'RELEASE_REFUSED'],
  },
  simulate: {
    id: 'simulate',
    method: 'post',
    path: '/simulate',
    summary: 'Say what a callback would be answered now. Nothing is reserved or journalled.',
    body: simulationBody,
    form: '{ source, kind, members, scheme, askPlugins }',
    example: {
      source: 'shop',
      kind: 'payment',
      members: { userId: '12345', symbol: 'USDT1742', amount: '100' },
    },
    answers: { 200: simulation.describe('What it would be answered.') },
    refusals: ['USAGE', 'ORDER_INVALID', 'BUSY'],
  },
  showPrices: {
    id: 'prices.show',
    method: 'get',
    path: '/prices',
    summary: 'Show the prices.',
    answers: { 200: prices.describe('All prices.') },
    refusals: [],
  },
  setPrices: {
    id: 'prices.set',
    method: 'put',
    path: '/prices',
    summary: setPrices.summary,
    body: pricesBody,
    form: '{ prices: { BTC: { price, asOf } } }, all of them texts',
    example: {
      prices: { BTC: { price: '97000.5', asOf: '2026-03-02T10:00:00Z' }, ETH: { price: '3020.55' } },
    },
    answers: { 200: prices.describe('All prices, with the new ones.'), 202: waiting },
    refusals: ['USAGE', 'PRICE_INVALID'],
  },
} as const satisfies Readonly<Record<string, ApiRoute>>;

const readiness = z
  .strictObject({
    ready: z.boolean(),
    checks: z
      .array(
        z
          .strictObject({
            name: z.string(),
            ok: z.boolean(),
            because: z.string(),
            decisive: z.literal(false).optional().describe("It doesn't count for `ready`."),
          })
          .readonly(),
      )
      .readonly(),
  })
  .readonly()
  .meta({ id: 'Readiness' });

export type Readiness = z.output<typeof readiness>;

/** The line of an answer to a request that failed. */
export const FAILED = 'it failed; the log says why\n';

/** The other routes of the ops port. They need no token. */
export const probeRoutes = {
  health: {
    id: 'health',
    method: 'get',
    path: '/healthz',
    summary: 'Ask whether the process is alive.',
    contentType: 'text/plain',
    answers: { 200: z.literal('ok\n').describe('It is alive.') },
  },
  readiness: {
    id: 'readiness',
    method: 'get',
    path: '/readyz',
    summary: 'Ask whether the service can approve callbacks, and what is missing.',
    answers: {
      200: readiness.describe('It is ready.'),
      503: readiness.describe('It is not ready.'),
    },
  },
  metrics: {
    id: 'metrics',
    method: 'get',
    path: '/metrics',
    summary: 'Show the metrics.',
    contentType: 'text/plain',
    answers: {
      200: z.string().describe('The text format of Prometheus.'),
      500: z.literal(FAILED).describe('An internal error.'),
    },
  },
} as const satisfies Readonly<Record<string, Route>>;
