import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { measureEventLoop } from '../../src/pipeline/admission.ts';
import { eventually } from '../eventually.ts';

const busyFor = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

it('a long turn of the event loop counts as time that requests waited, until the next turn is over', async () => {
  const loop = measureEventLoop(() => performance.now(), 2000);
  onTestFinished(() => loop.stop());
  await pause(50);
  busyFor(300);
  expect(loop.lagMs()).toBeGreaterThanOrEqual(300);
  await eventually('the loop keeps up again', () => loop.lagMs() === 0 || undefined);
});

it('pauses that every process has do not count', () => {
  let now = 1000;
  const loop = measureEventLoop(() => now, 2000);
  onTestFinished(() => loop.stop());
  now += 99;
  expect(loop.lagMs()).toBe(0);
  now += 1;
  expect(loop.lagMs()).toBe(100);
});
