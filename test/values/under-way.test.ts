import { expect, it } from 'vitest';
import { createUnderWay } from '../../src/values/under-way.ts';

const isOver = async (none: Promise<void>): Promise<boolean> =>
  Promise.race([none.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);

it('nothing under way is waited for by nobody', async () => {
  expect(await isOver(createUnderWay().none())).toBe(true);
});

it('is over for all who wait once the last has left', async () => {
  const underWay = createUnderWay();
  underWay.enter();
  underWay.enter();
  const waiting = [underWay.none(), underWay.none()];
  underWay.leave();
  expect(await Promise.all(waiting.map(isOver))).toEqual([false, false]);
  underWay.leave();
  expect(await Promise.all(waiting.map(isOver))).toEqual([true, true]);
});

it('is not over where the last to leave lets another enter at once', async () => {
  const underWay = createUnderWay();
  underWay.enter();
  const none = underWay.none();
  underWay.leave();
  underWay.enter();
  expect(await isOver(none)).toBe(false);
  underWay.leave();
  expect(await isOver(none)).toBe(true);
});
