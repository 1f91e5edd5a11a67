import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CountersignError } from '../../src/errors.ts';
import {
  findRevision,
  pushRelease,
  readRevision,
  releaseHistory,
  findRollback,
} from '../../src/release/push.ts';
import { pushWhenEmpty } from '../../src/release/first-push.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { Store } from '../../src/store/store.ts';
import { sha256Hex } from '../../src/values/canonical.ts';
import { NO_ASSETS, release } from '../policy/callbacks.ts';
import { SMALL, SMALLER, directoryOf } from './directory.ts';

const one = release(SMALL, {}, NO_ASSETS);
const two = release(SMALLER, {}, NO_ASSETS);
const who = { by: 'ana', message: 'less' };

async function openStore(): Promise<Store> {
  const store = await openEmbeddedStore({ path: join(directoryOf(), 'store.db') });
  onTestFinished(() => store.close());
  return store;
}

async function openWith(...releases: readonly (typeof one)[]): Promise<Store> {
  const store = await openStore();
  let expected = '';
  for (const each of releases) {
    ({ revision: expected } = await pushRelease(store, { release: each, expected, ...who }));
  }
  return store;
}

async function fault(promise: Promise<unknown>): Promise<Pick<CountersignError, 'code' | 'message'>> {
  return promise.then(
    () => ({ code: 'USAGE' as const, message: 'it was done' }),
    (thrown: CountersignError) => thrown,
  );
}

describe('pushing a release', () => {
  it('puts it in force, with who and why', async () => {
    const store = await openWith(one);
    expect((await store.control()).revision).toBe(one.revision);
    expect(await readRevision(store, one.revision)).toMatchObject({ document: one.document });
    expect(await releaseHistory(store, 10)).toMatchObject([
      { revision: one.revision, by: 'ana', message: 'less', inForce: true },
    ]);
  });

  it('is refused if another revision came in between', async () => {
    const store = await openWith(one, two);
    const found = await fault(pushRelease(store, { release: one, expected: one.revision, ...who }));
    expect(found.code).toBe('POLICY_CONFLICT');
    expect(found.message).toContain(
      `${two.revision.slice(0, 12)} is in force, but this push expects ${one.revision.slice(0, 12)}`,
    );
    expect(found.message).toContain('countersign policy diff');
    expect((await store.control()).revision).toBe(two.revision);
  });

  it('is refused if nothing is in force any more, or something is already', async () => {
    const found = await fault(
      pushRelease(await openStore(), { release: one, expected: two.revision, ...who }),
    );
    expect(found).toMatchObject({ code: 'POLICY_CONFLICT' });
    expect(found.message).toContain('no revision is in force');
    expect(
      await fault(pushRelease(await openWith(two), { release: one, expected: '', ...who })),
    ).toMatchObject({
      code: 'POLICY_CONFLICT',
    });
  });

  it('lets one of two that push at once have it', async () => {
    const store = await openStore();
    const pushes = [one, two].map((each) =>
      fault(pushRelease(store, { release: each, expected: '', ...who })),
    );
    expect((await Promise.all(pushes)).filter(({ message }) => message === 'it was done')).toHaveLength(1);
  });
});

const rollback = async (
  store: Store,
  { revision, ...change }: { revision: string; by: string; message: string },
): ReturnType<typeof pushRelease> =>
  pushRelease(store, { ...(await findRollback(store, revision)), ...change });

