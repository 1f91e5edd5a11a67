import { beforeAll, afterAll, describe, expect, it } from 'vitest';
import { createKeys } from '../../src/store/redis/keys.ts';
import { loadScript } from '../../src/store/redis/script.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { freshPrefix, rawClient, readyOn } from './redis-under-test.ts';
import { REVISION, push, request, revisionOf, thaw } from './requests.ts';

let server: RedisServerProcess;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());

describe('what is in force, spread to the sources', () => {
  it('is completed by the next look of anybody if a push broke off before it', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    const keys = createKeys(prefix);
    const second = push('second', REVISION);
    const script = loadScript('push-3');
    const half = [keys.inForce, keys.history, keys.documents, '', REVISION, second.revision, second.document];
    await rawClient(server).eval(script.source, script.keys ?? 0, ...half, 'ada', 'broke off', '');
    expect(await store.settle(request({ revision: second.revision }))).toMatchObject({
      outcome: 'stale',
      inForce: REVISION,
    });

    expect(await store.control()).toMatchObject({ revision: second.revision, sequence: 2 });
    for (const source of ['shop', 'vault']) {
      expect(await store.settle(request({ source, revision: second.revision }))).toMatchObject({
        code: 'APPROVED',
      });
      expect(await store.settle(request({ source }))).toMatchObject({ outcome: 'stale' });
    }
  });

  it('is completed if a freeze broke off before it', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    const { source } = loadScript('freeze-1');
    await rawClient(server).eval(source, 1, createKeys(prefix).inForce, '', 'drill', 'ada', '0', 'operator');
    expect(await store.control()).toMatchObject({ frozen: [{ reason: 'drill', by: 'ada' }] });
    expect(await store.settle(request())).toMatchObject({ code: 'FROZEN' });
  });

  it('is completed if a freeze except what people approve broke off, and if its end did', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    const client = rawClient(server);
    const { inForce } = createKeys(prefix);
    const [freeze, unfreeze] = [loadScript('freeze-1').source, loadScript('unfreeze-1').source];
    await client.eval(freeze, 1, inForce, '', 'drill', 'ada', '0', 'except-approved');
    const [standing] = (await store.control()).frozen;
    expect(await store.settle(request())).toMatchObject({ outcome: 'stale' });
    expect(await store.settle(request({ onlyApproved: true }))).toMatchObject({ code: 'APPROVED' });
    await client.eval(unfreeze, 1, inForce, '', '', 'ada', '', standing?.id ?? '');
    expect((await store.control()).frozen).toEqual([]);
    expect(await store.settle(request({ onlyApproved: true }))).toMatchObject({ outcome: 'stale' });
    expect(await store.settle(request())).toMatchObject({ code: 'APPROVED' });
  });

  it('approves nothing for a copy whose state this version does not know', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    await rawClient(server).hset(createKeys(prefix).of('shop').control, 'frozen', 'except-something');
    for (const onlyApproved of [false, true]) {
      expect(await store.settle(request({ onlyApproved }))).toMatchObject({ code: 'FROZEN' });
    }
  });

  it('rejects a freeze that reached only some sources, and completes it later', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    const client = rawClient(server);
    const { control } = createKeys(prefix).of('vault');
    await client.rename(control, 'aside');
    await client.set(control, 'of another type');
    await expect(store.freeze({ reason: 'drill', by: 'ada' })).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
    });
    await client.rename('aside', control);
    expect(await store.settle(request({ source: 'vault' }))).toMatchObject({ code: 'APPROVED' });
    await store.control();
    expect(await store.settle(request({ source: 'vault', subject: 'payment:2' }))).toMatchObject({
      code: 'FROZEN',
    });
  });

  it('does not reach a source whose copy was lost: all is frozen until an operator says go on', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    await rawClient(server).del(createKeys(prefix).of('shop').control);
    await expect(store.settle(request())).rejects.toMatchObject({ code: 'STORE_LOST' });
    expect(await store.control()).toMatchObject({ frozen: [{ by: 'countersign' }] });
    expect(await store.settle(request())).toMatchObject({ code: 'FROZEN' });
    await thaw(store);
    expect(await store.settle(request())).toMatchObject({ code: 'APPROVED' });
  });

  it('never puts an older one in the place of a newer', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    await store.push(push('second', REVISION));
    const { source } = loadScript('update-copy-2');
    const { control, journal } = createKeys(prefix).of('shop');
    const client = rawClient(server);
    for (const sequence of ['0', '1', '2']) {
      const given = [sequence, REVISION, '', '0', '', '', '', '', '0', ''];
      expect(await client.eval(source, 2, control, journal, ...given)).toBe('2');
    }
    expect(await store.settle(request({ revision: revisionOf('second') }))).toMatchObject({
      code: 'APPROVED',
    });
  });

  it.each(['one change', 'several changes'])(
    'freezes and unfreezes every source, also after a failover that lost %s of what is in force',
    async (lost) => {
      const prefix = freshPrefix();
      const store = await readyOn(server, { prefix });
      const client = rawClient(server);
      const { inForce } = createKeys(prefix);
      const before = await client.hgetall(inForce);
      for (let round = 0; round < (lost === 'one change' ? 1 : 3); round++) {
        await store.push(push(`round ${round}`, round === 0 ? REVISION : revisionOf(`round ${round - 1}`)));
      }
      await store.push(push('first', (await store.control()).revision));
      await client.hset(inForce, before);

      const { control } = await store.freeze({ reason: 'drill', by: 'ada' });
      for (const source of ['shop', 'vault']) {
        expect(await store.settle(request({ source }))).toMatchObject({ code: 'FROZEN' });
      }
      expect(await store.control()).toEqual(control);

      await client.hset(inForce, { ...before, frozen: '["drill","ada","1"]' });
      expect(await thaw(store)).toMatchObject({ frozen: [] });
      for (const source of ['shop', 'vault']) {
        expect(await store.settle(request({ source }))).toMatchObject({ code: 'APPROVED' });
      }
    },
  );

  it('holds for a source, whichever of registering and pushing comes first', async () => {
    for (let attempt = 0; attempt < 20; attempt++) {
      const prefix = freshPrefix();
      const store = await readyOn(server, { prefix });
      await Promise.all([store.register(['late']), store.push(push('second', REVISION))]);
      const late = request({ source: 'late', revision: revisionOf('second') });
      expect(await store.settle(late)).toMatchObject({ code: 'APPROVED' });
    }
  });

  it('never approves for a source that was not registered, nor under no revision', async () => {
    const store = await readyOn(server, { prefix: freshPrefix() });
    expect(await store.settle(request({ source: 'stranger' }))).toMatchObject({ outcome: 'stale' });
    expect(await store.settle(request({ source: 'stranger', revision: '' }))).toMatchObject({
      outcome: 'stale',
    });
    await store.push(push('', REVISION, { revision: '' }));
    expect(await store.settle(request({ revision: '' }))).toMatchObject({ verdict: 'FAILURE' });
  });
});
