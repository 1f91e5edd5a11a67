import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { approvalOf, askPeople, askedIn } from '../../src/approvals/callbacks.ts';
import { type ApprovalRequest, createRequests } from '../../src/approvals/requests.ts';
import { readPeople } from '../../src/policy/compile.ts';
import { NO_PEOPLE, type People } from '../../src/policy/people.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { Store } from '../../src/store/store.ts';
import { transfer } from '../policy/callbacks.ts';
import { DEPLOYMENT, peopleText, signedBy } from '../release/signing.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const NOW = Date.UTC(2026, 2, 2);
const HOUR_MS = 3_600_000;
const ID = 'transfer:r-1';
const NEEDS = [{ policy: 'p', rule: 'approval#1', group: 'treasury', quorum: 2, withinMs: HOUR_MS }];
const BODY = JSON.stringify({
  type: 'sign_start',
  transfer_id: 7,
  request_id: 'r-1',
  pending_round: false,
  from: '0xde709f2102306220921060314715629080e2fb77',
  to: '0x52908400098527886E0F7030069857D2E4169EE7',
  amount: '1.5',
  symbol: 'ETH',
});

function people(...names: readonly string[]): People {
  const read = readPeople(peopleText(names, '[approve]'));
  return read.ok ? read.people : NO_PEOPLE;
}

async function asked() {
  let nowMs = NOW;
  const clock = (): number => nowMs;
  const store: Store = await openEmbeddedStore({ path: join(temporaryFolder(), 'store.db'), clock });
  onTestFinished(() => store.close());
  const parts = { store, clock, scope: { deployment: DEPLOYMENT } };
  const callback = transfer();
  await askPeople(parts, { callback, body: BODY, needs: NEEDS, because: 'too much' });
  const requests = createRequests(store, clock, 'vault');
  const { statement } = await requests.find(ID);
  /** Changes the request as somebody would who can write to the store. */
  const forge = (change: Partial<ApprovalRequest>) => requests.change(ID, () => change);
  return {
    store,
    parts,
    callback,
    requests,
    statement,
    forge,
    sign: (...names: readonly string[]) =>
      forge({ signatures: names.map((name) => signedBy(name, statement)) }),
    at: (ms: number) => (nowMs = ms),
    said: (by = people('ada', 'ben')) => approvalOf(parts, { callback, scheme: undefined }, by),
  };
}

