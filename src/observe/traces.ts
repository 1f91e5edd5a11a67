import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import type { CallbackReport, Step } from './report.ts';

/*
 * What happens to a callback, for programs that make traces: four tracing channels of node:diagnostics_channel,
 * `tracing:countersign:callback:start` and so on. Without a subscriber nothing is published. As with every
 * TracingChannel, `result` or `error` is set on the message before its end is published.
 *
 * A subscriber runs within the handling of the callback: it must not throw, and must not take long.
 */

/** From the arrival of a callback to its answer. A callback that is turned away unread is not published. */
export interface CallbackMessage {
  /** The earliest instant at which it can have arrived, in milliseconds of `performance.now()`. */
  readonly arrivedMs: number;
  /** The path of its URL, without the secret segment. */
  readonly path: string;
  /** The span of the caller; undefined without a valid `traceparent`. */
  readonly parent: TraceParent | undefined;
  /** For the log and the journal. At the start, a subscriber sets it if there is no parent. */
  traceId: string | undefined;
  /** The report of the answer; undefined until there is one. */
  report: CallbackReport | undefined;
}

export interface StepMessage {
  readonly step: Step;
}

/** A round trip to the store: a script on Redis, the wait for its replicas, or a write to SQLite. */
export interface StoreMessage {
  readonly system: 'redis' | 'sqlite';
  readonly operation: string;
  /** The name of a Lua script. */
  readonly script?: string;
}

/** A question to a plugin, with its wait in the queue. */
export interface PluginMessage {
  readonly type: 'service' | 'module';
  readonly name: string;
  /** The URL of a service. */
  readonly url: URL | undefined;
  /** Headers for the question to a service. At the start, a subscriber can add some; they are not signed. */
  readonly headers: Record<string, string>;
  readonly result?: { readonly verdict: string };
}

/** A subscriber binds a store of its own to the start of a channel. */
export type Traces<M extends object> = TracingChannel<M, unknown>;

export const callbackTraces: Traces<CallbackMessage> = tracingChannel('countersign:callback');
export const stepTraces: Traces<StepMessage> = tracingChannel('countersign:step');
export const storeTraces: Traces<StoreMessage> = tracingChannel('countersign:store');
export const pluginTraces: Traces<PluginMessage> = tracingChannel('countersign:plugin');

/** Does the work, and publishes its start and end if anybody listens. */
export function traced<M extends object, T>(
  channel: Traces<M>,
  message: M,
  work: () => Promise<T>,
): Promise<T> {
  return channel.hasSubscribers ? channel.tracePromise(work, message) : work();
}

/** A span of another program: lower-case hexadecimal digits, which are not all zero. */
export interface TraceParent {
  /** 32 digits. */
  readonly traceId: string;
  /** 16 digits. */
  readonly spanId: string;
  readonly sampled: boolean;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const SAMPLED = 1;

/**
 * Reads the header `traceparent` of W3C Trace Context, version 00. Any other text counts as absent: the header
 * is not authenticated, and nothing may depend on it.
 */
export function parseTraceparent(header: string | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags = ''] = TRACEPARENT.exec(header ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}
