import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { POLICIES, type TestService } from '../service.ts';
import { systemClock } from '../../src/values/clock.ts';
import { describeOnBothStores } from './on-both-stores.ts';

/** Each command that changes something, once. */
const CHANGES: readonly (readonly string[])[] = [
  ['policy', 'push', '--message', 'second', '--skip-tests'],
  ['list', 'add', 'blocked', '1', '--create'],
  ['list', 'remove', 'blocked', '1'],
  [
    'orders',
    'expect',
    'payment',
    '1',
    '--user',
    '2',
    '--scheme',
    'md5',
    '--symbol',
    'USDT1742',
    '--amount',
    '1',
  ],
  ['orders', 'cancel', 'payment', '1'],
  ['prices', 'set', 'BTC=1'],
  ['prices', 'remove', 'BTC'],
  ['freeze', 'something is wrong'],
  ['unfreeze'],
];

/** Orders expire by the clock of this machine, which the service has as well. */
function here(folder: string) {
  const { runWith, write } = placeIn(folder);
  return { run: runWith({ clock: systemClock }), write };
}

interface Note {
  readonly noted: readonly string[];
  readonly silent: readonly string[];
}

/** What the JSON of a command says of the services; each element of a list says it. */
function noteOf(printed: unknown): Note {
  const [value] = [printed].flat();
  return (value as { readonly services: Note }).services;
}

const present = (service: TestService): Promise<unknown> =>
  eventually('the service shows itself', async () =>
    (await service.store.services()).services.length > 0 ? true : undefined,
  );

describeOnBothStores('a command that changed something', (host) => {
  const name = new RegExp(`:${process.pid}$`);
  const changedPolicies = { 'payments.yaml': POLICIES['payments.yaml'].replace('max: 1000 ', 'max: 999 ') };

  it('says which running service has taken note, to people and as JSON', async () => {
    const service = await host.start();
    await present(service);
    const { run, write } = here(service.folder);
    write('policies/payments.yaml', changedPolicies['payments.yaml']);
    for (const argv of CHANGES) {
      const { code, json } = await run(...argv, '--json');
      expect([argv.join(' '), code, noteOf(json())]).toEqual([
        argv.join(' '),
        0,
        { noted: [expect.stringMatching(name)], silent: [] },
      ]);
    }
    const { revision } = (await run('policy', 'show', '--json')).json() as { readonly revision: string };
    expect(revision).not.toBe('');
    const { err } = await run('freeze', 'again');
    expect(err).toMatch(/^Applied by the running service \S+:\d+\.\n$/);
  });

  it('is noted by every replica', async () => {
    const one = await host.start();
    await host.start({}, one);
    await eventually('both show themselves', async () =>
      (await one.store.services()).services.length === 2 ? true : undefined,
    );
    const { json } = await placeIn(one.folder).run('freeze', 'x', '--json');
    expect(noteOf(json()).noted).toHaveLength(2);
  });

  it('says that no service runs on the store, and succeeds all the same', async () => {
    const service = await host.start();
    await present(service);
    const { folder } = service;
    await service.stop({ keep: true });
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const { run, write } = here(folder);
    write('policies/payments.yaml', changedPolicies['payments.yaml']);
    for (const argv of CHANGES) {
      const { code, json } = await run(...argv, '--json');
      expect([argv.join(' '), code, noteOf(json())]).toEqual([argv.join(' '), 0, { noted: [], silent: [] }]);
    }
    const { code, err } = await run('freeze', 'nobody there');
    expect(code).toBe(0);
    const store = host.kind === 'embedded' ? `embedded:${join(folder, 'store.db')}` : host.redis().url;
    expect(err).toContain(`No service runs on ${store}. If one answers callbacks, it uses another store`);
  });

  it('names a service that shows itself and has not seen it', async () => {
    const service = await host.start();
    await present(service);
    const { store } = service;
    await store.heartbeat({ id: 'stuck', name: 'elsewhere:7', sequence: 0, trouble: '' });
    const { code, json } = await placeIn(service.folder).run('freeze', 'x', '--json');
    expect(code).toBe(0);
    expect(noteOf(json())).toEqual({ noted: [expect.stringMatching(name)], silent: ['elsewhere:7'] });
  });
});
