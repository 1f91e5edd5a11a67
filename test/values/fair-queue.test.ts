import { expect, it } from 'vitest';
import { createFairQueue } from '../../src/values/fair-queue.ts';

/** A queue whose work ends when the test says so. */
function started(waitingMax = 4) {
  const queue = createFairQueue('questions', waitingMax);
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const ask = (name: string): Promise<string> =>
    queue.run(name.charAt(0), () => {
      begun.push(name);
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      return end.promise;
    });
  return { queue, begun, ask, end: (name: string) => ends.get(name)?.resolve(name) };
}

it('work runs one at a time, and people take turns', async () => {
  const { begun, ask, end } = started();
  const asked = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map(ask);
  const order = ['a1', 'a2', 'b1', 'c1', 'a3', 'b2'];
  for (const [at, name] of order.entries()) {
    await expect.poll(() => begun).toEqual(order.slice(0, at + 1));
    end(name);
  }
  expect(await Promise.all(asked)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'b2']);
});

it('a person whose places are taken is refused, and nobody else', async () => {
  const { begun, ask, end } = started(2);
  const names = ['a0', 'a1', 'a2', 'b0', 'c0'];
  const asked = names.slice(0, 3).map(ask);
  const busy = { code: 'BUSY', message: '2 questions of yours are waiting. Try again in a second' };
  await expect(ask('a3')).rejects.toMatchObject(busy);
  asked.push(...names.slice(3).map(ask));
  await expect(ask('a3')).rejects.toMatchObject(busy);
  for (const count of names.keys()) {
    await expect.poll(() => begun.length).toBe(count + 1);
    end(begun.at(-1) ?? '');
  }
  expect(begun).toEqual(['a0', 'a1', 'b0', 'c0', 'a2']);
  await Promise.all(asked);
});

it('work that fails, or throws, leaves the turn to the next', async () => {
  const { queue, begun, ask, end } = started();
  const failed = queue.run('a', () => Promise.reject(new Error('broken')));
  const thrown = queue.run('a', () => {
    throw new Error('broken');
  });
  const next = ask('b1');
  await expect(failed).rejects.toThrow('broken');
  await expect(thrown).rejects.toThrow('broken');
  await expect.poll(() => begun).toEqual(['b1']);
  end('b1');
  expect(await next).toBe('b1');
});

it('whatever has arrived is handled between two pieces of work', async () => {
  const { queue } = started();
  const done: string[] = [];
  const work = (name: string) => () => {
    done.push(name);
    setImmediate(() => done.push(`after ${name}`));
    return Promise.resolve();
  };
  await Promise.all([queue.run('a', work('a')), queue.run('b', work('b'))]);
  expect(done.slice(0, 3)).toEqual(['a', 'after a', 'b']);
});
