import { describe, expect } from 'vitest';
import { START_MS } from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

export function describeServices(open: OpenStore): void {
  const it = testsOn(open);

  const one = { id: 'a1', name: 'here:1', sequence: 1, trouble: '' };
  const other = { id: 'b2', name: 'there:2', sequence: 0, trouble: 'keys: a file is gone' };

  describe('the services that run', () => {
    it('are none at first, and none that has left', async ({ store }) => {
      expect(await store.services()).toEqual({ nowMs: START_MS, services: [] });
      await store.heartbeat(one);
      await store.removeService('a1');
      await store.removeService('never-there');
      expect((await store.services()).services).toEqual([]);
    });

    it('are seen by other processes as they last showed themselves', async ({ store, clock, another }) => {
      await store.heartbeat(one);
      clock.advance(1000);
      await store.heartbeat(other);
      await store.heartbeat({ ...one, sequence: 7, probe: true });
      const seen = await (await another()).services();
      expect(seen).toEqual({
        nowMs: START_MS + 1000,
        services: [
          { ...one, sequence: 7, answered: 0, atMs: START_MS + 1000 },
          { ...other, answered: 0, atMs: START_MS + 1000 },
        ],
      });
    });

    it('answer a call by showing themselves after it, and not before', async ({ store, another }) => {
      const command = await another();
      await store.heartbeat(one);
      expect(await command.requestHeartbeats()).toBe(1);
      expect(await command.requestHeartbeats()).toBe(2);
      expect((await command.services()).services).toMatchObject([{ answered: 0 }]);
      await store.heartbeat(one);
      expect((await command.services()).services).toMatchObject([{ answered: 2 }]);
    });

    it('are woken by a call', async ({ store, another }) => {
      const command = await another();
      const { promise: woken, resolve } = Promise.withResolvers<void>();
      await store.requestHeartbeats();
      let called = false;
      // The first notice may be of the subscription alone.
      const unwatch = store.watch(() => called && resolve());
      called = true;
      await command.requestHeartbeats();
      await expect(woken).resolves.toBeUndefined();
      unwatch();
    });

    it('are forgotten after a day without a sign', async ({ store, clock }) => {
      await store.heartbeat(one);
      clock.advance(86_400_001);
      await store.heartbeat(other);
      expect((await store.services()).services).toMatchObject([{ id: 'b2' }]);
    });
  });
}
