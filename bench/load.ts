import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { SubjectParts, SubjectSays } from './subject.ts';

/** What one round of callbacks came to. Milliseconds, and microseconds of CPU in the program's own process. */
export interface Round {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMicros: number;
  readonly rssBytes: number;
}

export interface Subject {
  readonly url: string;
  used(): Promise<{ readonly cpuMicros: number; readonly rssBytes: number }>;
  stop(): Promise<void>;
}

export async function startSubject(parts: SubjectParts): Promise<Subject> {
  const log = parts.program === 'floor' ? 'ignore' : openSync(parts.log, 'a');
  const child = fork(fileURLToPath(new URL('subject.ts', import.meta.url)), [JSON.stringify(parts)], {
    // Countersign as `npm start` runs it.
    execArgv: parts.program === 'floor' ? [] : ['--max-semi-space-size=64'],
    stdio: ['ignore', log, 'inherit', 'ipc'],
  });
  const serving = await hear(child, 'serving');
  return {
    url: serving.url,
    used() {
      child.send('used');
      return hear(child, 'used');
    },
    async stop() {
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
}

async function hear<S extends SubjectSays['says']>(
  child: ChildProcess,
  says: S,
): Promise<Extract<SubjectSays, { says: S }>> {
  for (;;) {
    const [said] = (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => {
        throw new Error('the program under measurement ended');
      }),
    ])) as [SubjectSays];
    if (said.says === says) return said as Extract<SubjectSays, { says: S }>;
  }
}

/** Posts each body once over `connections` and fails unless every answer is the one expected: a fast wrong answer is none. */
export async function load(
  subject: Subject,
  bodies: readonly string[],
  connections: number,
  answer = 'SUCCESS',
): Promise<Round> {
  const requests = bodies.map((body) => requestOf(new URL(subject.url), body));
  const latenciesMs: number[] = [];
  let next = 0;
  const before = await subject.used();
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: connections }, () =>
      converse(
        new URL(subject.url),
        () => requests[next++],
        (ms, body) => {
          if (body !== answer) throw new Error(`the answer was ${JSON.stringify(body)}, not ${answer}`);
          latenciesMs.push(ms);
        },
      ),
    ),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  const after = await subject.used();
  latenciesMs.sort((a, b) => a - b);
  const at = (share: number): number => latenciesMs[Math.floor(latenciesMs.length * share)] ?? Number.NaN;
  return {
    perSecond: bodies.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    cpuMicros: (after.cpuMicros - before.cpuMicros) / bodies.length,
    rssBytes: after.rssBytes,
  };
}

function requestOf(url: URL, body: string): Buffer {
  const path = '/nofity/transferToMerchantAuthCheck';
  const head = `POST ${path} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return Buffer.from(head + body);
}

/** One connection: a request, its answer, the next. As bare as can be, so that the sender's own cost hides no difference. */
function converse(
  url: URL,
  next: () => Buffer | undefined,
  answered: (ms: number, body: string) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname);
    let sentMs = 0;
    let received = '';
    const send = (): void => {
      const request = next();
      if (request === undefined) {
        socket.end();
        resolve();
        return;
      }
      sentMs = performance.now();
      socket.write(request);
    };
    socket.setNoDelay(true).setEncoding('latin1').on('connect', send).on('error', reject);
    socket.on('close', () => reject(new Error('the connection was closed')));
    socket.on('data', (chunk: string) => {
      received += chunk;
      const end = received.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? Number.NaN);
      if (end === -1 || received.length < end + 4 + length) return;
      const body = received.slice(end + 4);
      received = '';
      try {
        answered(performance.now() - sentMs, body);
        send();
      } catch (thrown) {
        socket.destroy();
        reject(thrown instanceof Error ? thrown : new Error(String(thrown)));
      }
    });
  });
}
