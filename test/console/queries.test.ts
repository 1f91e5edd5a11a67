import { describe, expect, it } from 'vitest';
import { createQueries } from '../../src/console/queries.ts';
import { type Shown, ADA, READER, type TestConsole, startTestConsole } from './console.ts';

const BUSY = { code: 'BUSY' };

/** A queue whose queries end when the test says so. */
function started() {
  const queries = createQueries();
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const ask = (person: string, name: string, signal = new AbortController().signal): Promise<string> =>
    queries.during({ person, signal }, () =>
      queries.inTurn(() => {
        begun.push(name);
        const end = Promise.withResolvers<string>();
        ends.set(name, end);
        return end.promise;
      }),
    );
  return { queries, begun, ask, end: (name: string) => ends.get(name)?.resolve(name), ends };
}

describe('queries of pages', () => {
  it('run one at a time, and people take turns', async () => {
    const { begun, ask, end } = started();
    const asked = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => ask(name.charAt(0), name));
    const order = ['a1', 'a2', 'b1', 'c1', 'a3', 'b2'];
    for (const [at, name] of order.entries()) {
      await expect.poll(() => begun).toEqual(order.slice(0, at + 1));
      end(name);
    }
    expect(await Promise.all(asked)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'b2']);
  });

  it('are refused if too many wait, of one person or of all', async () => {
    const { begun, ask, end } = started();
    const names = (person: string) => Array.from({ length: 8 }, (_, at) => `${person}${at}`);
    const running = ask('x', 'x');
    const asked = ['a', 'b'].flatMap((person) => names(person).map((name) => ask(person, name)));
    await expect(ask('a', 'a8')).rejects.toMatchObject(BUSY);
    await expect(ask('c', 'c0')).rejects.toMatchObject(BUSY);
    end('x');
    await running;
    await expect.poll(() => begun).toEqual(['x', 'a0']);
    // One began, so there is room for one.
    const last = ask('c', 'c0');
    await expect(ask('c', 'c1')).rejects.toMatchObject(BUSY);
    for (let count = 2; count <= 18; count++) {
      await expect.poll(() => begun.length).toBe(count);
      end(begun.at(-1) ?? '');
    }
    expect(begun.slice(0, 6)).toEqual(['x', 'a0', 'b0', 'a1', 'c0', 'b1']);
    expect(await last).toBe('c0');
    await Promise.all(asked);
  });

  it('of a request whose browser has gone do not run, and leave their places', async () => {
    const { begun, ask, end } = started();
    const running = ask('a', 'first');
    const gone = new AbortController();
    const left = Array.from({ length: 8 }, (_, at) => ask('a', `left${at}`, gone.signal));
    const results = Promise.allSettled(left);
    const later = ask('b', 'later');
    gone.abort();
    for (const result of await results) expect(result).toMatchObject({ status: 'rejected', reason: BUSY });
    await expect(ask('a', 'never', gone.signal)).rejects.toMatchObject(BUSY);
    const again = ask('a', 'again');
    for (const name of ['first', 'later', 'again']) {
      await expect.poll(() => begun.at(-1)).toBe(name);
      end(name);
    }
    await Promise.all([running, later, again]);
    expect(begun).toEqual(['first', 'later', 'again']);
  });

  it('that fail, or throw, leave the turn to the next', async () => {
    const { queries, ask, end, begun } = started();
    const failed = queries.inTurn(() => Promise.reject(new Error('broken')));
    const thrown = queries.inTurn(() => {
      throw new Error('broken');
    });
    const next = ask('a', 'next');
    await expect(failed).rejects.toThrow('broken');
    await expect(thrown).rejects.toThrow('broken');
    await expect.poll(() => begun).toEqual(['next']);
    end('next');
    expect(await next).toBe('next');
  });
});

it('a person who opens too many pages at once gets 503 for some, and another person is served', async () => {
  const console: TestConsole = await startTestConsole();
  const many = Array.from({ length: 40 }, () => console.get('/console/limits', ADA));
  const other = console.get('/console/decisions', READER);
  const shown: readonly Shown[] = await Promise.all(many);
  const busy = shown.filter(({ status }) => status === 503);
  expect(busy.length).toBeGreaterThan(0);
  expect(busy.length).toBeLessThan(40);
  for (const { text, headers } of busy) {
    expect(text).toMatch(/queries of the console are waiting. Try again in a second|did not wait/);
    expect(headers.get('retry-after')).toBe('1');
  }
  expect(shown.filter(({ status }) => status === 200)).toHaveLength(40 - busy.length);
  expect((await other).status).toBe(200);
  expect(console.log.filter(({ event }) => event === 'ops-failed')).toEqual([]);
  await console.stop();
});
