import { expect, it } from 'vitest';
import { createInFlight } from '../../src/values/in-flight.ts';

const isOver = async (none: Promise<void>): Promise<boolean> =>
  Promise.race([none.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);

it('nothing under way is waited for by nobody', async () => {
  expect(await isOver(createInFlight().idle())).toBe(true);
});

it('is over for all who wait once the last has left', async () => {
  const inFlight = createInFlight();
  inFlight.enter();
  inFlight.enter();
  const waiting = [inFlight.idle(), inFlight.idle()];
  inFlight.leave();
  expect(await Promise.all(waiting.map(isOver))).toEqual([false, false]);
  inFlight.leave();
  expect(await Promise.all(waiting.map(isOver))).toEqual([true, true]);
});

it('is not over where the last to leave lets another enter at once', async () => {
  const inFlight = createInFlight();
  inFlight.enter();
  const none = inFlight.idle();
  inFlight.leave();
  inFlight.enter();
  expect(await isOver(none)).toBe(false);
  inFlight.leave();
  expect(await isOver(none)).toBe(true);
});
