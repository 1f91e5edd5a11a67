import { Writable } from 'node:stream';
import winston from 'winston';
import { type Clock, systemClock } from '../values/clock.ts';
import { printableJson } from '../values/printable.ts';
import { type Step, steps } from './report.ts';

/*
 * The fields that a line may have beside time, level and event. There is no field for bodies, headers, keys
 * or secrets, so they can't enter the log.
 */
const kindOfField = {
  requestId: 'text',
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
}

export type LogLevel = 'error' | 'warn' | 'info';

const MAX_CHARACTERS = 1024;

/**
 * Writes lines of `level` and above to `stream`. Lines are lost if the stream fails, and the service
 * continues.
 */
export function createLog({
  level,
  stream = process.stdout,
  clock = systemClock,
}: {
  readonly level: LogLevel;
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
  const write = (at: LogLevel, event: string, fields: LogFields): void => {
    try {
      if (logger.isLevelEnabled(at)) logger.log({ level: at, message: lineOf(at, event, fields, clock()) });
    } catch {
      // The line is lost. Its decision is in the journal.
    }
  };
  return {
    info: (event, fields = {}) => write('info', event, fields),
    warn: (event, fields = {}) => write('warn', event, fields),
    error: (event, fields = {}) => write('error', event, fields),
  };
}

function lineOf(level: LogLevel, event: string, fields: LogFields, nowMs: number): string {
  const line: Record<string, unknown> = {
    time: new Date(nowMs).toISOString(),
    level,
    event: shortened(event),
  };
  for (const [name, kind] of fieldKinds) {
    const value = fields[name];
    if (value !== undefined) line[name] = checkedValue(kind, value);
  }
  return printableJson(line);
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

/** How long a line may wait for other lines. */
const BATCH_MS = 10;

/**
 * Joins the lines of 10 ms into one write to `destination`, since Node writes standard output synchronously.
 * The rest is written at the end of the stream and when the process exits.
 */
export function batchWrites(destination: Writable): Writable {
  let lines = '';
  const flush = (): void => {
    if (lines !== '') destination.write(lines);
    lines = '';
  };
  process.once('exit', flush);
  return new Writable({
    decodeStrings: false,
    write(line: string | Buffer, _encoding, done) {
      if (lines === '') setTimeout(flush, BATCH_MS).unref();
      lines += line.toString();
      done();
    },
    final(done) {
      process.off('exit', flush);
      flush();
      done();
    },
  });
}
