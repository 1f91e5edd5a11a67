import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createRequests } from '../../src/approvals/requests.ts';
import { readPolicyDirectory } from '../../src/release/files.ts';
import { pushRelease } from '../../src/release/push.ts';
import { type Ran, placeIn, prints, reports } from '../cli/terminal.ts';
import { startTestConsole } from '../console/console.ts';
import { DEPLOYMENT, keyFileOf, peopleText } from '../release/signing.ts';
import type { TestServiceOptions } from '../service.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const TOKEN = 'ops-token-of-the-tests';
const ALL = ['unfreeze', 'lists', 'prices', 'orders', 'releases', 'lockouts', 'clock'];
const PEOPLE = `${peopleText(['ada', 'ben', 'cleo'])}${peopleText(['dan'], '[approve]').replace('people:\n', '')}`;
const POLICIES = {
  'people.yaml': PEOPLE,
  'payments.yaml': `policy: payments
callback: payment
when: { source: shop }
rules:
  - amount-limit: { max: 1000 }
  - deny-list: { of: userId, list: blocked-users }
  - lock-out: { per: [userId], after: 2, within: 1h, for: until-lifted }
---
policy: known
callback: payment
when: { source: shop, symbol: OTHER }
rules:
  - allow-list: { of: userId, list: known-users }
  - allow-list: { of: userId, list: mixed }
---
policy: mixed
callback: payment
when: { source: shop, symbol: MIXED }
rules:
  - deny-list: { of: userId, list: mixed }
  - deny-list: { of: userId, list: not-made-yet }
`,
};
const requested = z.object({ request: z.string(), signatures: z.number() });

