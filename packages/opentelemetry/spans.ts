import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import {
  type CallbackMessage,
  type PluginMessage,
  type Traces,
  callbackTraces,
  pluginTraces,
  stepTraces,
  storeTraces,
} from '../../src/observe/traces.ts';

/**
 * Makes spans of what the service publishes, until the function returned is called. The steps, the store and the
 * plugins get spans only below the span of a callback.
 */
export function publishSpans(tracer: Tracer): () => void {
  const current = new AsyncLocalStorage<unknown>();
  const child = (parent: Span | undefined, name: string, options?: SpanOptions): Span | undefined => {
    if (parent?.spanContext().traceFlags !== TraceFlags.SAMPLED) return undefined;
    return tracer.startSpan(name, { ...options, startTime: nowMs() }, trace.setSpan(ROOT_CONTEXT, parent));
  };
  const ends = [
    subscribe(current, callbackTraces, (message) => startCallback(tracer, message), endCallback),
    subscribe(current, stepTraces, ({ step }, parent) => child(parent, step)),
    subscribe(current, storeTraces, ({ system, operation, script }, parent) => {
      const name = script === undefined ? operation : `${operation} ${script}`;
      const attributes = {
        'db.system.name': system,
        'db.operation.name': operation,
        'db.stored_procedure.name': script,
      };
      return child(parent, name, { kind: SpanKind.CLIENT, attributes });
    }),
    subscribe(
      current,
      pluginTraces,
      (message, parent) => {
        const { type, name, headers } = message;
        const span = child(parent, `${type} ${name}`, pluginOptions(message)) ?? parent;
        if (span !== undefined && type === 'service') headers['traceparent'] = traceparentOf(span);
        return span === parent ? undefined : span;
      },
      ({ result }, span) => {
        span.setAttribute('countersign.plugin.verdict', result?.verdict);
        if (result?.verdict === 'failed') span.setStatus({ code: SpanStatusCode.ERROR });
      },
    ),
  ];
  return () => ends.forEach((end) => end());
}

/** Makes a time of `performance.now()`, as precise as it is. It follows the system's clock in steps of 10 ms. */
let epochMs = 0;
const nowMs = (): number => epochMs + performance.now();

function startCallback(tracer: Tracer, message: CallbackMessage): Span {
  const { arrivedMs, path, parent } = message;
  const foundMs = Date.now() - performance.now();
  if (Math.abs(foundMs - epochMs) > 10) epochMs = foundMs;
  const attributes = { 'http.request.method': 'POST', 'http.route': path };
  const options = { kind: SpanKind.SERVER, attributes, startTime: epochMs + arrivedMs };
  const span = tracer.startSpan(`POST ${path}`, options, contextOf(parent));
  message.traceId = span.spanContext().traceId;
  return span;
}

function contextOf(parent: CallbackMessage['parent']): Context {
  if (parent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, sampled } = parent;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: Number(sampled), isRemote: true });
}

function endCallback({ report }: CallbackMessage, span: Span): void {
  if (report === undefined) return;
  const { source, kind, verdict, code, rule, revision, decision, outcome } = report;
  const known = { source, kind, verdict, code, rule, revision, decision, outcome };
  for (const [name, value] of Object.entries(known)) span.setAttribute(`countersign.${name}`, value);
  span.setAttribute('http.response.status_code', 200);
  if (outcome === 'failed') span.setAttribute('error.type', code).setStatus({ code: SpanStatusCode.ERROR });
}

/** The URL of a service may contain a secret, so only its host is named. */
function pluginOptions({ url }: PluginMessage): SpanOptions {
  if (url === undefined) return {};
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const attributes = { 'http.request.method': 'POST', 'server.address': url.hostname, 'server.port': port };
  return { kind: SpanKind.CLIENT, attributes };
}

function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-0${traceFlags}`;
}

/** Makes a span of each message. Returns the function that ends the subscription. */
function subscribe<M extends object>(
  current: AsyncLocalStorage<unknown>,
  channel: Traces<M>,
  start: (message: M, parent: Span | undefined) => Span | undefined,
  end: (message: M, span: Span) => void = () => undefined,
): () => void {
  const spans = new WeakMap<object, Span>();
  const finish = (message: M): void =>
    unlessFailed(() => {
      const span = spans.get(message);
      if (span === undefined) return;
      if ('error' in message) {
        span.setAttribute('error.type', errorType(message.error)).setStatus({ code: SpanStatusCode.ERROR });
      }
      end(message, span);
      span.end(nowMs());
    });
  const subscribers = {
    // Of work that goes on, the result is not known yet.
    end: (message: M) => void (('result' in message || 'error' in message) && finish(message)),
    asyncEnd: finish,
  };
  channel.start.bindStore(current, (message) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else is stored
    const parent = current.getStore() as Span | undefined;
    const span = unlessFailed(() => start(message, parent));
    if (span !== undefined) spans.set(message, span);
    return span ?? parent;
  });
  channel.subscribe(subscribers);
  return () => {
    channel.start.unbindStore(current);
    channel.unsubscribe(subscribers);
  };
}

/** An error thrown to a channel would end the process. */
function unlessFailed<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** A code of Countersign or of Node, and no message. */
const errorType = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown';
