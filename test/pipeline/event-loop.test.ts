import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { measureEventLoop } from '../../src/pipeline/event-loop.ts';
import { eventually } from '../eventually.ts';

const now = (): number => performance.now();
const busyFor = (ms: number): void => {
  const until = now() + ms;
  while (now() < until);
};

function measured() {
  const loop = measureEventLoop(now, 2000);
  onTestFinished(() => loop.stop());
  return loop;
}

it('what is read after a long turn may have arrived before it, until the next turn is over', async () => {
  const loop = measured();
  await pause(50);
  const before = now();
  busyFor(300);
  expect(loop.readMs()).toBeLessThanOrEqual(before);
  await eventually('the next turn is over', () => loop.readMs() >= before + 300 || undefined);
});

it('a connection may have been made at any time since a turn accepted none', async () => {
  const loop = measured();
  await pause(50);
  const before = now();
  const turns = Array.from({ length: 10 });
  for (const _ of turns) {
    expect(loop.connectedMs()).toBeLessThanOrEqual(before + 50);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const after = now();
  await eventually('a turn without a connection is over', () =>
    loop.connectedMs() >= after ? true : pause(50),
  );
});
