import { once } from 'node:events';
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

/** A span as a collector receives it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** The empty text without a parent. */
  readonly parentSpanId: string;
  readonly name: string;
  /** 1: internal, 2: server, 3: client. */
  readonly kind: number;
  readonly failed: boolean;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface Collector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** All that was sent, as text. */
  readonly text: () => string;
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  readonly resource: () => Readonly<Record<string, unknown>>;
}

const value = z
  .object({ stringValue: z.string().optional(), intValue: z.coerce.number().optional() })
  .transform(({ stringValue, intValue }) => stringValue ?? intValue);
const attributes = z
  .array(z.object({ key: z.string(), value }))
  .default([])
  .transform((list) => Object.fromEntries(list.map((each) => [each.key, each.value])));
const span = z
  .object({
    traceId: z.string(),
    spanId: z.string(),
    parentSpanId: z.string().default(''),
    name: z.string(),
    kind: z.number(),
    status: z.object({ code: z.number().optional() }),
    startTimeUnixNano: z.coerce.bigint(),
    endTimeUnixNano: z.coerce.bigint(),
    attributes,
  })
  .transform(({ startTimeUnixNano, endTimeUnixNano, status, ...rest }) => ({
    ...rest,
    startNs: startTimeUnixNano,
    endNs: endTimeUnixNano,
    failed: status.code === 2,
  }));
const request = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes }),
      scopeSpans: z.array(z.object({ spans: z.array(span) })),
    }),
  ),
});

/** Accepts everything. */
const accepts = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
};

/** A collector for OTLP over HTTP as JSON, on a port of its own, gone when the test is over. */
export async function startCollector(answer = accepts): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const requests: Collector['requests'][number][] = [];
  let [text, resource] = ['', {}];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { url: path = '', headers } = incoming;
      const body = Buffer.concat(chunks).toString();
      requests.push({ path, headers });
      text += body;
      for (const each of request.parse(JSON.parse(body)).resourceSpans) {
        resource = each.resource.attributes;
        spans.push(...each.scopeSpans.flatMap((scope) => scope.spans));
      }
      answer(response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = `http://127.0.0.1:${address.port}`;
  return { url, spans, requests, text: () => text, resource: () => resource };
}

/** The spans of a trace, each below its parent, in the order of their start. */
export function treeOf(spans: readonly CollectedSpan[], parent: string, depth = 0): readonly string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .toSorted((a, b) => Number(a.startNs - b.startNs))
    .flatMap((each) => [`${'  '.repeat(depth)}${lineOf(each)}`, ...treeOf(spans, each.spanId, depth + 1)]);
}

const KINDS = ['', '', ' (server)', ' (client)'];
const lineOf = ({ name, kind, failed }: CollectedSpan): string =>
  `${name}${KINDS[kind]}${failed ? ' failed' : ''}`;
