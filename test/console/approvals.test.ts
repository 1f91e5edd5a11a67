import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { readPolicyDirectory } from '../../src/release/files.ts';
import { pushRelease } from '../../src/release/push.ts';
import { passkeyChallenge } from '../../src/signature/passkey-statement.ts';
import { systemClock } from '../../src/values/clock.ts';
import { placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { startRedisServer } from '../redis-server.ts';
import { DEPLOYMENT, keyFileOf, peopleText } from '../release/signing.ts';
import { describeOnBothStores } from '../scenarios/on-both-stores.ts';
import { POLICIES, TO, type TestServiceOptions, transfer, web3 } from '../service.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { Over } from './authenticator.ts';
import { ADA, READER, type Shown, type TestConsole, type Visitor, startTestConsole } from './console.ts';
import { type Name, REFUSED, SITE, passkeyIdOf, passkeyOf, signed, statementIn } from './passkey-people.ts';

const PEOPLE = `people:
  ada:
    roles: [operate, approve]
${passkeyOf('ada')}  ben:
    roles: [approve]
${passkeyOf('ben')}  cleo:
    roles: [read]
  dan:
    roles: [approve]
${passkeyOf('dan')}groups:
  treasury: [ada, ben]
`;
const WITH_APPROVAL = {
  'people.yaml': PEOPLE,
  'transfers.yaml': `policy: transfers
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - any:
      - amount-limit: { max: 1 }
      - approval: { by: treasury, quorum: 2, within: 24h }
`,
  'web3.yaml': `policy: tokens
callback: web3
when: { source: vault, main_chain_symbol: ETH }
movements: { approvals: count }
rules:
  - approval: { by: treasury, quorum: 1, within: 24h }
`,
  'assets.yaml': `assets:
  ETH: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${TO}' } }
`,
};
/** Pages that start processes take long on a busy machine. */
const BUSY = { timeout: 90_000 };
const BEN: Visitor = { name: 'ben', roles: ['read'] };
const PAGE = '/console/approvals/vault/transfer%3Aw-1';
const W1 = { source: 'vault', request: 'transfer:w-1' };
const CONSOLE = { passkeys: SITE, withService: 'false' };

describeOnBothStores('the inbox', (host) => {
  const start = (options: TestServiceOptions = {}): Promise<TestConsole> =>
    startTestConsole(
      { policies: WITH_APPROVAL, settings: { deployment: DEPLOYMENT, console: CONSOLE }, ...options },
      (given) => host.start(given),
    );
  const ask = (console: TestConsole, members: object = {}): Promise<string> =>
    console.cosign('/cosigner/withdraw', transfer({ amount: '5', ...members }));
  /** As the page of the request makes the person's browser do it. */
  async function approve(
    console: TestConsole,
    by: Name,
    over: Over = {},
    more: Readonly<Record<string, string>> = {},
  ): Promise<Shown> {
    const as = { name: by, roles: ['read'] } satisfies Visitor;
    const statement = statementIn(await console.get(PAGE, as));
    const signature = signed(by, statement, over);
    return console.send('/console/approvals/approve', { ...W1, signature, ...more }, as);
  }
  const signaturesIn = async ({ store }: TestConsole): Promise<number> => {
    const record = await store.approvalRequest('vault', 'transfer:w-1');
    return z.object({ signatures: z.array(z.unknown()) }).parse(JSON.parse(record?.value ?? '')).signatures
      .length;
  };

  it('shows what waits, and a transfer passes after two people have approved it', async () => {
    const console = await start();
    expect((await console.get('/console/')).status).toBe(200);
    expect((await console.get('/console/approvals')).text).toContain('Nothing waits for people.');
    expect(await ask(console)).toBe('FAILURE');

    const inbox = await console.get('/console/approvals');
    expect(inbox.text).toContain('Withdrawal w-1');
    expect(inbox.text).toContain('5 ETH');
    expect(inbox.text).toMatch(/2[34] h/);
    expect(inbox.text).toContain('1<span class="unseen"> waiting</span>');
    const page = await console.get(PAGE);
    for (const each of [
      '2 of treasury',
      TO,
      'nobody (0 of 2)',
      'AWAITING_APPROVAL',
      'Reject',
      'data-sign=',
    ]) {
      expect(page.text).toContain(each);
    }
    expect(page.text).toContain('countersign approvals approve transfer:w-1 --source vault --key FILE');
    expect(statementIn(page)).toContain('\nterm amount 5\n');
    expect(page.text).toContain(passkeyChallenge(Buffer.from(statementIn(page))));
    expect(page.text).toContain('&quot;userVerification&quot;:&quot;required&quot;');
    // She is asked for her own passkey alone.
    expect(page.text).toContain(passkeyIdOf('ada'));
    expect(page.text).not.toContain(passkeyIdOf('ben'));

    const first = await approve(console, 'ada');
    expect(first).toMatchObject({ status: 303, to: PAGE });
    expect(first.notice).toContain('So far: ada.');
    expect(await ask(console)).toBe('FAILURE');
    expect((await approve(console, 'ada')).text).toContain('has signed already');
    expect((await console.get('/console/approvals')).text).toContain('>1 of 2<');
    expect((await approve(console, 'ben')).notice).toContain('So far: ada, ben.');
    expect(await ask(console)).toBe('SUCCESS');
    const done = await console.get(PAGE);
    expect(done.text).toContain('>done</span>');
    expect(done.text).not.toContain('data-sign=');
    expect((await console.get('/console/approvals')).text).toContain('Nothing waits for people.');
    const entries = await console.store.entries({ source: 'vault', subject: 'transfer:w-1', limit: 100 });
    expect(entries.filter(({ type }) => type === 'approval').map(({ code }) => code)).toEqual([
      'APPROVED_BY_PERSON',
      'APPROVED_BY_PERSON',
    ]);
  });

  it('has an order that was announced there, which people approve before its callback comes', async () => {
    const console = await start();
    const announce = (by: string, more: Readonly<Record<string, string>> = {}): Promise<Shown> => {
      const order = { kind: 'transfer', source: 'vault', id: 'w-1', to: TO, symbol: 'ETH', amount: '5' };
      return console.send('/console/orders', { ...order, ...more }, { name: by, roles: ['operate'] });
    };
    expect((await console.get('/console/orders')).text).toContain('name="ask"');
    expect((await announce('eve')).notice).toBe('The order is announced.');
    expect((await console.get('/console/approvals')).text).toContain('Nothing waits for people.');
    expect((await announce('ada', { ask: 'yes' })).notice).toContain('People approve it until');
    const inbox = await console.get('/console/approvals');
    expect(inbox.text).toContain('Withdrawal w-1');
    expect(inbox.text).toContain('5 ETH');
    const page = await console.get(PAGE);
    expect(statementIn(page)).toContain('\nany from\n');
    await approve(console, 'ben');
    expect((await approve(console, 'dan')).notice).toContain('So far: ben, dan.');
    expect(await ask(console, { to: TO })).toBe('FAILURE');
    await approve(console, 'ada');
    expect(await ask(console, { to: TO })).toBe('SUCCESS');
    // Who has announced another one doesn't count.
    await announce('ada', { ask: 'yes', id: 'w-2' });
    const second = '/console/approvals/vault/transfer%3Aw-2';
    const as = { name: 'ada', roles: ['read'] } satisfies Visitor;
    const signature = signed('ada', statementIn(await console.get(second, as)), {});
    const refused = await console.send(
      '/console/approvals/approve',
      { source: 'vault', request: 'transfer:w-2', signature },
      as,
    );
    expect(refused.text).toContain('another person must approve it');
  });

  it('counts who has approved during a freeze, each of them with the role', async () => {
    const console = await start();
    await console.store.freeze({ reason: 'drill', by: 'eve', kind: 'except-approved' });
    expect(await ask(console, { amount: '1' })).toBe('FAILURE');
    await approve(console, 'dan');
    // First of the group of the policy, of which he is no member, then of all who may approve.
    expect((await console.get(PAGE)).text).toContain('dan (0 of 2, 1 of 2)');
    expect((await console.get('/console/approvals')).text).toContain('>0 of 2, 1 of 2<');
    await approve(console, 'ada');
    expect((await console.get(PAGE)).text).toContain('dan, ada (1 of 2, 2 of 2)');
    expect(await ask(console, { amount: '1' })).toBe('SUCCESS');
  });

  it('comes first for who can approve, while something waits', async () => {
    const console = await start();
    expect((await console.get('/console/', BEN)).text).toContain('<h1>Now</h1>');
    await ask(console);
    expect(await console.get('/console/', BEN)).toMatchObject({ status: 303, to: '/console/approvals' });
    const { text } = await console.get('/console/now', BEN);
    expect(text).toContain('<h1>Now</h1>');
    expect(text.indexOf('/console/approvals"')).toBeLessThan(text.indexOf('/console/now"'));
    expect((await console.get('/console/', { name: 'rita', roles: ['operate'] })).text).toContain(
      '<h1>Now</h1>',
    );
  });

  it.each(REFUSED)('refuses %s', async (_name, over, because) => {
    const console = await start();
    await ask(console);
    const answer = await approve(console, 'ada', over);
    expect(answer.status).toBe(422);
    expect(answer.text).toContain(because);
    expect(await signaturesIn(console)).toBe(0);
  });

  it('refuses a stranger’s passkey, and what is no signature', async () => {
    const console = await start();
    await ask(console);
    const stranger = await approve(console, 'mallory');
    expect([stranger.status, stranger.text.includes('is of nobody in people.yaml')]).toEqual([422, true]);
    for (const signature of ['', 'x', '[]', '{}', '{"id":1}', 'null', 'x'.repeat(20_000)]) {
      const answer = await console.send('/console/approvals/approve', { ...W1, signature });
      expect([signature.slice(0, 9), answer.status]).toEqual([signature.slice(0, 9), 422]);
    }
    expect(await signaturesIn(console)).toBe(0);
    const unknown = { source: 'nowhere', request: 'transfer:w-1', signature: '{"id":"x"}' };
    expect((await console.send('/console/approvals/approve', unknown)).status).toBe(404);
  });

  it('refuses an approval of what has expired meanwhile', async () => {
    let nowMs = systemClock();
    const console = await start({ clock: () => nowMs });
    await ask(console);
    const statement = statementIn(await console.get(PAGE));
    nowMs += 25 * 3_600_000;
    const late = await console.send('/console/approvals/approve', {
      ...W1,
      signature: signed('ada', statement),
    });
    expect([late.status, late.text.includes('has expired')]).toEqual([422, true]);
    const { text } = await console.get(PAGE);
    expect(text).toContain('>expired</span>');
    expect(text).not.toMatch(/data-sign=|approvals\/reject"/);
    expect((await console.get('/console/approvals')).text).toContain('Nothing waits');
  });

  it('a forged record is shown as such, and can’t be approved', async () => {
    const console = await start();
    await ask(console);
    const record = await console.store.approvalRequest('vault', 'transfer:w-1');
    // Who can write to the store wants a signature for another amount.
    const value = (record?.value ?? '').replace('term amount 5\\n', 'term amount 5000\\n');
    const change = {
      scope: 'vault',
      id: 'transfer:w-1',
      expected: record?.version ?? 0,
      isOpen: true,
      keepMs: 1e9,
    };
    await console.store.changeApprovalRequest({ ...change, value });
    expect((await console.get('/console/approvals')).text).toContain('don’t sign');
    const page = await console.get(PAGE);
    expect(page.text).toContain('is not about its callback');
    expect(page.text).not.toContain('data-sign=');
    expect(page.text).toContain('/console/approvals/reject"');
    const statement = statementIn(page);
    expect(statement).toContain('amount 5000');
    const answer = await console.send('/console/approvals/approve', {
      ...W1,
      signature: signed('ada', statement),
    });
    expect([answer.status, answer.text.includes('is not about its callback')]).toEqual([422, true]);
    expect(await signaturesIn(console)).toBe(0);

    // One that can't be read hides nothing else, and is not counted.
    await ask(console, { request_id: 'w-2' });
    await console.store.changeApprovalRequest({ ...change, expected: change.expected + 1, value: '{}' });
    const inbox = await console.get('/console/approvals');
    expect(inbox.text).toContain('transfer:w-1 in the store can&#39;t be read');
    expect(inbox.text).toContain('Withdrawal w-2');
    expect(inbox.text).toContain('1<span class="unseen"> waiting</span>');
    const listed = await placeIn(console.folder).runWith({ clock: systemClock })('approvals', 'list');
    expect(listed).toMatchObject({ code: 0, out: expect.stringContaining('transfer:w-2') });
    expect(listed.err).toContain('the request transfer:w-1 in the store can');
  });

  it('counts signatures only if they are real, and of members of the group', async () => {
    const console = await start();
    await ask(console);
    const { value = '', version = 0 } = (await console.store.approvalRequest('vault', 'transfer:w-1')) ?? {};
    const forged = ['ada', 'ben', 'dan'].map((name) => {
      const response = signed(name as Name, 'something else');
      return { method: 'passkey', id: passkeyIdOf(name as Name), response };
    });
    const outsider = signed('dan', statementIn(await console.get(PAGE)));
    const signatures = [...forged, { method: 'passkey', id: passkeyIdOf('dan'), response: outsider }];
    await console.store.changeApprovalRequest({
      scope: 'vault',
      id: 'transfer:w-1',
      expected: version,
      value: JSON.stringify({ ...(JSON.parse(value) as object), signatures }),
      isOpen: true,
      keepMs: 1e9,
    });
    expect((await console.get('/console/approvals')).text).toContain('>0 of 2<');
    expect((await console.get(PAGE)).text).toContain('dan (0 of 2)');
  });

  it('counts at most the newest fifty in the navigation', async () => {
    const console = await start();
    await ask(console);
    const { value = '' } = (await console.store.approvalRequest('vault', 'transfer:w-1')) ?? {};
    const waiting = async (): Promise<string | undefined> =>
      />([^>]*)<span class="unseen"> waiting/.exec((await console.get('/console/now')).text)?.[1];
    const add = (at: number): Promise<unknown> => {
      const change = {
        scope: 'vault',
        id: `transfer:w-${at}`,
        expected: 0,
        value,
        isOpen: true,
        keepMs: 1e9,
      };
      return console.store.changeApprovalRequest(change);
    };
    for (let at = 2; at <= 50; at++) await add(at);
    expect(await waiting()).toBe('50');
    await add(51);
    expect(await waiting()).toBe('50+');
  });

  it('keeps why somebody approved it, which is not signed', async () => {
    const console = await start();
    await ask(console);
    const long = await approve(console, 'ada', {}, { message: 'x'.repeat(1001) });
    expect([long.status, await signaturesIn(console)]).toEqual([422, 0]);
    const message = 'known <customer>';
    expect((await approve(console, 'ada', {}, { message })).status).toBe(303);
    expect((await approve(console, 'ben', {}, { message: ' ' })).status).toBe(303);
    const entries = await console.store.entries({ source: 'vault', subject: 'transfer:w-1', limit: 100 });
    const details = entries
      .filter(({ type }) => type === 'approval')
      .map(({ detail }) => JSON.parse(detail) as Readonly<Record<string, unknown>>);
    expect(details.map(({ by, message: why }) => [by, why])).toEqual([
      ['ada', message],
      ['ben', undefined],
    ]);
    expect(details.map(({ statement }) => String(statement).includes(message))).toEqual([false, false]);
    expect(await ask(console)).toBe('SUCCESS');
  });

  it('a request is rejected with a reason, by who may approve or operate', async () => {
    const console = await start();
    await ask(console);
    const reason = 'unknown <recipient>';
    const reject = (as: Visitor, why = reason): Promise<Shown> =>
      console.send('/console/approvals/reject', { ...W1, reason: why }, as);
    for (const as of [READER, { name: 'cleo', roles: ['read'] } satisfies Visitor]) {
      expect((await reject(as)).status).toBe(403);
      expect((await console.get(PAGE, as)).text).not.toContain('/console/approvals/reject"');
    }
    const empty = await reject(BEN, ' ');
    expect([empty.status, empty.text.includes('The reason is empty')]).toEqual([422, true]);
    expect((await console.get(PAGE, BEN)).text).toContain('/console/approvals/reject"');
    expect(await reject(BEN)).toMatchObject({ status: 303, to: PAGE });
    expect((await reject(ADA)).text).toContain('is rejected, by console:ben');
    expect((await approve(console, 'ada')).text).toContain('is rejected, by console:ben');
    expect((await console.get(PAGE)).text).toContain('console:ben: unknown &lt;recipient&gt;');
    expect(await ask(console)).toBe('FAILURE');
  });

  it('shows what a transaction moves', async () => {
    const console = await start();
    const data = `0xa9059cbb${TO.slice(2).padStart(64, '0')}${2_500_000n.toString(16).padStart(64, '0')}`;
    const call = { to: TO, interactive_contract: TO, amount: '0', input_data: data };
    expect(await console.cosign('/cosigner/web3', web3({ request_id: 'x-1', ...call }))).toBe('FAILURE');
    const { text } = await console.get('/console/approvals/vault/web3%3Ax-1');
    expect(text).toContain('What it moves');
    expect(text).toMatch(/2\.5[^0-9]/);
    expect(text).toContain('transfer(address,uint256)');
  });

  it('says what is missing without passkeys, and without a deployment', async () => {
    const console = await start({ settings: { deployment: DEPLOYMENT } });
    await ask(console);
    const { text } = await console.get(PAGE);
    expect(text).not.toContain('data-sign=');
    expect(text).toContain('countersign approvals approve');
  });

  const TEST = `tests:
  - test: a small one
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
`;
  /** Policies with a test that ada has pushed, and that wait for ben; with the record and its files. */
  async function pushed() {
    const file = join(temporaryFolder(), 'signers.yaml');
    writeFileSync(file, `${peopleText(['ada'])}  ben:\n    roles: [operate]\n${passkeyOf('ben')}`);
    const signers = { file, threshold: '2' };
    const console = await start({
      policies: { ...POLICIES, 'tests/payments.test.yaml': TEST },
      settings: { deployment: DEPLOYMENT, signers, console: CONSOLE },
    });
    const run = placeIn(console.folder).runWith({ clock: systemClock });
    const push = await run('policy', 'push', '--message', 'first', '--json', '--key', keyFileOf('ada'));
    const { request } = z.object({ request: z.string() }).parse(push.json());
    const record = await console.store.approvalRequest('', request);
    const value = z.record(z.string(), z.unknown()).parse(JSON.parse(record?.value ?? ''));
    const content = z.looseObject({ files: z.string() }).parse(JSON.parse(String(value['content'])));
    const files = z.array(z.object({ name: z.string(), text: z.string() })).parse(JSON.parse(content.files));
    return { console, request, path: `/console/approvals/${request}`, record, value, content, files };
  }

  it('shows the tests that policies were pushed with, and runs their backtest', BUSY, async () => {
    const { console, path, files } = await pushed();
    const { text } = await console.get(path);
    for (const each of ['✓ 1 test passed', 'Start the backtest', 'a small one']) expect(text).toContain(each);
    expect((await console.get(path, READER)).text).not.toContain('Start the backtest');
    const form = new URLSearchParams(files.flatMap((each) => Object.entries(each)));
    expect((await console.send('/console/policies/backtest', form)).to).toBe('/console/policies/backtest');

    // Somebody puts other policies in force, so that nobody can sign these any more.
    const release = await readPolicyDirectory(join(console.folder, 'policies'));
    await pushRelease(console.store, { release, expected: '', by: 'mallory', message: 'unsigned' });
    const late = await console.get(path);
    expect(late.text).toContain('Another revision was put in force meanwhile. Push it again.');
    expect(late.text).not.toMatch(/data-sign=|Start the backtest/);
    expect((await console.get('/console/approvals')).text).toContain('don’t sign');
  });

  it('does not run the tests of other policies than those that are to be signed', BUSY, async () => {
    const { console, request, path, record, value, content, files } = await pushed();
    // Who can write to the store gives it other files, whose tests pass.
    const other = files.map((each) => ({ ...each, text: each.text.replace('max: 1000 ', 'max: 999 ') }));
    const forged = { ...value, content: JSON.stringify({ ...content, files: JSON.stringify(other) }) };
    const change = { scope: '', id: request, expected: record?.version ?? 0, isOpen: true, keepMs: 1e9 };
    await console.store.changeApprovalRequest({ ...change, value: JSON.stringify(forged) });
    const page = await console.get(path);
    expect(page.text).toContain('Its files make another revision');
    expect(page.text).not.toMatch(/test passed|Start the backtest/);
  });

  it('policies are signed by passkey, and the last signature puts them in force', async () => {
    const file = join(temporaryFolder(), 'signers.yaml');
    const text = `${peopleText(['ada'])}${passkeyOf('ada')}  ben:\n    roles: [operate]\n${passkeyOf('ben')}`;
    writeFileSync(file, text);
    const signers = { file, threshold: '2' };
    const console = await start({
      policies: POLICIES,
      settings: { deployment: DEPLOYMENT, signers, console: CONSOLE },
    });
    const run = placeIn(console.folder).runWith({ clock: systemClock });
    const push = await run('policy', 'push', '--message', 'first', '--json', '--key', keyFileOf('ada'));
    const { request, revision } = z.object({ request: z.string(), revision: z.string() }).parse(push.json());
    expect((await console.get('/console/approvals')).text).toContain(`Policies ${request}`);
    const path = `/console/approvals/${request}`;
    const page = await console.get(path);
    for (const each of [
      'ada (1 of 2)',
      'There are no tests',
      'Start the backtest',
      '+ policy payments',
      `countersign policy sign ${request} --key FILE`,
    ]) {
      expect(page.text).toContain(each);
    }
    expect((await console.get('/console/approvals')).text).toContain('>1 of 2<');
    const form = { source: '', request };
    const ben = { name: 'ben', roles: ['operate'] } satisfies Visitor;
    const sign = (by: Name, over?: Over): Promise<Shown> =>
      console.send(
        '/console/approvals/sign',
        { ...form, signature: signed(by, statementIn(page), over) },
        ben,
      );
    expect((await sign('ada')).text).toContain('has signed already');
    expect((await sign('ben', { userVerified: false })).status).toBe(422);
    expect((await console.store.control()).revision).toBe('');
    const last = await sign('ben');
    expect([last.status, last.to, last.notice]).toEqual([
      303,
      path,
      expect.stringContaining('signed by ada, ben'),
    ]);
    expect((await console.store.control()).revision).toBe(revision);
    await eventually('it approves', async () =>
      (await console.pay({ appOrderId: 'later' })) === 'SUCCESS' ? true : undefined,
    );
    expect((await console.get(path, ADA)).text).toContain('>done</span>');
  });
});

it('the inbox does not call a request forged because the store can’t be reached', async () => {
  const redis = await startRedisServer();
  onTestFinished(() => redis.stop());
  const settings = { deployment: DEPLOYMENT, store: { url: redis.url, commandTimeoutMs: 1000 } };
  const console = await startTestConsole({ policies: WITH_APPROVAL, settings });
  onTestFinished(() => console.stop());
  expect((await console.get('/console/approvals')).status).toBe(200);
  await redis.stop();
  expect((await console.get('/console/approvals')).status).toBe(503);
  expect((await console.get(PAGE)).status).toBe(503);
  expect((await console.get('/console/policies/rules')).status).toBe(200);
});
