import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { Posted } from './callbacks.ts';
import type { Program } from './programs.ts';
import type { Stage } from './stage.ts';
import type { SubjectParts, SubjectSays } from './subject.ts';

/**
 * What one round of callbacks came to. Milliseconds, and microseconds of CPU in the program's own process.
 */
export interface Round {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMicros: number;
  readonly allocatedBytes: number;
  readonly rssBytes: number;
  /** Redis' own time for a callback. */
  readonly redisMicros: number;
}

type Used = Omit<Extract<SubjectSays, { says: 'used' }>, 'says'>;

/** A program under measurement: one process, or several on one store. */
export interface Subject {
  readonly urls: readonly string[];
  /** Of all its processes together, and of Redis. */
  used(): Promise<Used & { readonly redisMicros: number }>;
  stop(): Promise<void>;
}

const ENTRY = new URL('subject.ts', import.meta.url);

/** Starts a program on the stage. `entry` is `subject.ts` of the checkout that is measured. */
export async function startSubject(stage: Stage, program: Program, entry = ENTRY): Promise<Subject> {
  const processes: Process[] = [];
  // One after the other: the first makes the list.
  for (const each of await stage.set(program)) processes.push(await startProcess(each, entry));
  return {
    urls: processes.map(({ url }) => url),
    async used() {
      const all = await Promise.all(processes.map((each) => each.used()));
      const sum = (of: (used: Used) => number): number => all.reduce((total, used) => total + of(used), 0);
      return {
        cpuMicros: sum((used) => used.cpuMicros),
        rssBytes: sum((used) => used.rssBytes),
        allocatedBytes: sum((used) => used.allocatedBytes),
        redisMicros: await stage.redisMicros(),
      };
    },
    async stop() {
      await Promise.all(processes.map((each) => each.stop()));
    },
  };
}

interface Process {
  readonly url: string;
  used(): Promise<Used>;
  stop(): Promise<void>;
}

async function startProcess(parts: SubjectParts, entry: URL): Promise<Process> {
  const log = parts.program === 'floor' ? 'ignore' : openSync(parts.log, 'a');
  const child = fork(fileURLToPath(entry), [JSON.stringify(parts)], {
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
    const heard = new AbortController();
    const { signal } = heard;
    const ended = once(child, 'exit', { signal }).then(() => {
      throw new Error('the program under measurement ended');
    });
    const [said] = (await Promise.race([once(child, 'message', { signal }), ended])) as [SubjectSays];
    ended.catch(() => undefined);
    heard.abort();
    if (said.says === says) return said as Extract<SubjectSays, { says: S }>;
  }
}

/**
 * Posts each callback once over `connections` and fails unless every answer is the one expected: a fast wrong
 * answer is none.
 */
export async function load(
  subject: Subject,
  callbacks: readonly Posted[],
  { connections, answer }: { readonly connections: number; readonly answer: string },
): Promise<Round> {
  const requests = callbacks.map(requestOf);
  const latenciesMs: number[] = [];
  let next = 0;
  const before = await subject.used();
  const startedMs = performance.now();
  const conversations: Promise<void>[] = [];
  // One after the other: Node accepts one connection a turn, and a crowd of new ones would be measured
  // instead.
  for (let at = 0; at < connections; at++) {
    const first = Promise.withResolvers<void>();
    const conversation = converse(
      new URL(subject.urls[at % subject.urls.length] ?? ''),
      () => requests[next++],
      (ms, body) => {
        if (body !== answer) throw new Error(`the answer was ${JSON.stringify(body)}, not ${answer}`);
        latenciesMs.push(ms);
        first.resolve();
      },
    ).finally(first.resolve);
    conversation.catch(() => undefined);
    conversations.push(conversation);
    await first.promise;
  }
  await Promise.all(conversations);
  const seconds = (performance.now() - startedMs) / 1000;
  const after = await subject.used();
  latenciesMs.sort((a, b) => a - b);
  const at = (share: number): number => latenciesMs[Math.floor(latenciesMs.length * share)] ?? Number.NaN;
  return {
    perSecond: callbacks.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    cpuMicros: (after.cpuMicros - before.cpuMicros) / callbacks.length,
    allocatedBytes: (after.allocatedBytes - before.allocatedBytes) / callbacks.length,
    rssBytes: after.rssBytes,
    redisMicros: (after.redisMicros - before.redisMicros) / callbacks.length,
  };
}

function requestOf({ path, headers, body }: Posted): Buffer {
  const length = Buffer.byteLength(body);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${length}\r\n\r\n${body}`,
  );
}

/**
 * One connection: a request, its answer, the next. As bare as can be, so that the sender's own cost hides no
 * difference. Where an answer ends the connection, the next request is sent over a new one.
 */
function converse(
  url: URL,
  next: () => Buffer | undefined,
  answered: (ms: number, body: string) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const talk = (request: Buffer | undefined): void => {
      if (request === undefined) return resolve();
      const socket = connect(Number(url.port), url.hostname);
      let received = '';
      let waiting = true;
      let sentMs = performance.now();
      const fail = (error: Error): void => {
        if (waiting) reject(error);
      };
      const take = (end: number): void => {
        const [head, body] = [received.slice(0, end), received.slice(end + 4)];
        received = '';
        waiting = false;
        answered(performance.now() - sentMs, body);
        const following = next();
        if (following === undefined || /connection: close/i.test(head)) {
          socket.destroy();
          talk(following);
          return;
        }
        waiting = true;
        sentMs = performance.now();
        socket.write(following);
      };
      socket
        .setNoDelay(true)
        .setEncoding('latin1')
        .on('connect', () => socket.write(request))
        .on('error', fail)
        .on('close', () => fail(new Error('the connection was closed')))
        .on('data', (chunk: string) => {
          received += chunk;
          const end = received.indexOf('\r\n\r\n');
          const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? Number.NaN);
          if (end === -1 || received.length < end + 4 + length) return;
          try {
            take(end);
          } catch (thrown) {
            socket.destroy();
            reject(thrown instanceof Error ? thrown : new Error(String(thrown)));
          }
        });
    };
    talk(next());
  });
}