describe('what people have said about a callback', () => {
  it('is who of them has signed its terms', async () => {
    const { sign, said } = await asked();
    expect(await said()).toMatchObject({ id: ID, version: 1, approvers: [], because: '' });
    await sign('ada', 'ben', 'mallory', 'ada');
    expect(await said()).toEqual({
      id: ID,
      version: 2,
      approvers: ['ada', 'ben'],
      createdAtMs: NOW,
      expiresAtMs: NOW + HOUR_MS,
      because: '',
    });
    expect((await said(people('ben')))?.approvers).toEqual(['ben']);
    expect((await said(NO_PEOPLE))?.approvers).toEqual([]);
  });

  it.each([
    ['other terms', { amount: '15' }],
    ['another recipient', { to: '0x8617E340B3D01FA5F11F306F4090FD50E238070D' }],
    ['a memo', { memo: 'x' }],
    ['another transfer_id', { transfer_id: 8 }],
  ])('is nothing for %s', async (_, members) => {
    const { sign, parts } = await asked();
    await sign('ada', 'ben');
    const other = transfer(members);
    expect(
      await approvalOf(parts, { callback: other, scheme: undefined }, people('ada', 'ben')),
    ).toMatchObject({
      approvers: [],
      because: 'the request is about other terms',
    });
  });

  it('is nothing for another subject, source or deployment', async () => {
    const { sign, parts, callback } = await asked();
    await sign('ada', 'ben');
    const by = people('ada', 'ben');
    expect(
      await approvalOf(parts, { callback: transfer({ request_id: 'r-2' }), scheme: undefined }, by),
    ).toBeUndefined();
    expect(
      await approvalOf(parts, { callback: transfer({}, 'shop'), scheme: undefined }, by),
    ).toBeUndefined();
    const scope = { deployment: 'acme-prod' };
    expect(await approvalOf({ ...parts, scope }, { callback, scheme: undefined }, by)).toMatchObject({
      approvers: [],
    });
    expect(
      await approvalOf({ ...parts, scope: undefined }, { callback, scheme: undefined }, by),
    ).toMatchObject({
      approvers: [],
      because: expect.stringContaining('no deployment'),
    });
  });

  it('does not count who made the request, nor who may not approve', async () => {
    const { sign, forge, said } = await asked();
    await sign('ada', 'ben');
    await forge({ by: 'ada' });
    expect((await said())?.approvers).toEqual(['ben']);
    const operators = readPeople(peopleText(['ada', 'ben'], '[operate]'));
    expect((await said(operators.ok ? operators.people : NO_PEOPLE))?.approvers).toEqual([]);
  });

  it.each<[string, Partial<ApprovalRequest>]>([
    ['a later expiry', { expiresAtMs: NOW + 9 * HOUR_MS }],
    ['another statement', { statement: 'countersign-approval/1\n' }],
    ['an earlier creation', { createdAtMs: NOW - 1 }],
  ])('is nothing after somebody has written %s to the store', async (_, change) => {
    const { sign, forge, said } = await asked();
    await sign('ada', 'ben');
    await forge(change);
    expect(await said()).toMatchObject({ approvers: [], because: 'the request is about other terms' });
  });

  it('is nothing once it has expired or was rejected', async () => {
    const { sign, said, at, forge } = await asked();
    await sign('ada', 'ben');
    at(NOW + HOUR_MS);
    expect(await said()).toMatchObject({ approvers: [], because: 'the request is expired' });
    at(NOW + HOUR_MS - 1);
    expect(await said()).toMatchObject({ approvers: ['ada', 'ben'] });
    await forge({ state: 'rejected', endedBy: 'cleo', reason: 'unknown' });
    expect(await said()).toMatchObject({ approvers: [], because: 'cleo has rejected it: unknown' });
  });
});

describe('people are asked about a callback', () => {
  it('once, and again only after the request has expired', async () => {
    const { parts, callback, requests, sign, at } = await asked();
    const again = () => askPeople(parts, { callback, body: BODY, needs: NEEDS, because: 'too much' });
    await sign('ada');
    expect(await again()).toBe(false);
    expect((await requests.find(ID)).signatures).toHaveLength(1);
    at(NOW + HOUR_MS);
    expect(await again()).toBe(true);
    expect(await requests.find(ID)).toMatchObject({ signatures: [], expiresAtMs: NOW + 2 * HOUR_MS });
    await requests.change(ID, () => ({ state: 'rejected', endedBy: 'ada', reason: 'no' }));
    expect(await again()).toBe(false);
    at(NOW + 9 * HOUR_MS);
    expect(await again()).toBe(false);
  });

  it('shows them the callback only if the text to sign is made from it', async () => {
    const { requests, forge } = await asked();
    const of = { source: 'vault', deployment: DEPLOYMENT };
    const request = await requests.find(ID);
    expect(askedIn(request, of)).toMatchObject({ callback: { id: 'r-1', texts: { amount: '1.5' } } });
    const content = (body: string): string => JSON.stringify({ ...JSON.parse(request.content), body });
    for (const body of [BODY.replace('1.5', '15'), BODY.replace('r-1', 'r-2'), '{}', 'x']) {
      const forged = await forge({ content: content(body) });
      expect(() => askedIn(forged, of)).toThrow(/request transfer:r-1/);
    }
    expect(() => askedIn(request, { ...of, deployment: 'acme-prod' })).toThrow('not about its callback');
  });
});