describeOnBothStores('two people loosen', (host) => {
  const start = async (fourEyes: readonly string[] = ALL, more: TestServiceOptions = {}) => {
    const options = {
      policies: POLICIES,
      env: { OPS_TOKEN: TOKEN },
      ...more,
      settings: {
        deployment: DEPLOYMENT,
        fourEyes,
        ops: { port: '0', token: { env: 'OPS_TOKEN' }, releases: 'true' },
        ...more.settings,
      },
    };
    const service = await host.start(options);
    const { runWith, write } = placeIn(service.folder);
    const clock = options.clock ?? Date.now;
    const run = runWith({ clock });
    for (const list of ['blocked-users', 'known-users', 'mixed']) {
      await service.store.changeList({
        source: 'shop',
        list,
        add: ['1'],
        remove: [],
        by: 'test',
        message: '',
      });
    }
    const approve = (name: string, id: string): Promise<Ran> =>
      run('approvals', 'approve', id, '--key', keyFileOf(name));
    /** Asks as ada, with her key. Returns the id of the request. */
    const ask = async (...words: readonly string[]): Promise<string> => {
      const asked = await run(...words, '--key', keyFileOf('ada'), '--json');
      expect({ code: asked.code, err: asked.err }).toEqual({ code: 1, err: '' });
      const { request, signatures } = requested.parse(asked.json());
      expect(signatures).toBe(1);
      return request;
    };
    const call = async (method: string, path: string, body?: object) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` };
      const response = await fetch(`${service.ops}/api${path}`, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.json() };
    };
    const values = async (list: string): Promise<readonly string[]> => {
      const found: string[] = [];
      for await (const { value } of service.store.listEntries('shop', list)) found.push(value);
      return found.sort();
    };
    return { options, service, run, runWith, write, approve, ask, call, values };
  };
  const byOf = (json: unknown): string => z.object({ by: z.string() }).parse(json).by;

  it('freezes at once, and unfreezes when a second person agrees, who is shown why it was frozen', async () => {
    const { service, run, approve } = await start();
    expect(await service.pay({ appOrderId: '1' })).toBe('SUCCESS');
    expect(await run('freeze', 'the key may have leaked')).toMatchObject(prints(0, 'Frozen as f'));
    const freeze = (await service.store.control()).frozen[0]?.id ?? '';

    const asked = await run('unfreeze', '--message', 'keys rotated', '--key', keyFileOf('ada'));
    expect(asked).toMatchObject(prints(1, 'Nothing has changed yet: it is done once a second person signs'));
    const [, request = ''] = /approvals approve (r\w+) --key/.exec(asked.out) ?? [];
    expect((await service.store.control()).frozen).toHaveLength(1);
    const listed = await run('approvals', 'list');
    expect(listed).toMatchObject(
      prints(0, `unfreeze: keys rotated: ${freeze} by ada: the key may have leaked`),
    );
    expect(await service.pay({ appOrderId: '2' })).toBe('FAILURE');

    const because = ['approvals', 'approve', request, '--key', keyFileOf('ben'), '--message', 'x'] as const;
    expect(await run(...because)).toMatchObject(reports(2, 'only the approval of a callback has a reason'));
    expect(await approve('ada', request)).toMatchObject(reports(1, 'has signed already'));
    expect(await approve('dan', request)).toMatchObject(reports(1, 'dan has not the role operate'));
    expect(await approve('mallory', request)).toMatchObject(reports(1, 'is of nobody in people.yaml'));
    expect((await service.store.control()).frozen).toHaveLength(1);

    const approved = await approve('ben', request);
    expect(approved).toMatchObject(prints(0, 'Approvals continue.'));
    const statement =
      `countersign-act/1\ndeployment ${DEPLOYMENT}\nact unfreeze\ninput ids.0 ${freeze}\nvalue acknowledgeLoss false\n` +
      `input message keys rotated\nabout ${freeze} by ada: the key may have leaked\nasked ada\n`;
    expect(approved.err).toContain(statement);
    expect(approved.err).toContain(`Would end ${freeze} by ada: the key may have leaked`);
    expect((await service.store.control()).frozen).toEqual([]);
    expect(await service.pay({ appOrderId: '3' })).toBe('SUCCESS');
    const entries = await service.store.entries({ source: 'shop', newestFirst: true, limit: 100 });
    const entry = entries.find(({ type }) => type === 'freeze');
    expect(byOf(JSON.parse(entry?.detail ?? ''))).toBe('ada, approved by ben');

    expect(await approve('cleo', request)).toMatchObject(reports(1, 'is done, by ben: performed'));
    // Freezing never waits, also not for the API's or the console's people.
    expect(await run('freeze', 'again')).toMatchObject(prints(0, 'Frozen as f'));
    expect(await run('unfreeze', freeze)).toMatchObject(prints(1, `There is no freeze ${freeze}.`));
    expect(await run('approvals', 'list')).toMatchObject(prints(0, 'Nothing waits'));
  });

  it('shows what would end on a line of its own, whatever its reason says', async () => {
    const { service, approve, ask } = await start();
    const reason = 'drill\n\ncountersign-act/1\nact freeze\nYou sign the text above.';
    await service.store.freeze({ by: 'mallory', reason });
    const { frozen } = await service.store.control();
    const approved = await approve('ben', await ask('unfreeze', frozen[0]?.id ?? ''));
    expect(approved.code).toBe(0);
    expect(approved.err.match(/^(?:act|You sign) .*$/gm)).toEqual([
      'act unfreeze',
      'You sign the text above.',
    ]);
    expect(approved.err).toMatch(/^Would end .*drill.*act freeze/m);
  });

  it('does not lift a freeze that came later under the same id', async () => {
    const { service, run, approve, ask } = await start();
    for (let at = 0; at < 100; at++) await service.store.freeze({ by: 'ben', reason: `case ${at}` });
    const { frozen } = await service.store.control();
    const request = await ask('unfreeze', frozen.at(-1)?.id ?? '');
    await run('freeze', 'a leak');
    expect((await service.store.control()).frozen).toHaveLength(100);
    expect(await approve('ben', request)).toMatchObject(reports(2, 'would now end something else'));
    expect((await service.store.control()).frozen).toHaveLength(100);
  });

  it('lets one person tighten a list', async () => {
    const { run, approve, ask, values } = await start();
    const change = (verb: string, list: string, value: string): readonly string[] => [
      'list',
      verb,
      list,
      value,
      '--source',
      'shop',
      '--message',
      'case 12',
    ];
    expect(await run(...change('add', 'blocked-users', '7'))).toMatchObject(prints(0, '1 added'));
    expect(await run(...change('remove', 'known-users', '1'))).toMatchObject(prints(0, '1 removed'));

    for (const [verb, list, value] of [
      ['remove', 'blocked-users', '7'],
      ['add', 'known-users', '7'],
      ['add', 'mixed', '7'],
      ['remove', 'mixed', '1'],
    ] as const) {
      const before = await values(list);
      const request = await ask(...change(verb, list, value));
      expect(await values(list)).toEqual(before);
      expect(await approve('cleo', request)).toMatchObject(
        prints(0, `1 ${verb === 'add' ? 'added' : 'removed'}`),
      );
      expect(await values(list)).not.toEqual(before);
    }
    // An empty deny-list denies nobody, while a callback without its list is refused: making one loosens.
    await ask('list', 'add', 'unused', '1', '--source', 'shop', '--create');
    await ask('list', 'add', 'not-made-yet', '1', '--source', 'shop');
    await ask('list', 'remove', 'blocked-users', '1', '--source', 'shop');
  });

  it('signs a long list of values by their hash, and shows them', async () => {
    const { run, approve, ask, values } = await start();
    const users = Array.from({ length: 21 }, (_, at) => String(100 + at));
    const request = await ask('list', 'add', 'known-users', ...users, '--source', 'shop');
    const approved = await approve('ben', request);
    expect(approved).toMatchObject(prints(0, '21 added'));
    expect(approved.err).toMatch(/\nvalues add 21 sha256:[0-9a-f]{64}\n/);
    expect(approved.err).toContain('add, 21 values:\n  100\n  101\n');
    expect(await values('known-users')).toHaveLength(22);
    expect(await run('approvals', 'show', request)).toMatchObject(prints(0, 'ended by ben: performed'));
  });

  it('sets prices as of when somebody asked, and removes them at once', async () => {
    const { service, run, approve, ask } = await start();
    const before = Date.now();
    const request = await ask('prices', 'set', 'BTC', '97000.10');
    const after = Date.now();
    expect((await service.store.prices()).prices.size).toBe(0);
    const approved = await approve('ben', request);
    expect(approved.err).toContain('input prices.0.price 97000.1\n');
    expect(approved.code).toBe(0);
    const { asOfMs = 0 } = (await service.store.prices()).prices.get('BTC') ?? {};
    expect(asOfMs).toBeGreaterThanOrEqual(before);
    expect(asOfMs).toBeLessThanOrEqual(after);
    const [change] = await service.store.priceHistory({ after: 0, limit: 1 });
    expect(change?.by).toBe('ada, approved by ben');
    expect(await run('prices', 'remove', 'BTC')).toMatchObject({ code: 0 });
    // A fault is said at once, and nobody has to look at it.
    expect(await run('prices', 'set', 'BTC', '-1')).toMatchObject(reports(2, 'PRICE_INVALID'));
    expect(await run('approvals', 'list')).toMatchObject(prints(0, 'Nothing waits'));
  });

  it('lets the API ask, and takes two people then', async () => {
    const { service, call, approve } = await start();
    const order = {
      source: 'shop',
      kind: 'payment',
      id: '11',
      members: { userId: '12345', symbol: 'USDT1742', amount: '100.10', scheme: 'md5' },
    };
    const asked = await call('POST', '/orders', order);
    expect(asked).toMatchObject({ status: 202, body: { signatures: 0 } });
    const { request } = requested.parse(asked.body);
    // Who got no answer and asks again asks for the same.
    expect(await call('POST', '/orders', order)).toEqual(asked);
    expect(await service.store.order('shop', 'payment:11')).toBeUndefined();
    const first = await approve('ada', request);
    expect(first).toMatchObject(prints(1, 'is signed by ada. Another person signs it until'));
    expect(first.err).toContain('\ninput members.amount 100.10\n');
    expect(await approve('ada', request)).toMatchObject(reports(1, 'has signed already'));
    expect(await service.store.order('shop', 'payment:11')).toBeUndefined();
    expect(await approve('ben', request)).toMatchObject(prints(0, 'is expected until'));
    expect(await service.store.order('shop', 'payment:11')).toMatchObject({
      by: 'api, approved by ada, ben',
    });
    // Announcing it again changes nothing, so nobody has to agree; another order of the id is refused as ever.
    expect(await call('POST', '/orders', order)).toMatchObject({
      status: 200,
      body: { outcome: 'unchanged' },
    });
    const other = { ...order, members: { ...order.members, amount: '1' } };
    expect(await call('POST', '/orders', other)).toMatchObject({ status: 409 });
    expect(await call('DELETE', '/orders/shop/payment/11')).toMatchObject({ status: 200 });
    expect(await call('POST', '/orders', order)).toMatchObject({ status: 202 });
    expect(await call('POST', '/orders', { ...order, members: { amount: 100 } })).toMatchObject({
      status: 400,
    });

    expect(await service.pay({ appOrderId: '12' })).toBe('SUCCESS');
    const release = { source: 'shop', kind: 'payment', id: '12', message: 'never debited' };
    expect(await call('POST', '/releases', release)).toMatchObject({ status: 202 });
    expect(await call('POST', '/releases', { ...release, id: '13' })).toMatchObject({ status: 404 });
    expect(await call('PUT', '/prices', { prices: { BTC: { price: '1' } } })).toMatchObject({ status: 202 });
    expect((await service.store.subject('shop', 'payment:12'))?.released).toBeUndefined();
  });

  it('releases an approval and lifts a lock-out with two people', async () => {
    const { service, approve, ask, call } = await start();
    expect(await service.pay({ appOrderId: '12' })).toBe('SUCCESS');
    const release = await ask(
      'decisions',
      'release',
      'payment',
      '12',
      '--source',
      'shop',
      '--message',
      'failed',
    );
    expect(await approve('ben', release)).toMatchObject(prints(0, 'Released payment:12 of shop'));
    const lockedOut = async (): Promise<readonly string[]> => {
      const found: string[] = [];
      for await (const { id } of service.store.lockouts('shop')) found.push(id);
      return found;
    };
    const again = { source: 'shop', kind: 'payment', id: '12', message: 'never debited' };
    expect(await call('POST', '/releases', again)).toMatchObject({
      status: 200,
      body: { outcome: 'before' },
    });
    for (const id of ['a', 'b']) await service.pay({ appOrderId: id, orderAmount: '1001' });
    const [held = ''] = await lockedOut();
    const lift = await ask('lockout', 'lift', held, '--source', 'shop', '--message', 'known');
    expect(await lockedOut()).toEqual([held]);
    expect(await approve('cleo', lift)).toMatchObject(prints(0, 'Lifted in shop'));
    expect(await lockedOut()).toEqual([]);
  });

  // Redis' own clock can't be set.
  it.runIf(host.kind === 'embedded')('accepts a clock that jumped with two people', async () => {
    let offMs = 0;
    const clock = (): number => Date.now() + offMs;
    const { service, run, approve, ask } = await start(ALL, { clock, clockBounds: {} });
    expect(await run('clock', 'accept')).toMatchObject(prints(0, 'There is nothing to accept'));
    offMs = 4 * 3_600_000;
    const request = await ask('clock', 'accept');
    expect((await service.store.clock()).state).toBe('jumped');
    expect(await approve('ben', request)).toMatchObject(prints(0, 'Accepted.'));
    expect((await service.store.clock()).state).toBe('right');
  });

  it('performs it once, however many sign at the same time', async () => {
    const { service, run, approve, ask } = await start();
    const request = await ask('list', 'add', 'known-users', '7', '--source', 'shop');
    const { version = 0 } =
      (await service.store.lists('shop')).find(({ list }) => list === 'known-users') ?? {};
    const all = await Promise.all(['ben', 'cleo', 'ben', 'cleo'].map((name) => approve(name, request)));
    expect(all.filter(({ code }) => code === 0)).toHaveLength(1);
    const summary = (await service.store.lists('shop')).find(({ list }) => list === 'known-users');
    expect(summary?.version).toBe(version + 1);
    expect(await run('approvals', 'list')).toMatchObject(prints(0, 'Nothing waits'));
  });

  it('is not performed again after an interruption, and says that it was begun', async () => {
    const { service, run, approve, ask } = await start();
    const request = await ask('list', 'add', 'known-users', '7', '--source', 'shop');
    // As the program leaves it that ends between the two steps.
    await createRequests(service.store, Date.now).change(request, () => ({
      state: 'done',
      endedBy: 'ben',
      reason: 'begun',
    }));
    expect(await approve('cleo', request)).toMatchObject(reports(1, 'is done, by ben: begun'));
    expect(await run('approvals', 'show', request)).toMatchObject(prints(0, 'ended by ben: begun'));
  });

  it('does not count a person who was removed meanwhile', async () => {
    const { run, write, approve, ask, values } = await start();
    const request = await ask('list', 'add', 'known-users', '7', '--source', 'shop');
    write('policies/people.yaml', peopleText(['ben']));
    expect((await run('policy', 'push', '--dry-run')).err).toContain(
      'Warning: fourEyes needs 2 people with the role operate and an SSH key, and there are 1',
    );
    write('policies/people.yaml', peopleText(['ben', 'cleo']));
    expect(await run('policy', 'push', '--message', 'ada has left')).toMatchObject(prints(0, 'In force'));
    expect(await approve('ben', request)).toMatchObject(prints(1, 'is signed by ben.'));
    expect(await values('known-users')).toEqual(['1']);
    expect(await approve('ada', request)).toMatchObject(reports(1, 'is of nobody in people.yaml'));
    expect(await approve('cleo', request)).toMatchObject(prints(0, 'is signed by ben, cleo.'));
    expect(await values('known-users')).toEqual(['1', '7']);
    const refused = await run(
      'list',
      'add',
      'known-users',
      '8',
      '--source',
      'shop',
      '--key',
      keyFileOf('ada'),
    );
    expect(refused).toMatchObject(reports(1, 'is of nobody in people.yaml'));
  });

  it('ends when it expires, and when somebody rejects it', async () => {
    const { run, runWith, approve, ask, values } = await start();
    const add = ['list', 'add', 'known-users', '7', '--source', 'shop'];
    const [first, second] = [await ask(...add), await ask(...add)];
    expect(await run('approvals', 'reject', first, '--message', 'unknown')).toMatchObject(
      prints(0, 'Rejected'),
    );
    expect(await approve('ben', first)).toMatchObject(reports(1, 'is rejected, by ada: unknown'));
    const tomorrow = runWith({ clock: () => Date.now() + 24 * 3_600_000 });
    const late = await tomorrow('approvals', 'approve', second, '--key', keyFileOf('ben'));
    expect(late).toMatchObject(reports(1, 'has expired'));
    expect(await values('known-users')).toEqual(['1']);
  });

  it('refuses a request whose statement is about something else', async () => {
    const { service, approve, ask, values } = await start();
    const request = await ask('list', 'add', 'known-users', '7', '--source', 'shop');
    await createRequests(service.store, Date.now).change(request, ({ content }) => ({
      content: content.replace('"7"', '"666"'),
    }));
    expect(await approve('ben', request)).toMatchObject(reports(1, 'is not about its act'));
    expect(await values('known-users')).toEqual(['1']);
  });

  it('counts the people of signers.file, and not those of policies that nobody has signed', async () => {
    const file = join(temporaryFolder(), 'signers.yaml');
    writeFileSync(file, peopleText(['eve', 'fay']));
    const signers = { file, threshold: '2' };
    const { service, run, approve } = await start(['unfreeze'], { settings: { signers } });
    await run('freeze', 'drill');
    const asked = await run('unfreeze', '--key', keyFileOf('eve'), '--json');
    const { request } = requested.parse(asked.json());
    // Nobody has signed the policies, so their people don't count.
    const release = await readPolicyDirectory(join(service.folder, 'policies'));
    await pushRelease(service.store, { release, expected: '', by: 'mallory', message: 'unsigned' });
    for (const name of ['ada', 'ben'])
      expect(await approve(name, request)).toMatchObject(reports(1, 'is of nobody in people.yaml'));
    expect(await approve('fay', request)).toMatchObject({ code: 0 });
    expect((await service.store.control()).frozen).toEqual([]);
  });

  it('lets people of the console ask', async () => {
    const { service, options, run, approve, values } = await start();
    const console = await startTestConsole(options, (same) => host.start(same, service));
    const sent = await console.send('/console/lists/shop/known-users', {
      how: 'add',
      values: '7',
      message: 'a new one',
      version: '1',
      do: 'change',
    });
    expect(sent).toMatchObject({ status: 303, to: expect.stringMatching(/^\/console\/approvals\/r\w+$/) });
    expect(sent.notice).toContain(
      'It waits: nothing has changed yet: it is done once two people sign request r',
    );
    expect(await values('known-users')).toEqual(['1']);
    const [, request = ''] = /request (r\w+)/.exec(sent.notice) ?? [];
    expect(await approve('ada', request)).toMatchObject(prints(1, 'is signed by ada'));
    // Somebody else tightens meanwhile. What was seen is no longer there, so nobody can agree to it.
    await run('list', 'remove', 'known-users', '1', '--source', 'shop');
    expect(await approve('ben', request)).toMatchObject(reports(2, 'the list changed meanwhile'));
    expect(await values('known-users')).toEqual([]);
  });

  it('changes nothing for acts that the settings do not name', async () => {
    const { service, run, call, values } = await start(['unfreeze']);
    expect(await run('list', 'add', 'known-users', '7', '--source', 'shop')).toMatchObject(
      prints(0, '1 added'),
    );
    expect(await values('known-users')).toEqual(['1', '7']);
    expect(await call('PUT', '/prices', { prices: { BTC: { price: '1' } } })).toMatchObject({ status: 200 });
    await run('freeze', 'drill');
    expect(await run('unfreeze')).toMatchObject(prints(1, 'once two people sign'));
    expect((await service.store.control()).frozen).toHaveLength(1);
  });
});
