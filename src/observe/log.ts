import { Writable } from 'node:stream';
import winston from 'winston';
import { type Clock, systemClock } from '../values/clock.ts';
import { printableJson, printableSentence } from '../values/printable.ts';
import { type Step, steps } from './report.ts';

/*
 * The fields that a line may have beside time, level and event. There is no field for bodies, headers, keys
 * or secrets, so they can't enter the log.
 */
const kindOfField = {
  requestId: 'text',
  traceId: 'text',
  address: 'text',
  source: 'text',
  unverifiedSource: 'text',
  unverifiedAppKey: 'text',
  unverifiedOrder: 'text',
  file: 'text',
  fingerprint: 'text',
  kind: 'text',
  subject: 'text',
  question: 'text',
  authenticatedBy: 'text',
  verdict: 'text',
  outcome: 'text',
  code: 'text',
  because: 'text',
  rule: 'text',
  revision: 'text',
  decision: 'text',
  totalMs: 'number',
  stepsMs: 'steps',
  suppressed: 'number',
  host: 'text',
  port: 'number',
  store: 'text',
  verb: 'text',
  signal: 'text',
  version: 'text',
  commit: 'text',
  count: 'number',
  day: 'text',
} as const;

interface ValueOfKind {
  readonly text: string;
  readonly number: number;
  readonly steps: Readonly<Partial<Record<Step, number>>>;
}

type LogFields = {
  readonly [Name in keyof typeof kindOfField]?: ValueOfKind[(typeof kindOfField)[Name]] | undefined;
};

/**
 * Writes JSON lines without control characters. `event` is a constant such as `callback`; values belong in
 * the fields. No method throws.
 */
export interface Log {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** The lines that were dropped since the start, because too many waited for their reader. */
  droppedLines(): number;
}

export type LogLevel = 'error' | 'warn' | 'info';

const AFTER_DROPS = 'the journal has all decisions; find out why it did not read standard output';
const MAX_CHARACTERS = 1024;
/** Of a line for people. */
const LINE_CHARACTERS = 2048;
/** More characters never wait for a reader that has stalled. These are about ten thousand lines. */
const WAITING_MAX = 8 * 1024 * 1024;

/**
 * Writes lines of `level` and above to `stream`, as JSON or, with `readable`, for people at a terminal. Lines are lost if the stream fails, and dropped while it has
 * too much to write. Once it has less, a line `log-lines-dropped` says how many. The service never waits for
 * the stream.
 */
export function createLog({
  level,
  readable = false,
  stream = process.stdout,
  clock = systemClock,
}: {
  readonly level: LogLevel;
  readonly readable?: boolean;
  readonly stream?: Writable;
  readonly clock?: Clock;
}): Log {
  const ignore = (): void => undefined;
  stream.on('error', ignore);
  const transport = new winston.transports.Stream({ stream, eol: '\n' });
  const logger = winston.createLogger({
    level,
    format: winston.format.printf(({ message }) => String(message)),
    transports: [transport],
  });
  logger.on('error', ignore);
  const drops = { total: 0, unreported: 0 };
  const write = (at: LogLevel, event: string, fields: LogFields): void => {
    try {
      if (!logger.isLevelEnabled(at)) return;
      if (stream.writableLength >= WAITING_MAX) {
        drops.total += 1;
        drops.unreported += 1;
        return;
      }
      if (stream.writableLength < WAITING_MAX / 2) reportDrops();
      const line = lineOf(at, event, fields, clock());
      logger.log({ level: at, message: readable ? readableLine(line) : printableJson(line) });
    } catch {
      // The line is lost. Its decision is in the journal.
    }
  };
  const reportDrops = (): void => {
    const { unreported: count } = drops;
    if (count === 0) return;
    drops.unreported = 0;
    const because = `${count} lines were dropped, because the reader of the log had stalled; ${AFTER_DROPS}`;
    write('error', 'log-lines-dropped', { count, because });
  };
  stream.on('drain', reportDrops);
  return {
    droppedLines: () => drops.total,
    info: (event, fields = {}) => write('info', event, fields),
    warn: (event, fields = {}) => write('warn', event, fields),
    error: (event, fields = {}) => write('error', event, fields),
  };
}

