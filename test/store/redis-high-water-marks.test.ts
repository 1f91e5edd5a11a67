import { describe, expect, it } from 'vitest';
import { type SeenState, createProcessMemory, rememberApproval } from '../../src/store/redis/data-loss.ts';
import { createKeys } from '../../src/store/redis/keys.ts';
import type { SettleResult } from '../../src/store/store.ts';
import { rawClient, readyOn, redisOfItsOwn } from './redis-under-test.ts';
import { idOf, request } from './requests.ts';

const seen = (sequence: number): SeenState => ({ sequence, freezes: '', lastFreezeNumber: 0 });

const approval = (id: string): SettleResult => {
  const verdict = 'SUCCESS';
  return { outcome: 'decided', id, atMs: 1, verdict, code: 'APPROVED', claims: [] };
};
const refusal = (id: string): SettleResult => {
  const verdict = 'FAILURE';
  return { outcome: 'decided', id, atMs: 1, verdict, code: 'FROZEN', claims: [] };
};
const lost = { code: 'STORE_LOST' };

/** The store answers when the test says so. */
function inFlight(epoch = 'one') {
  const marks = createProcessMemory();
  marks.addSources(['shop']);
  marks.update(epoch, seen(1));
  const { promise, resolve } = Promise.withResolvers<SettleResult>();
  const settle = () => rememberApproval(marks, 'shop', () => promise);
  return { marks, settle, answer: resolve };
}

describe('an approval in flight', () => {
  it('is given, and becomes the mark', async () => {
    const { marks, settle, answer } = inFlight();
    const asked = settle();
    answer(approval('7-1'));
    expect(await asked).toMatchObject({ verdict: 'SUCCESS' });
    expect(marks.highWaterMark('shop')).toBe('7-1');
  });

  it('is not given once a loss is pending', async () => {
    const { marks, settle, answer } = inFlight();
    const asked = settle();
    marks.setPending({ found: 'Redis lost something', epoch: 'one' });
    answer(approval('7-1'));
    await expect(asked).rejects.toMatchObject(lost);
    await expect(asked).rejects.toThrow(/^data was lost: Redis lost something\. /);
    expect(marks.highWaterMark('shop')).toBe('');
  });

  it('is not given once the epoch is another one', async () => {
    const { marks, settle, answer } = inFlight();
    const asked = settle();
    marks.update('two', seen(2));
    answer(approval('7-1'));
    await expect(asked).rejects.toMatchObject(lost);
    expect(marks.highWaterMark('shop')).toBe('');
  });

  it.each([refusal('7-1'), { outcome: 'expired', nowMs: 1 }] as const)(
    'in flight that ends as a refusal is given: %o',
    async (result) => {
      const { marks, settle, answer } = inFlight();
      const asked = settle();
      marks.update('two', seen(2));
      answer(result);
      expect(await asked).toBe(result);
      expect(marks.highWaterMark('shop')).toBe('');
    },
  );
});

describe('the high-water mark in a process', () => {
  it.each([
    ['7-1', '7-2'],
    ['7-9', '7-10'],
    ['9-0', '10-0'],
    ['999-5', '1000-0'],
  ])('is the newest approval, in whatever order they are answered: %s, %s', (older, newer) => {
    for (const ids of [
      [older, newer],
      [newer, older],
    ]) {
      const marks = createProcessMemory();
      for (const id of ids) marks.recordApproval('shop', id);
      expect(marks.highWaterMark('shop')).toBe(newer);
      expect(marks.highWaterMark('vault')).toBe('');
    }
  });

  it('is cleared by another epoch, not by a change', () => {
    const marks = createProcessMemory();
    marks.update('one', seen(1));
    marks.recordApproval('shop', '7-1');
    marks.update('one', seen(2));
    expect([marks.highWaterMark('shop'), marks.seen().sequence]).toEqual(['7-1', 2]);
    marks.update('two', seen(1));
    expect([marks.highWaterMark('shop'), marks.seen().sequence, marks.epoch()]).toEqual(['', 1, 'two']);
  });

  it('has a pending loss until a freeze succeeds', async () => {
    const marks = createProcessMemory();
    marks.setPending({ found: 'x', epoch: 'one' });
    await expect(marks.runFreeze(() => Promise.reject(new Error('down')))).rejects.toThrow('down');
    expect(marks.pending()).toEqual({ found: 'x', epoch: 'one' });
    await marks.runFreeze(() => Promise.resolve());
    expect(marks.pending()).toBeUndefined();
  });
});

/** A store that has approved twice, and the field of the source's copy with the process's mark. */
async function marked() {
  const server = await redisOfItsOwn();
  const store = await readyOn(server);
  await store.settle(request());
  const second = await store.settle(request({ subject: 'payment:2' }));
  const client = rawClient(server);
  const { control } = createKeys('countersign').of('shop');
  const field = (await client.hkeys(control)).find((name) => name.startsWith('w:')) ?? '';
  return { store, client, control, field, id: idOf(second) };
}

describe('the high-water mark of a process in Redis', () => {
  it('is the newest approval, and stays after a refusal', async () => {
    const { store, client, control, field, id } = await marked();
    expect(await client.hget(control, field)).toBe(id);
    await store.settle(request({ subject: 'payment:3', approves: false }));
    expect(await client.hget(control, field)).toBe(id);
  });

  it.each<[string, (id: string) => string | undefined]>([
    ['older', (id) => `${Number(id.split('-')[0]) - 1}-99`],
    ['gone', () => undefined],
    ['damaged', () => 'x'],
  ])('that is %s is a loss, for settle and for control', async (_name, other) => {
    const { store, client, control, field, id } = await marked();
    const mark = other(id);
    if (mark === undefined) await client.hdel(control, field);
    else await client.hset(control, field, mark);
    await expect(store.settle(request({ subject: 'payment:3' }))).rejects.toMatchObject(lost);
    expect((await store.control()).frozen[0]?.reason).toMatch(/no longer has an approval of the source shop/);
  });

  it('may be newer, because processes may share the field', async () => {
    const { store, client, control, field } = await marked();
    await client.hset(control, field, '9999999999999-0');
    expect(await store.settle(request({ subject: 'payment:3' }))).toMatchObject({ code: 'APPROVED' });
    expect((await store.control()).frozen).toEqual([]);
  });
});
