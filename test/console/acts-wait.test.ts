import { expect, it } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/values/clock.ts';
import { DEPLOYMENT } from '../release/signing.ts';
import { describeOnBothStores } from '../scenarios/on-both-stores.ts';
import type { TestServiceOptions } from '../service.ts';
import type { Over } from './authenticator.ts';
import { READER, type Shown, type TestConsole, type Visitor, startTestConsole } from './console.ts';
import { type Name, REFUSED, SITE, passkeyOf, signed, statementIn } from './passkey-people.ts';

const PEOPLE = `people:
  ada:
    roles: [operate]
${passkeyOf('ada')}  ben:
    roles: [operate]
${passkeyOf('ben')}  dan:
    roles: [approve]
${passkeyOf('dan')}groups: {}
`;
const POLICIES = {
  'people.yaml': PEOPLE,
  'payments.yaml': `policy: payments
callback: payment
when: { source: shop }
rules:
  - allow-list: { of: userId, list: known-users }
`,
};
const USERS = Array.from({ length: 21 }, (_, at) => String(100 + at));
const as = (name: string): NonNullable<Visitor> => ({ name, roles: ['operate'] });

describeOnBothStores('what waits for a second person is signed by passkey', (host) => {
  async function start(options: TestServiceOptions = {}): Promise<TestConsole> {
    const settings = {
      deployment: DEPLOYMENT,
      fourEyes: ['unfreeze', 'lists', 'prices'],
      console: { passkeys: SITE, withService: 'false' },
    };
    const console = await startTestConsole({ policies: POLICIES, settings, ...options }, (given) =>
      host.start(given),
    );
    await console.store.changeList({
      source: 'shop',
      list: 'known-users',
      add: ['1'],
      remove: [],
      by: 'test',
      message: '',
    });
    return console;
  }
  /** Asks as ada, who is led to the page of the request. */
  async function ask(console: TestConsole, users = USERS): Promise<string> {
    const sent = await console.send('/console/lists/shop/known-users', {
      how: 'add',
      values: users.join('\n'),
      message: 'new <ones>',
      version: '1',
      do: 'change',
    });
    expect(sent).toMatchObject({
      status: 303,
      to: expect.stringMatching(/^\/console\/approvals\/r\w{6}$/),
      notice: expect.stringContaining('It waits: nothing has changed yet: it is done once two people sign'),
    });
    return sent.to ?? '';
  }
  const send = (console: TestConsole, path: string, signature: string, who: Visitor): Promise<Shown> => {
    const request = path.replace('/console/approvals/', '');
    return console.send('/console/approvals/agree', { source: '', request, signature }, who);
  };
  const sign = async (console: TestConsole, path: string, by: Name, over: Over = {}): Promise<Shown> =>
    send(console, path, signed(by, statementIn(await console.get(path, as(by))), over), as(by));
  async function sizeOf({ store }: TestConsole): Promise<number> {
    const [list] = await store.lists('shop');
    return list?.entries ?? 0;
  }
  const recordOf = ({ store }: TestConsole, path: string) =>
    store.approvalRequest('', path.replace('/console/approvals/', ''));
  const recordShape = z.object({ signatures: z.array(z.unknown()), state: z.string(), reason: z.string() });
  const stateOf = async (console: TestConsole, path: string) =>
    recordShape.parse(JSON.parse((await recordOf(console, path))?.value ?? ''));

  it('by the person who asked and by another, and the last signature does it, once', async () => {
    const console = await start();
    const path = await ask(console);
    const page = await console.get(path);
    expect(statementIn(page)).toMatch(/\nact list\n[^]*\nvalues add 21 sha256:[0-9a-f]{64}\n/);
    for (const each of [
      'nobody (0 of 2)',
      'add, 21 values:',
      '\n  119\n  120<',
      'new &lt;ones&gt;',
      'data-sign=',
    ])
      expect(page.text).toContain(each);
    expect(page.text).toContain('countersign approvals approve r');
    expect((await console.get('/console/approvals')).text).toMatch(/list r\w{6}<\/a>[^]*>0 of 2</);

    const first = await sign(console, path, 'ada');
    expect(first).toMatchObject({ status: 303, to: path });
    expect(first.notice).toContain('is signed by ada. Another person signs it until');
    expect(await sizeOf(console)).toBe(1);
    // One person counts once, and so does one signature.
    expect((await sign(console, path, 'ada')).text).toContain('has signed already');
    const statement = statementIn(await console.get(path));
    const { signatures } = await stateOf(console, path);
    const [kept] = z.array(z.object({ response: z.string() })).parse(signatures);
    expect((await send(console, path, kept?.response ?? '', as('ben'))).text).toContain('has signed already');
    expect(await sizeOf(console)).toBe(1);

    const ben = signed('ben', statement);
    const last = await send(console, path, ben, as('ben'));
    expect(last).toMatchObject({ status: 303, to: path });
    expect(last.notice).toContain('is signed by ada, ben. 21 added');
    expect(await sizeOf(console)).toBe(22);
    const entries = await console.store.entries({ source: 'shop', newestFirst: true, limit: 10 });
    const change = entries.find(({ type }) => type === 'list');
    expect(change?.detail).toContain('console:ada, approved by ada, ben');
    const done = await console.get(path);
    expect(done.text).toContain('ben: performed');
    expect(done.text).not.toMatch(/data-sign=|role="alert"/);
    expect((await send(console, path, ben, as('ben'))).text).toContain('is done, by ben: performed');
    expect(await sizeOf(console)).toBe(22);
  });

  it.each(REFUSED)('not with %s', async (_name, over, because) => {
    const console = await start();
    const path = await ask(console);
    await sign(console, path, 'ada');
    const answer = await sign(console, path, 'ben', over);
    expect(answer.status).toBe(422);
    expect(answer.text).toContain(because);
    expect(await stateOf(console, path)).toMatchObject({ signatures: [expect.anything()], state: 'pending' });
    expect(await sizeOf(console)).toBe(1);
  });

  it('not by who has not the role, in the console or in people.yaml, and not by a stranger', async () => {
    const console = await start();
    const path = await ask(console);
    await sign(console, path, 'ada');
    const statement = statementIn(await console.get(path));
    const reader = await send(console, path, signed('ben', statement), { name: 'ben', roles: ['read'] });
    expect(reader.status).toBe(403);
    const asReader = await console.get(path, READER);
    expect(asReader.text).not.toMatch(/data-sign=|approvals\/reject"/);
    expect((await sign(console, path, 'dan')).text).toMatch(/dan has not the role operate/i);
    expect((await sign(console, path, 'mallory')).text).toContain('is of nobody in people.yaml');
    // Who approves transfers ends no act.
    const reject = { source: '', request: path.replace('/console/approvals/', ''), reason: 'no' };
    const dan = { name: 'dan', roles: ['read'] } satisfies Visitor;
    expect((await console.send('/console/approvals/reject', reject, dan)).text).toContain('the role operate');
    expect(await stateOf(console, path)).toMatchObject({ signatures: [expect.anything()], state: 'pending' });
    expect(await sizeOf(console)).toBe(1);
    expect(await console.send('/console/approvals/reject', reject, as('ben'))).toMatchObject({ status: 303 });
    expect((await sign(console, path, 'ben')).text).toContain('is rejected, by console:ben: no');
  });

  it('not with a signature of another request, or of another form', async () => {
    const console = await start();
    const path = await ask(console);
    const other = statementIn(await console.get(await ask(console, ['7'])));
    await sign(console, path, 'ada');
    expect((await send(console, path, signed('ben', other), as('ben'))).text).toContain('something else');
    const request = path.replace('/console/approvals/', '');
    const signature = signed('ben', statementIn(await console.get(path)));
    for (const form of ['approve', 'sign']) {
      const wrong = { source: '', request, signature };
      expect((await console.send(`/console/approvals/${form}`, wrong)).status).toBeGreaterThan(400);
    }
    expect(await stateOf(console, path)).toMatchObject({ signatures: [expect.anything()], state: 'pending' });
    for (const wrong of ['', 'x', '{}', 'null'])
      expect((await send(console, path, wrong, as('ben'))).status).toBe(422);
    expect(await sizeOf(console)).toBe(1);
  });

  it('not if what it changes has changed meanwhile, which the page says', async () => {
    const console = await start();
    const path = await ask(console);
    await sign(console, path, 'ada');
    const ben = signed('ben', statementIn(await console.get(path)));
    const { store } = console;
    await store.changeList({
      source: 'shop',
      list: 'known-users',
      add: [],
      remove: ['1'],
      by: 'x',
      message: '',
    });
    const page = await console.get(path);
    expect(page.text).toContain('changed meanwhile');
    expect(page.text).not.toContain('data-sign=');
    expect(page.text).toContain('/console/approvals/reject"');
    const late = await send(console, path, ben, as('ben'));
    expect([late.status, late.text.includes('changed meanwhile')]).toEqual([422, true]);
    expect(await sizeOf(console)).toBe(0);
  });

  it('not if the record is forged, or over', async () => {
    let nowMs = systemClock();
    const console = await start({ clock: () => nowMs });
    const path = await ask(console, ['7']);
    const { value = '', version = 0 } = (await recordOf(console, path)) ?? {};
    const id = path.replace('/console/approvals/', '');
    const forged = value.replace(String.raw`\"add\":[\"7\"]`, String.raw`\"add\":[\"8\"]`);
    expect(forged).not.toBe(value);
    const change = { scope: '', id, isOpen: true, keepMs: 1e9 };
    await console.store.changeApprovalRequest({ ...change, expected: version, value: forged });
    const page = await console.get(path);
    expect(page.text).toContain('is not about its act');
    expect(page.text).not.toContain('data-sign=');
    expect((await console.get('/console/approvals')).text).toContain('don’t sign');
    expect((await sign(console, path, 'ada')).text).toContain('is not about its act');
    await console.store.changeApprovalRequest({ ...change, expected: version + 1, value });
    const ben = signed('ben', statementIn(await console.get(path)));
    await sign(console, path, 'ada');
    nowMs += 25 * 3_600_000;
    expect((await send(console, path, ben, as('ben'))).text).toContain('has expired');
    expect(await sizeOf(console)).toBe(1);
  });

  it('shows which freezes it would lift, and lifts no other', async () => {
    const console = await start();
    const { freeze } = await console.store.freeze({ by: 'ben', reason: 'a <leak>' });
    const unfreeze = { id: freeze.id, reason: 'rotated', confirmation: 'unfreeze' };
    const path = (await console.send('/console/unfreeze', unfreeze)).to ?? '';
    const page = await console.get(path);
    expect(page.text).toContain(`Would end ${freeze.id} by ben: a &lt;leak&gt;`);
    const other = await console.store.freeze({ by: 'cleo', reason: 'later' });
    await sign(console, path, 'ada');
    expect((await console.store.control()).frozen).toHaveLength(2);
    const last = await sign(console, path, 'ben');
    expect(last.notice).toContain(`Lifted ${freeze.id}. Still frozen by ${other.freeze.id}.`);
    expect((await console.store.control()).frozen.map(({ id }) => id)).toEqual([other.freeze.id]);
  });
});
