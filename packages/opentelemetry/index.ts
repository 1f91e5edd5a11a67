import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { TraceFlags } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { publishSpans } from './spans.ts';

export interface TracingOptions {
  /** The URL of a collector, to which `/v1/traces` is appended. */
  readonly endpoint: string;
  /** Called for each request, so that a changed secret is used. */
  readonly headers: () => Record<string, string>;
  /** Of 100 traces that begin here, how many are sent. */
  readonly samplePercent: number;
  readonly version: string;
  /** Called once a minute at most: how many spans were lost since the last call, and why the last of them was. */
  readonly reportLost: (count: number, because: string) => void;
}

/** Spans that wait for the collector, including those that are being sent. A callback has about ten. */
const WAITING_MAX = 4096;
/** To make the text of a batch takes about a millisecond, in which the process does nothing else. */
const BATCH_MAX = 256;
const BATCH_EVERY_MS = 1000;
/** For a batch, with its repeats. */
const EXPORT_MS = 5000;
const REPORT_EVERY_MS = 60_000;

/**
 * Makes a trace of each callback of this process, and sends it. Nothing here delays a callback or fails it. Returns
 * a function that sends the spans that wait, within the time given. It never rejects.
 */
export function startTracing(options: TracingOptions): (withinMs: number) => Promise<void> {
  const { endpoint, headers, samplePercent, version, reportLost } = options;
  const collector = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: () => Promise.try(headers),
    timeoutMillis: EXPORT_MS,
  });
  let [waiting, lost, reason, reportedMs] = [0, 0, '', -Infinity];

  function lose(count: number, because: string): void {
    if (count > 0) reason = because;
    lost += count;
    if (lost === 0 || performance.now() - reportedMs < REPORT_EVERY_MS) return;
    reportLost(lost, reason);
    [lost, reportedMs] = [0, performance.now()];
  }

  const batches = new BatchSpanProcessor({
    maxQueueSize: WAITING_MAX,
    maxExportBatchSize: BATCH_MAX,
    scheduledDelayMillis: BATCH_EVERY_MS,
    exporter: {
      export(spans, done) {
        collector.export(spans, (result) => {
          waiting -= spans.length;
          if (result.code !== ExportResultCode.SUCCESS) lose(spans.length, reasonOf(result));
          // The loss is reported. The processor would throw it.
          done({ code: ExportResultCode.SUCCESS });
        });
      },
      shutdown: () => collector.shutdown(),
    },
  });
  const service = {
    'service.name': 'countersign',
    'service.version': version,
    'service.instance.id': `${hostname()}:${process.pid}`,
  };
  const provider = new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes(service)),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(samplePercent / 100) }),
    spanProcessors: [
      {
        onStart: () => undefined,
        onEnd(span) {
          if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
          if (waiting >= WAITING_MAX) return lose(1, `${WAITING_MAX} spans wait for the collector`);
          waiting += 1;
          batches.onEnd(span);
        },
        forceFlush: () => batches.forceFlush(),
        shutdown: () => batches.shutdown(),
      },
    ],
  });
  const unsubscribe = publishSpans(provider.getTracer('countersign', version));
  return async (withinMs) => {
    unsubscribe();
    await Promise.race([
      batches.shutdown().catch(() => undefined),
      pause(withinMs, undefined, { ref: false }),
    ]);
    reportedMs = -Infinity;
    lose(waiting, 'the service stopped before the collector had them');
  };
}

/** A sentence without the answer of the collector, which may be any text. */
function reasonOf({ error }: ExportResult): string {
  const status = error !== undefined && 'code' in error && typeof error.code === 'number' ? error.code : 0;
  return status > 0 ? `the collector answered with HTTP status ${status}` : (error?.message ?? 'unknown');
}