describe('rolling back', () => {
  it('pushes an old revision, named by the beginning of its hash', async () => {
    const store = await openWith(one, two);
    const control = await rollback(store, {
      revision: one.revision.slice(0, 8).toUpperCase(),
      by: 'ben',
      message: 'back',
    });
    expect(control.revision).toBe(one.revision);
    const history = await releaseHistory(store, 10);
    expect(history.map(({ revision, by, inForce }) => [revision, by, inForce])).toEqual([
      [one.revision, 'ben', true],
      [two.revision, 'ana', false],
      [one.revision, 'ana', false],
    ]);
  });

  it.each([
    ['was never pushed', 'ffffffffff', 'REVISION_UNKNOWN', 'was never pushed'],
    ['is too short to tell', one.revision.slice(0, 3), 'REVISION_UNKNOWN', 'not 4 to 64 hexadecimal digits'],
    ['is no hash', 'HEAD~1', 'REVISION_UNKNOWN', 'not 4 to 64 hexadecimal digits'],
    ['is empty', '', 'REVISION_UNKNOWN', 'not 4 to 64 hexadecimal digits'],
    ['is whole, but was never pushed', 'f'.repeat(64), 'REVISION_UNKNOWN', 'was never pushed'],
    ['is in force', two.revision.slice(0, 10), 'USAGE', 'is in force already'],
  ])('is refused if the revision %s', async (_, revision, code, message) => {
    const store = await openWith(one, two);
    const found = await fault(rollback(store, { revision, ...who }));
    expect(found.code).toBe(code);
    expect(found.message).toContain(message);
    expect((await store.control()).revision).toBe(two.revision);
  });

  it('says how far it searched, if a thousand pushes have no such beginning', async () => {
    const entry = { sequence: 1, revision: 'a'.repeat(64), by: '', message: '', atMs: 0, serial: 0 };
    const searched = (pushes: number) =>
      fault(
        findRevision(
          {
            history: (limit) => Promise.resolve(Array.from({ length: Math.min(limit, pushes) }, () => entry)),
            document: () => Promise.resolve(undefined),
          },
          'abcd',
        ),
      );
    expect((await searched(1001)).message).toBe(
      'revision abcd is not among the last 1000 pushes; for an older one, write all 64 digits',
    );
    expect((await searched(999)).message).toContain('was never pushed');
  });

  it('is refused if the beginning fits two', async () => {
    const document = (revision: string) => ({
      sequence: 1,
      revision,
      by: '',
      message: '',
      atMs: 0,
      serial: 0,
    });
    const history = [document('abcd1'.padEnd(64, '0')), document('abcd2'.padEnd(64, '0'))];
    const store = { history: () => Promise.resolve(history), document: () => Promise.resolve(undefined) };
    const found = await fault(findRevision(store, 'abcd'));
    expect(found.code).toBe('REVISION_UNKNOWN');
    expect(found.message).toContain('could be any of abcd10000000, abcd20000000; write more digits');
    expect(await findRevision(store, 'abcd2')).toBe(history[1]?.revision);
  });

  it('is refused if this program does not know a rule of it', async () => {
    const store = await openWith(one);
    const document =
      '{"format":1,"lists":{},"policies":[{"policy":"a","callback":"payment","rules":[{"quorum":{}}]}]}';
    const revision = sha256Hex(document);
    await store.push({ revision, document, expected: one.revision, ...who });
    await store.push({ revision: one.revision, document: one.document, expected: revision, ...who });
    const found = await fault(rollback(store, { revision, ...who }));
    expect(found.code).toBe('POLICY_INVALID');
    expect(found.message).toContain('there is no rule "quorum"');
  });

  it('is refused if the stored document is another’s', async () => {
    const store = { document: () => Promise.resolve(two.document) };
    expect(await fault(readRevision(store, one.revision))).toMatchObject({ code: 'STORE_CORRUPT' });
  });
});

describe('the first start', () => {
  it('puts the directory’s policies in force', async () => {
    const store = await openStore();
    expect(await pushWhenEmpty(store, directoryOf({ 'a.yaml': SMALL }), 'serve')).toBe(true);
    expect((await store.control()).revision).toBe(one.revision);
  });

  it('leaves what is in force alone', async () => {
    const store = await openWith(two);
    expect(await pushWhenEmpty(store, directoryOf({ 'a.yaml': SMALL }), 'serve')).toBe(false);
    expect((await store.control()).revision).toBe(two.revision);
  });

  it('pushes nothing that has a fault', async () => {
    const store = await openStore();
    const found = await fault(pushWhenEmpty(store, directoryOf({ 'a.yaml': 'policy: [' }), 'serve'));
    expect(found.code).toBe('POLICY_INVALID');
    expect((await store.control()).revision).toBe('');
  });
});