interface Line {
  readonly time: string;
  readonly level: LogLevel;
  readonly event: string;
  [field: string]: unknown;
}

function lineOf(level: LogLevel, event: string, fields: LogFields, nowMs: number): Line {
  const line: Line = {
    time: new Date(nowMs).toISOString(),
    level,
    event: shortened(event),
  };
  for (const [name, kind] of fieldKinds) {
    const value = fields[name];
    if (value !== undefined) line[name] = checkedValue(kind, value);
  }
  return line;
}

/** `21:43:10.512 info  callback SUCCESS APPROVED shop payment:A-1 100 is at most 10000 (address=127.0.0.1 …)` */
function readableLine({ time, level, event, ...fields }: Line): string {
  const { verdict, code, source, subject, because, ...others } = fields;
  const first = [verdict, code, source, subject, because].filter((value) => value !== undefined);
  const rest = Object.entries(others).flatMap(([name, value]) =>
    typeof value === 'string' || typeof value === 'number' ? [`${name}=${value}`] : [],
  );
  const words = [time.slice(11, -1), level.padEnd(5), event, ...first.map(String)];
  return printableSentence(
    `${words.join(' ')}${rest.length === 0 ? '' : ` (${rest.join(' ')})`}`,
    LINE_CHARACTERS,
  );
}

type FieldName = keyof typeof kindOfField;
const fieldKinds = Object.keys(kindOfField)
  .filter((name): name is FieldName => Object.hasOwn(kindOfField, name))
  .map((name) => [name, kindOfField[name]] as const);

/** The value if it is of its kind, else undefined, which JSON leaves out. */
function checkedValue(kind: keyof ValueOfKind, value: ValueOfKind[keyof ValueOfKind]): unknown {
  if (kind === 'text') return typeof value === 'string' ? shortened(value) : undefined;
  if (kind === 'number') return rounded(value);
  if (typeof value !== 'object' || value === null) return undefined;
  const times: Partial<Record<Step, number>> = {};
  for (const step of steps) {
    const time = rounded(value[step]);
    if (time !== undefined) times[step] = time;
  }
  return times;
}

function rounded(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? Math.round(value * 1000) / 1000 : undefined;
}

function shortened(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}

/** How long a line may wait for other lines, and how many characters are one write. */
const BATCH_MS = 10;
const BATCH_CHARACTERS = 64 * 1024;

/**
 * Joins the lines of 10 ms into one write to `destination`, since each write is a system call. While
 * `destination` is writing, further lines wait in the stream, so its `writableLength` grows if the reader has
 * stalled. The rest is written at the end of the stream and when the process exits.
 */
export function batchWrites(destination: Writable): Writable {
  let lines = '';
  let timer: NodeJS.Timeout | undefined;
  let writes = 0;
  let exiting = false;
  let onWritten: (() => void) | undefined;

  const goOn = (): void => {
    const next = onWritten;
    onWritten = undefined;
    next?.();
  };
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (lines === '') return;
    writes += 1;
    // A destination that fails loses these lines, and is tried again with the next.
    destination.write(lines, () => {
      writes -= 1;
      if (writes > 0) return;
      flush();
      goOn();
    });
    lines = '';
  };
  const take = (text: string, done: () => void): void => {
    lines += text;
    if (writes > 0 && !exiting) {
      onWritten = done;
      return;
    }
    if (exiting || lines.length >= BATCH_CHARACTERS) flush();
    else timer ??= setTimeout(flush, BATCH_MS).unref();
    done();
  };
  const onExit = (): void => {
    exiting = true;
    flush();
    goOn();
  };
  process.once('exit', onExit);
  return new Writable({
    decodeStrings: false,
    write: (line: string | Buffer, _encoding, done) => take(line.toString(), done),
    writev: (waiting: readonly { readonly chunk: unknown }[], done) =>
      take(waiting.map(({ chunk }) => String(chunk)).join(''), done),
    final(done) {
      process.off('exit', onExit);
      flush();
      if (writes > 0) onWritten = done;
      else done();
    },
  });
}
