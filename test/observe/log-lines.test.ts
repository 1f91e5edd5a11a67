import { Writable } from 'node:stream';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Log, createLog } from '../../src/observe/log.ts';
import { APPROVED, createLines } from './reports.ts';

const clock = (): number => Date.UTC(2026, 0, 2, 3, 4, 5, 6);

function logged(
  write: (log: Log) => void,
  level: 'error' | 'warn' | 'info' = 'info',
): readonly Readonly<Record<string, unknown>>[] {
  const { stream, lines } = createLines();
  write(createLog({ level, stream, clock }));
  return lines();
}

describe('a line for people', () => {
  const readable = (write: (log: Log) => void): string => {
    const { stream, text } = createLines();
    write(createLog({ level: 'info', readable: true, stream, clock }));
    return text();
  };

  it('has its time, level and event, what was decided, and the other fields by name', () => {
    const { source, subject, because } = APPROVED;
    expect(readable((log) => log.info('callback', APPROVED))).toMatch(
      new RegExp(
        `^03:04:05\\.006 info callback SUCCESS APPROVED ${source} ${subject} ${because} \\(requestId=`,
      ),
    );
    expect(readable((log) => log.warn('frozen', { because: 'f1', count: 1 }))).toBe(
      '03:04:05.006 warn frozen f1 (count=1)\n',
    );
  });

  it('stays one line without control characters, whatever a sender wrote', () => {
    const because = `a\nb\r\u001b[31m\u2028\u0000\ud800${'y'.repeat(5000)}`;
    const line = readable((log) => {
      for (let n = 0; n < 3; n++) log.error('x', { because, subject: because, source: because });
    });
    expect(line.split('\n')).toHaveLength(4);
    for (const each of line.trimEnd().split('\n')) {
      expect(each).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      expect(each.length).toBeLessThanOrEqual(2048);
    }
  });
});

describe('a line', () => {
  it('is one JSON object with time, level and event first', () => {
    const { stream, text } = createLines();
    createLog({ level: 'info', stream, clock }).info('serving', { port: 8080, host: '127.0.0.1' });
    expect(text()).toBe(
      '{"time":"2026-01-02T03:04:05.006Z","level":"info","event":"serving","host":"127.0.0.1","port":8080}\n',
    );
  });

  it('has all fields of a report that may be logged', () => {
    const { data: _, alarm: __, ...reported } = APPROVED;
    expect(logged((log) => log.info('callback', APPROVED))).toEqual([
      { time: '2026-01-02T03:04:05.006Z', level: 'info', event: 'callback', ...reported, totalMs: 2 },
    ]);
  });

  it('stays one line with any text', () => {
    const because = 'a\nb\r{"level":"info"}\u2028\u0000\ud800';
    expect(logged((log) => log.warn('x', { because }))).toEqual([
      { time: '2026-01-02T03:04:05.006Z', level: 'warn', event: 'x', because },
    ]);
  });

  it('has no control characters, and keeps its meaning', () => {
    const steering = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
    const { stream, text, lines } = createLines();
    const log = createLog({ level: 'info', stream, clock });
    const texts = Array.from({ length: 0x110 }, (_, block) =>
      Array.from({ length: 0x1000 }, (__, at) => String.fromCodePoint(block * 0x1000 + at))
        .filter((letter) => steering.test(letter))
        .join(''),
    ).flatMap((block) => block.match(/.{1,512}/gs) ?? []);
    for (const because of texts) log.info('x', { because });
    for (const line of text().trimEnd().split('\n')) expect(line).not.toMatch(steering);
    expect(lines().map(({ because }) => because)).toEqual(texts);
    expect(texts.join('')).toMatch(/\u009b[^]*\u061c[^]*\u200f[^]*\u2028[^]*\u202e[^]*\u2066[^]*\u{e0001}/u);
  });

  it('has at most 1024 characters of a text', () => {
    const [line] = logged((log) => log.info('x', { because: 'y'.repeat(5000) }));
    expect(line?.['because']).toBe(`${'y'.repeat(1024)}…`);
  });

  it('is written from its level up', () => {
    const all = (log: Log): void => {
      log.info('a');
      log.warn('b');
      log.error('c');
    };
    expect(logged(all, 'info').map(({ event }) => event)).toEqual(['a', 'b', 'c']);
    expect(logged(all, 'warn').map(({ event }) => event)).toEqual(['b', 'c']);
    expect(logged(all, 'error').map(({ event }) => event)).toEqual(['c']);
  });
});

describe('nothing enters a line', () => {
  const secret = fc.string({ minLength: 8, maxLength: 40 }).map((text) => `s3cret-${text}`);
  const reported = new Set(Object.keys(APPROVED).filter((name) => name !== 'data' && name !== 'alarm'));

  it('by an unknown field', () => {
    fc.assert(
      fc.property(
        secret,
        fc.string().filter((name) => !reported.has(name)),
        (value, name) => {
          const { stream, text } = createLines();
          const report = {
            ...APPROVED,
            data: { body: value, deep: { secret: value } },
            body: value,
            headers: { authorization: value },
          };
          Object.defineProperty(report, name === '' ? 'sign' : name, {
            value,
            enumerable: true,
            configurable: true,
          });
          createLog({ level: 'info', stream, clock }).info('callback', report);
          expect(text()).not.toContain('s3cret');
        },
      ),
    );
  });

  it.each(['totalMs', 'stepsMs', 'port'])('by %s, which is no text', (name) => {
    for (const value of [
      's3cret',
      ['s3cret'],
      { s3cret: 1 },
      { decode: 's3cret' },
      { toJSON: () => 's3cret' },
      null,
      Number.NaN,
    ]) {
      const { stream, text } = createLines();
      createLog({ level: 'info', stream, clock }).info('callback', { [name]: value });
      expect(text()).not.toContain('s3cret');
      expect(text()).not.toContain('null');
    }
  });

  it.each(['because', 'subject', 'source'])('by %s, if it is no text', (name) => {
    for (const value of [{ s3cret: 1 }, ['s3cret'], { toString: () => 's3cret', toJSON: () => 's3cret' }]) {
      const { stream, text } = createLines();
      createLog({ level: 'info', stream, clock }).info('callback', { [name]: value });
      expect(text()).not.toContain('s3cret');
    }
  });
});

describe('a log never throws', () => {
  it.each([
    [
      'its stream fails',
      () => new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) }),
    ],
    ['its stream has ended', () => new Writable({ write: (_chunk, _encoding, done) => done() }).end()],
    [
      'its stream was destroyed',
      () => new Writable({ write: (_chunk, _encoding, done) => done() }).destroy(),
    ],
    [
      'its stream throws',
      () =>
        new Writable({
          write: () => {
            throw new Error('broken');
          },
        }),
    ],
  ])('when %s', async (_, stream) => {
    const failing = stream();
    const log = createLog({ level: 'info', stream: failing, clock });
    for (let line = 0; line < 100; line += 1) log.info('x', { count: line });
    // What fails later would fail the test as an uncaught error.
    await new Promise((resolve) => void setImmediate(resolve));
    log.error('y');
    expect(failing.listenerCount('error')).toBeGreaterThan(0);
  });

  it('when a field cannot be read', () => {
    const fields = {
      get because(): string {
        throw new Error('s3cret');
      },
    };
    expect(
      logged((log) => {
        log.info('x', fields);
        log.info('y');
      }).map(({ event }) => event),
    ).toEqual(['y']);
  });

  it('when its clock is out of range', () => {
    const { stream, text } = createLines();
    createLog({ level: 'info', stream, clock: () => Number.NaN }).info('x');
    expect(text()).toBe('');
  });
});
