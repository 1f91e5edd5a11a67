import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { placeIn, prints } from '../cli/terminal.ts';
import {
  APP_KEY,
  type Received,
  SECRET,
  confirmation,
  envelope,
  keys,
  startPlatform,
} from '../../packages/platform/test/plain-platform.ts';
import { DEPLOYMENT, keyFileOf, peopleText } from '../release/signing.ts';
import { PAYMENT_PATH, type TestService, startTestService } from '../service.ts';

const POLICY = `policy: payments
callback: payment
rules:
  - amount-limit: { max: 1000 }
  - expected-order: {}
`;

type Scheme = Received['scheme'];

/** A receiver, and a platform that debits only if the receiver confirms the payment. */
async function start(
  confirmedBy: (requested: Scheme) => Scheme = (requested) => requested,
  { fails = false, settings = {} }: { readonly fails?: boolean; readonly settings?: object } = {},
) {
  const answers: string[] = [];
  let service: TestService | undefined;
  const platform = await startPlatform({
    async whole({ parameters, scheme }) {
      const body = confirmation(confirmedBy(scheme), parameters, Date.now());
      const answer = (await service?.post(PAYMENT_PATH, body))?.body ?? '';
      answers.push(answer);
      return answer === 'SUCCESS' && !fails
        ? envelope(scheme, 'null')
        : '{"code":"10015","msg":"not confirmed"}';
    },
  });
  const folder = mkdtempSync(join(tmpdir(), 'countersign-platform-'));
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 });
  write('own.secret', SECRET);
  write('own.pem', keys().merchant.privateText);
  write('theirs.pub', keys().platform.publicText);
  const platformKey = { file: 'theirs.pub' };
  const signatures = [
    { scheme: 'md5', secret: { file: 'own.secret' } },
    { scheme: 'rsa-envelope', platformKey, merchantKey: { file: 'own.pem' } },
  ];
  service = await startTestService({
    folder,
    policies: { 'payments.yaml': POLICY, 'people.yaml': peopleText(['ada', 'ben']) },
    settings: {
      ...settings,
      platform: { url: platform.url },
      sources: [{ name: 'shop', callback: 'payment', appKey: APP_KEY, signatures }],
    },
  });
  onTestFinished(() => service?.stop());
  const { runWith } = placeIn(folder);
  const run = runWith({ clock: () => Date.now() });
  const pay = (scheme: Scheme, amount: string, id = 'A-1') =>
    run(
      ...`platform pay --user-id 12345 --app-order-id ${id} --order-amount ${amount}`.split(' '),
      ...`--pay-coin-symbol USDT1742 --scheme ${scheme}`.split(' '),
    );
  const stateOf = async (id: string): Promise<unknown> =>
    (await run('orders', 'show', 'payment', id, '--json')).json();
  return { answers, pay, run, stateOf };
}

it.each(['md5', 'rsa-envelope'] as const)(
  'a payment with %s is confirmed as it was announced',
  async (scheme) => {
    const { answers, pay, stateOf } = await start();
    const ran = await pay(scheme, '100.50');
    expect(ran).toMatchObject({ code: 0, out: 'Paid: 100.50 USDT1742 by 12345, order A-1.\n' });
    expect(answers).toEqual(['SUCCESS']);
    expect(await stateOf('A-1')).toMatchObject({ state: 'used', members: { amount: '100.5', scheme } });
  },
);

it.each(['md5', 'rsa-envelope'] as const)(
  'a payment with %s over the limit is refused, and its order cancelled',
  async (scheme) => {
    const { answers, pay, stateOf } = await start();
    const ran = await pay(scheme, '1000.01');
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(ran.err).toContain('PLATFORM_REFUSED: payments.create (4.2): the platform answers 10015');
    expect(answers).toEqual(['FAILURE']);
    expect(await stateOf('A-1')).toMatchObject({ state: 'cancelled' });
  },
);

it('a confirmation with another scheme than that of the request is refused', async () => {
  const { answers, pay } = await start((requested) => (requested === 'md5' ? 'rsa-envelope' : 'md5'));
  expect((await pay('md5', '100', 'A-1')).code).toBe(1);
  expect((await pay('rsa-envelope', '100', 'A-2')).code).toBe(1);
  expect(answers).toEqual(['FAILURE', 'FAILURE']);
});

it('a payment that needs two people is not sent before both have signed', async () => {
  const settings = { deployment: DEPLOYMENT, fourEyes: ['orders'] };
  const { answers, pay, run, stateOf } = await start(undefined, { settings });
  const asked = await pay('md5', '100.50');
  expect(asked).toMatchObject(prints(1, 'Nothing has changed yet: it is done once two people sign'));
  expect(answers).toEqual([]);
  const [, request = ''] = /request (r\w+)/.exec(asked.out) ?? [];
  for (const name of ['ada', 'ben']) {
    expect((await pay('md5', '100.50')).code).toBe(1);
    await run('approvals', 'approve', request, '--key', keyFileOf(name));
  }
  expect(await stateOf('A-1')).toMatchObject({ state: 'expected', members: { amount: '100.5' } });
  expect(answers).toEqual([]);
  expect(await pay('md5', '100.51')).toMatchObject({
    code: 1,
    err: expect.stringContaining('ORDER_CONFLICT'),
  });
  expect(await pay('md5', '100.50')).toMatchObject({
    code: 0,
    out: 'Paid: 100.50 USDT1742 by 12345, order A-1.\n',
  });
  expect(answers).toEqual(['SUCCESS']);
});

it('a payment that was made once can’t be made again', async () => {
  const { answers, pay } = await start();
  expect((await pay('md5', '100')).code).toBe(0);
  const again = await pay('md5', '100');
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining('ORDER_CONFLICT') as string });
  expect(answers).toEqual(['SUCCESS']);
});

it('an order that was confirmed, and then refused by the platform, is looked up and not called cancelled', async () => {
  const { answers, pay, stateOf } = await start(undefined, { fails: true });
  const ran = await pay('md5', '100');
  expect(answers[0]).toBe('SUCCESS');
  expect(ran.code).toBe(1);
  expect(ran.err).toContain('The order was confirmed with SUCCESS before, so it may be debited.');
  expect(ran.err).toContain('`countersign decisions release payment A-1 --source shop` gives back');
  expect(ran.err).not.toContain('is cancelled');
  expect(await stateOf('A-1')).toMatchObject({ state: 'used' });
});
