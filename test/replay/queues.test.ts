import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createQueues } from '../../src/replay/schedule.ts';

interface Course {
  readonly began: readonly string[];
  readonly ended: readonly string[];
  readonly mostAtOnce: number;
}

/** Submits work of so many turns of the event loop each, named LANE#N. */
async function run(concurrency: number, works: readonly { queue: string; turns: number }[]): Promise<Course> {
  const queues = createQueues(concurrency);
  const [began, ended]: [string[], string[]] = [[], []];
  let [atOnce, mostAtOnce] = [0, 0];
  for (const [n, { queue, turns }] of works.entries()) {
    await queues.submit(queue, async () => {
      began.push(`${queue}#${n}`);
      mostAtOnce = Math.max(mostAtOnce, ++atOnce);
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => void setImmediate(resolve));
      atOnce--;
      ended.push(`${queue}#${n}`);
    });
  }
  await queues.idle();
  return { began, ended, mostAtOnce };
}

const works = fc.array(fc.record({ queue: fc.constantFrom('a', 'b', 'c'), turns: fc.nat(3) }), {
  maxLength: 40,
});

const inQueue = (names: readonly string[], queue: string): readonly string[] =>
  names.filter((name) => name.startsWith(`${queue}#`));

describe('queues', () => {
  it('do all work, in order within a queue, and never more at once than allowed', async () => {
    await fc.assert(
      fc.asyncProperty(works, fc.integer({ min: 1, max: 5 }), async (submitted, concurrency) => {
        const { began, ended, mostAtOnce } = await run(concurrency, submitted);
        const names = submitted.map(({ queue }, n) => `${queue}#${n}`);
        expect(began.toSorted()).toEqual(names.toSorted());
        for (const queue of ['a', 'b', 'c']) {
          expect(inQueue(began, queue)).toEqual(inQueue(names, queue));
          expect(inQueue(ended, queue)).toEqual(inQueue(names, queue));
        }
        expect(mostAtOnce).toBeLessThanOrEqual(concurrency);
      }),
      { numRuns: 60 },
    );
  });

  it('with one at once keep the order of all', async () => {
    await fc.assert(
      fc.asyncProperty(works, async (submitted) => {
        const { began } = await run(1, submitted);
        expect(began).toEqual(submitted.map(({ queue }, n) => `${queue}#${n}`));
      }),
      { numRuns: 40 },
    );
  });

  it('take no more work than a few for each at once, while all wait', async () => {
    const queues = createQueues(2);
    let finish = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let taken = 0;
    const submitting = (async () => {
      for (let n = 0; n < 100; n++) {
        await queues.submit('one', () => held);
        taken++;
      }
    })();
    await new Promise((resolve) => void setImmediate(resolve));
    expect(taken).toBe(15);
    finish();
    await submitting;
    await queues.idle();
    expect(taken).toBe(100);
  });
});
