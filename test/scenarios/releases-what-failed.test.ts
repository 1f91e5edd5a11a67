import { expect, it } from 'vitest';
import { placeIn } from '../cli/terminal.ts';
import { TO, transfer } from '../service.ts';
import { describeOnBothStores } from './on-both-stores.ts';
import { ASSETS } from '../assets.ts';

const TOKEN = 'ops-token-of-the-tests';
const POLICIES = {
  'assets.yaml': ASSETS,
  'payments.yaml': `policy: payments
callback: payment
when: { symbol: USDT1742 }
rules:
  - window-limit: { per: [userId], window: 24h, max: 100 }
  - window-limit: { per: [userId], window: month, max: 1000 }
  - velocity-limit: { per: [userId], window: 1h, max: 10 }
---
policy: withdrawals
callback: transfer
rules:
  - window-limit: { per: [to, symbol], window: 24h, max: 2 }
`,
};
const START = { policies: POLICIES, env: { OPS_TOKEN: TOKEN } };
const OPS = { port: '0', token: { env: 'OPS_TOKEN' } };

async function release(ops: string, body: object): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${ops}/api/releases`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ source: 'shop', kind: 'payment', message: 'never debited', ...body }),
  });
  return { status: response.status, body: await response.json() };
}

describeOnBothStores('an approved operation that failed is released', (host) => {
  it('over the API: its limits have room again, and it is refused from then on', async () => {
    const service = await host.start({ ...START, settings: { ops: { ...OPS, releases: 'true' } } });
    expect(await service.pay({ appOrderId: '1', orderAmount: '70' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: '2', orderAmount: '40' })).toBe('FAILURE');
    expect(await release(service.ops, { id: '1', members: { amount: '7' } })).toMatchObject({
      status: 409,
      body: { error: { code: 'RELEASE_REFUSED' } },
    });
    const first = await release(service.ops, { id: '1', members: { userId: '12345', amount: '70' } });
    expect(first).toMatchObject({
      status: 201,
      body: {
        outcome: 'released',
        release: {
          subject: 'payment:1',
          by: 'api',
          message: 'never debited',
          amounts: [
            { policy: 'payments', rule: 'window-limit#1', amount: '70' },
            { policy: 'payments', rule: 'window-limit#2', amount: '70' },
            { policy: 'payments', rule: 'velocity-limit#3', amount: '1' },
          ],
          kept: [],
        },
      },
    });
    const { release: released } = first.body as { release: object };
    expect(await release(service.ops, { id: '1', message: 'once more' })).toEqual({
      status: 200,
      body: { outcome: 'before', release: released },
    });
    expect(await service.pay({ appOrderId: '1', orderAmount: '70' })).toBe('FAILURE');
    expect(await service.pay({ appOrderId: '2', orderAmount: '40' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: '3', orderAmount: '60' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: '4', orderAmount: '1' })).toBe('FAILURE');
    const codes = service.log.flatMap(({ event, code }) => (event === 'callback' ? [code] : []));
    expect(codes).toContain('RELEASED');
  });

  it('is off over the API unless the settings say so', async () => {
    const service = await host.start({ ...START, settings: { ops: OPS } });
    expect(await service.pay({ appOrderId: '1', orderAmount: '70' })).toBe('SUCCESS');
    expect(await release(service.ops, { id: '1' })).toMatchObject({
      status: 403,
      body: { error: { code: 'API_OFF', message: expect.stringContaining('ops.releases') as string } },
    });
    expect(await service.pay({ appOrderId: '1', orderAmount: '70' })).toBe('SUCCESS');
  });

  it('by a command, which says what was given back; other commands explain it', async () => {
    const service = await host.start(START);
    expect(await service.pay({ appOrderId: '1', orderAmount: '70' })).toBe('SUCCESS');
    const at = placeIn(service.folder);
    const named = ['decisions', 'release', 'payment', '1', '--by', 'ada'];
    expect(await at.run(...named)).toMatchObject({ code: 2 });
    const other = await at.run(...named, '--amount', '7', '--message', 'x');
    expect(other.code).toBe(1);
    expect(other.err).toContain('amount "7" was stated, and 70 was approved');
    const done = await at.run(...named, '--user', '12345', '--amount', '70.0', '--message', 'never debited');
    expect(done).toMatchObject({ code: 0 });
    expect(done.out).toMatch(/^Released payment:1 of shop, as entry shop\/\S+\. Callbacks about it/);
    expect(done.out).toMatch(/^ {2}70 +payments\/window-limit#1 +would have counted until 2/m);
    const again = await at.run(...named, '--message', 'again');
    expect(again.out).toMatch(
      /^payment:1 of shop was released before, at 2\S+ by ada as .*: never debited\./,
    );
    expect(await service.pay({ appOrderId: '1', orderAmount: '70' })).toBe('FAILURE');

    const found = await at.run('decisions', 'search', '--order', '1', '--json');
    const [approved, released, refused] = found.json() as { id: string; of: string; type: string }[];
    expect(released).toMatchObject({ type: 'release', code: 'RELEASED', of: approved?.id });
    expect(refused).toMatchObject({ type: 'decision', code: 'RELEASED', of: released?.id });
    const shown = await at.run('decisions', 'show', released?.id ?? '');
    expect(shown.out).toContain(
      'because released by ada: never debited; given back: 70 in payments/window-limit#1, ' +
        '70 in payments/window-limit#2, 1 in payments/velocity-limit#3',
    );
    expect(shown.out).toContain(`The approval, ${approved?.id}:`);
    const explained = await at.run('decisions', 'explain', refused?.id ?? '');
    expect(explained.out).toContain('because its approval was released');
    expect(explained.out).toContain('without the release, the verdict would have depended on 3 rules');
    expect(explained.out).toContain(`The release, ${released?.id}:`);
    const unknown = await at.run('decisions', 'release', 'payment', '9', '--message', 'x');
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain('nothing was decided about payment:9 of shop');
  });

  it('a withdrawal as well, until it is signed; a signature after that is an alarm', async () => {
    const service = await host.start({ ...START, settings: { ops: { ...OPS, releases: 'true' } } });
    const sign = (id: string, more: object = {}): Promise<string> =>
      service.cosign('/cosigner/withdraw', transfer({ request_id: id, to: TO, amount: '1.5', ...more }));
    const vault = { source: 'vault', kind: 'transfer' };
    expect(await sign('w-1', { type: 'sign_prepare' })).toBe('SUCCESS');
    expect(await sign('w-1')).toBe('SUCCESS');
    expect(await sign('w-2')).toBe('FAILURE');
    const { status, body } = await release(service.ops, { ...vault, id: 'w-1' });
    expect(status).toBe(201);
    expect(body).toMatchObject({ release: { amounts: [{ amount: '1.5' }] } });
    expect(await sign('w-1')).toBe('FAILURE');
    expect(await sign('w-2')).toBe('SUCCESS');
    expect(await sign('w-2', { type: 'sign_success', txid: '0xa' })).toBe('SUCCESS');
    expect((await release(service.ops, { ...vault, id: 'w-2' })).status).toBe(409);
    expect(await sign('w-1', { type: 'sign_success', txid: '0xb' })).toBe('FAILURE');
    const alarms = service.log.filter(({ event }) => event === 'alarm');
    expect(alarms).toMatchObject([{ code: 'SIGNED_AFTER_RELEASE', subject: 'transfer:w-1' }]);
  });
});
