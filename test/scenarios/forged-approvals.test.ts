import { expect, it } from 'vitest';
import { z } from 'zod';
import { placeIn } from '../cli/terminal.ts';
import { DEPLOYMENT, keyFileOf, peopleText, signedBy } from '../release/signing.ts';
import { transfer } from '../service.ts';
import { describeOnBothStores } from './on-both-stores.ts';

/*
 * Who can write to the store can withhold what people approve, and can approve nothing: whatever a request is
 * made to say, the transfer is refused, others are not, and the commands that show requests say what is wrong.
 */

const POLICIES = {
  'people.yaml': `${peopleText(['ada', 'ben'], '[operate, approve]')}groups: { treasury: [ada, ben] }\n`,
  'transfers.yaml': `policy: transfers
callback: transfer
rules:
  - any: [amount-limit: { max: 1 }, approval: { by: treasury, quorum: 2, within: 24h }]
`,
};

interface Given {
  /** The request of w-1, which nobody has signed, and that of w-2, which ada and ben have. */
  readonly one: Readonly<Record<string, unknown>> & {
    readonly statement: string;
    readonly createdAtMs: number;
  };
  readonly two: Given['one'];
}
type Forge = (given: Given) => unknown;

const both = (statement: string, deployment = DEPLOYMENT) =>
  ['ada', 'ben'].map((name) => signedBy(name, statement, deployment));
const twice = (statement: string) => {
  const once = signedBy('ada', statement);
  return [once, once];
};
/** The same signature in lines of another length. */
const rewrapped = (statement: string) => {
  const [first] = both(statement);
  const [begin = '', ...lines] = (first?.method === 'ssh' ? first.signature : '').trim().split('\n');
  const base64 = lines.slice(0, -1).join('');
  const narrow = base64.replaceAll(/.{1,40}/g, '$&\n');
  return [first, { method: 'ssh', signature: `${begin}\n${narrow}${lines.at(-1)}\n` }];
};
const dated = (one: Given['one'], at: number) =>
  one.statement.replace(/^created .*$/m, `created ${new Date(at).toISOString()}`);

const FORGED: readonly (readonly [string, Forge])[] = [
  ['signed twice by one person', ({ one }) => ({ ...one, signatures: twice(one.statement) })],
  [
    'signed twice by one person, in another form',
    ({ one }) => ({ ...one, signatures: rewrapped(one.statement) }),
  ],
  ['signed for another deployment', ({ one }) => ({ ...one, signatures: both(one.statement, 'staging') })],
  ['with the signatures of another', ({ one, two }) => ({ ...one, signatures: two['signatures'] })],
  ['with the statement of another, too', ({ two }) => two],
  ['with the terms of another', ({ one, two }) => ({ ...two, content: one['content'] })],
  ['without its last line', ({ one }) => forgedText(one, one.statement.replace(/\nexpires.*\n$/, '\n'))],
  ['with a further line', ({ one }) => forgedText(one, `${one.statement}term amount 1\n`)],
  ['with a carriage return', ({ one }) => forgedText(one, one.statement.replaceAll('\n', '\r\n'))],
  ['done, and signed by nobody', ({ one }) => ({ ...one, state: 'done' })],
  ['of another kind', ({ one }) => ({ ...one, kind: 'act', signatures: both(one.statement) })],
  ['made later than signed', ({ one }) => ({ ...signedBoth(one), createdAtMs: one.createdAtMs + 1 })],
  ['with more time than signed', ({ one }) => ({ ...signedBoth(one), expiresAtMs: one.createdAtMs + 9e9 })],
  [
    'of next year',
    ({ one }) => {
      const createdAtMs = one.createdAtMs + 3.2e10;
      return { ...forgedText(one, dated(one, createdAtMs)), createdAtMs };
    },
  ],
  [
    'of last week',
    ({ one }) => {
      const createdAtMs = one.createdAtMs - 7 * 86_400_000;
      return { ...forgedText(one, dated(one, createdAtMs)), createdAtMs };
    },
  ],
  ['rejected', ({ one }) => ({ ...signedBoth(one), state: 'rejected', endedBy: 'ben', reason: 'no' })],
  ['superseded', ({ one }) => ({ ...signedBoth(one), state: 'superseded' })],
  ['of no state', ({ one }) => ({ ...signedBoth(one), state: 'approved' })],
  ['made at no time', ({ one }) => ({ ...signedBoth(one), createdAtMs: 1e300 })],
  ['made before all times', ({ one }) => ({ ...signedBoth(one), createdAtMs: -8.7e15 })],
  ['that never expires', ({ one }) => ({ ...signedBoth(one), expiresAtMs: 8.65e15 })],
  ['between two milliseconds', ({ one }) => ({ ...signedBoth(one), createdAtMs: one.createdAtMs + 0.5 })],
  ['with more signatures than are read', ({ one }) => ({ ...one, signatures: many(101, one.statement) })],
  ['with as many signatures as are read', ({ one }) => ({ ...one, signatures: many(100, one.statement) })],
  [
    'with a signature of no form',
    ({ one }) => ({ ...one, signatures: [{ method: 'ssh', signature: '\n' }, 7] }),
  ],
  [
    'with a passkey of no form',
    ({ one }) => ({ ...one, signatures: [{ method: 'passkey', id: 'x', response: '['.repeat(16_000) }] }),
  ],
  ['that is no object', () => [1]],
  ['that is no JSON', () => undefined],
];

