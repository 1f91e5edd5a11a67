import type { Writable } from 'node:stream';
import winston from 'winston';
import { type Clock, systemClock } from '../values/clock.ts';
import { steadyJson } from '../values/steering.ts';
import { type Step, steps } from './report.ts';

/*
 * What a line may hold beside its time, level and event, and nothing else: bodies, headers, keys and secrets
 * have no name here, so there is no way for them into the log.
 */
const kindOfField = {
  requestId: 'text',
  address: 'text',
  source: 'text',
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
 * JSON lines in which nothing can steer a terminal. `event` is a constant such as `callback`; what varies is
 * in the fields. Nothing here ever throws.
 */
export interface Log {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

export type LogLevel = 'error' | 'warn' | 'info';

const MAX_CHARACTERS = 1024;

/** Writes lines of `level` and above to `stream`. A stream that fails loses lines, and stops nothing. */
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
      // A line that cannot be written is lost; the decision it tells of is in the journal.
    }
  };
  return {
    info: (event, fields = {}) => write('info', event, fields),
    warn: (event, fields = {}) => write('warn', event, fields),
    error: (event, fields = {}) => write('error', event, fields),
  };
}

function lineOf(level: LogLevel, event: string, fields: LogFields, nowMs: number): string {
  const line: Record<string, unknown> = { time: new Date(nowMs).toISOString(), level, event: cut(event) };
  for (const name of names) {
    const value = fields[name];
    if (value !== undefined) line[name] = writable(kindOfField[name], value);
  }
  return steadyJson(line);
}

type FieldName = keyof typeof kindOfField;
const names = Object.keys(kindOfField).filter((name): name is FieldName => Object.hasOwn(kindOfField, name));

/** Undefined, which JSON leaves out, for what is not of its kind, whatever the types said. */
function writable(kind: keyof ValueOfKind, value: ValueOfKind[keyof ValueOfKind]): unknown {
  if (kind === 'text') return typeof value === 'string' ? cut(value) : undefined;
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

function cut(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}
