import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { createLog, batchWrites } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { eventually } from '../eventually.ts';

/** A destination whose reader stops reading, and goes on. */
function stalling() {
  const written: string[] = [];
  let stalled = true;
  let release = (): void => undefined;
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.toString());
      if (stalled) release = done;
      else done();
    },
  });
  const goOn = (): void => {
    stalled = false;
    release();
  };
  const lines = () =>
    written
      .join('')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  return { stream, goOn, lines };
}

const LINES = 20_000;
const because = 'x'.repeat(1000);

it('keeps a bounded number of lines waiting, counts the others, and says how many once it reads again', async () => {
  const { stream, goOn, lines } = stalling();
  const waiting = batchWrites(stream);
  const log = createLog({ level: 'error', stream: waiting });
  const metrics = createMetrics({ processMetrics: false });
  metrics.linesDropped(() => log.droppedLines());
  for (let line = 0; line < LINES; line++) log.error('some', { because, count: line });
  expect(waiting.writableLength + stream.writableLength).toBeLessThan(20_000_000);
  const dropped = log.droppedLines();
  expect(dropped).toBeGreaterThan(LINES / 4);
  expect((await metrics.text()).text).toContain(`\ncountersign_log_lines_dropped_total ${dropped}\n`);

  goOn();
  await eventually(
    'the dropped lines are reported',
    () => lines().some(({ event }) => event === 'log-lines-dropped') || undefined,
  );
  log.error('later');
  await eventually('a later line is written', () => lines().at(-1)?.['event'] === 'later' || undefined);
  const some = lines().filter(({ event }) => event === 'some');
  expect(some.map(({ count }) => count)).toEqual(Array.from({ length: LINES - dropped }, (_, at) => at));
  expect(lines().slice(some.length)).toMatchObject([
    { level: 'error', event: 'log-lines-dropped', count: dropped },
    { event: 'later' },
  ]);
  expect(log.droppedLines()).toBe(dropped);
  expect((await metrics.text()).text).toContain(`\ncountersign_log_lines_dropped_total ${dropped}\n`);
});

it('drops nothing for a reader that is only slow', async () => {
  const written: string[] = [];
  const slow = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.toString());
      setImmediate(done);
    },
  });
  const stream = batchWrites(slow);
  const log = createLog({ level: 'info', stream });
  for (let line = 0; line < 2000; line++) log.info('some', { because });
  await new Promise<void>((resolve) => stream.end(resolve));
  expect(written.join('').split('\n')).toHaveLength(2001);
  expect(log.droppedLines()).toBe(0);
});