const forgedText = (one: Given['one'], statement: string) => ({
  ...one,
  statement,
  signatures: both(statement),
});
const signedBoth = (one: Given['one']) => ({ ...one, signatures: both(one.statement) });
const many = (count: number, statement: string) =>
  Array.from({ length: count }, () => signedBy('mallory', statement));

const shape = z.looseObject({ statement: z.string(), createdAtMs: z.number() });

describeOnBothStores('a forged request approves nothing', (host) => {
  it.each(FORGED)('%s', async (_, forge) => {
    const service = await host.start({ policies: POLICIES, settings: { deployment: DEPLOYMENT } });
    const { run } = placeIn(service.folder);
    const ask = (id: string, amount = '5') =>
      service.cosign('/cosigner/withdraw', transfer({ request_id: id, amount }));
    const requestOf = async (id: string) => {
      expect(await ask(id)).toBe('FAILURE');
      const record = await service.store.approvalRequest('vault', `transfer:${id}`);
      return shape.parse(JSON.parse(record?.value ?? ''));
    };
    const write = (id: string, expected: number, request: unknown) =>
      service.store.changeApprovalRequest({
        scope: 'vault',
        id: `transfer:${id}`,
        expected,
        value: request === undefined ? '{' : JSON.stringify(request),
        isOpen: true,
        keepMs: 86_400_000,
      });
    const [one, two] = [await requestOf('w-1'), signedBoth(await requestOf('w-2'))];
    await write('w-2', 1, two);
    await write('w-1', 1, forge({ one, two }));
    expect(await ask('w-1')).toBe('FAILURE');
    expect(await ask('w-1')).toBe('FAILURE');
    const [entry] = await service.store.entries({
      source: 'vault',
      subject: 'transfer:w-1',
      newestFirst: true,
      limit: 1,
    });
    expect(entry?.verdict).toBe('FAILURE');
    // It stops nothing else.
    expect(await ask('w-2')).toBe('SUCCESS');
    expect(await ask('small', '1')).toBe('SUCCESS');
    for (const words of [['list'], ['show', 'transfer:w-1', '--source', 'vault']]) {
      const { code, err } = await run('approvals', ...words);
      expect(code === 0 ? '' : err).toMatch(/^$|can't be read/);
    }
  });

  it('nor shows a person another statement than the one to sign', async () => {
    const service = await host.start({ policies: POLICIES, settings: { deployment: DEPLOYMENT } });
    expect(await service.cosign('/cosigner/withdraw', transfer({ request_id: 'w-1', amount: '5' }))).toBe(
      'FAILURE',
    );
    const record = await service.store.approvalRequest('vault', 'transfer:w-1');
    const one = shape.parse(JSON.parse(record?.value ?? ''));
    const fake = `treasury\n\n${one.statement.replace('amount 5', 'amount 1')}`;
    const content = z
      .looseObject({ needs: z.array(z.looseObject({})) })
      .parse(JSON.parse(String(one['content'])));
    const needs = content.needs.map((need) => ({ ...need, group: fake }));
    await service.store.changeApprovalRequest({
      scope: 'vault',
      id: 'transfer:w-1',
      expected: 1,
      value: JSON.stringify({ ...one, message: fake, content: JSON.stringify({ ...content, needs }) }),
      isOpen: true,
      keepMs: 86_400_000,
    });
    const { run } = placeIn(service.folder);
    const words = ['transfer:w-1', '--source', 'vault'];
    const shown = await run('approvals', 'show', ...words);
    const approving = await run('approvals', 'approve', ...words, '--key', keyFileOf('ada'));
    for (const text of [shown.out, approving.err]) {
      expect(text.match(/^term amount .*$/gm)).toEqual(['term amount 5']);
    }
  });

  it('unless it says what people have signed', async () => {
    const service = await host.start({ policies: POLICIES, settings: { deployment: DEPLOYMENT } });
    const ask = () => service.cosign('/cosigner/withdraw', transfer({ request_id: 'w-1', amount: '5' }));
    expect(await ask()).toBe('FAILURE');
    const record = await service.store.approvalRequest('vault', 'transfer:w-1');
    const signed = signedBoth(shape.parse(JSON.parse(record?.value ?? '')));
    const change = { scope: 'vault', id: 'transfer:w-1', expected: 1, isOpen: true, keepMs: 86_400_000 };
    await service.store.changeApprovalRequest({ ...change, value: JSON.stringify(signed) });
    expect(await ask()).toBe('SUCCESS');
  });
});
