import { expect, it } from 'vitest';
import { describeOnBothStores } from '../../scenarios/on-both-stores.ts';
import { placeIn } from '../terminal.ts';

const lockOut = (name: string, per = '[userId]'): string => `policy: ${name}
callback: payment
rules:
  - amount-limit: { max: 100 }
  - lock-out: { per: ${per}, after: 2, within: 1h, for: until-lifted }
`;
const counted = (max: number, name = 'payments'): string => `policy: ${name}
callback: payment
when: { symbol: USDT1742 }
rules:
  - window-limit: { window: 24h, max: ${max} }
  - distinct-limit: { of: userId, only: new, window: 24h, max: 5 }
`;

describeOnBothStores('what a push leaves behind in the store', (host) => {
  const running = async (text: string) => {
    const service = await host.start({ policies: { 'a.yaml': text } });
    const { run, write } = placeIn(service.folder);
    const put = (next: string): void => void write('policies/a.yaml', next);
    const push = async (next: string, ...options: readonly string[]) => {
      put(next);
      return run`policy push --skip-tests ${options}`;
    };
    const revision = ((await run`policy show --json`).json() as { revision: string }).revision;
    return { service, run, put, push, revision };
  };

  it.each([
    ['under another name', lockOut('renamed')],
    ['by other members', lockOut('payments', '[userId, symbol]')],
  ])('a rule that locked somebody out, %s, is looser, and says how many pass', async (_, next) => {
    const { service, run, push, revision } = await running(lockOut('payments'));
    for (const appOrderId of ['a', 'b']) await service.pay({ appOrderId, orderAmount: '101' });
    expect(await service.pay({ appOrderId: 'c', orderAmount: '1' })).toBe('FAILURE');
    const said = '! 1 lock-out in the store will no longer hold: who was locked out may pass (looser)';
    const refused = await push(next);
    expect(refused.code).toBe(2);
    expect(refused.err).toContain(said);
    expect(refused.err).toContain('1 lock-out');
    const diff = await run`policy diff`;
    expect(diff.out).toContain(said);
    expect(diff.out).toContain('leaves behind its lock-outs, and begins a new count of refusals');
    expect(diff.out).not.toContain("up to ''");
    const pushed = await run`policy push --skip-tests --message x --json`;
    expect(pushed.json()).toMatchObject({
      diff: { lockouts: { left: 1, back: 0 }, loosens: expect.arrayContaining(['1 lock-out']) as unknown },
    });
    expect((await run`lockout list`).out).toContain('no rule in force looks at it, so it refuses nothing');
    expect(await service.pay({ appOrderId: 'd', orderAmount: '1' })).toBe('SUCCESS');
    const back = await run`policy rollback ${revision} --message back`;
    expect(back.out).toContain('! 1 lock-out in the store will hold again (stricter)');
    expect((await run`lockout list`).out).not.toContain('no rule in force');
    expect(await service.pay({ appOrderId: 'e', orderAmount: '1' })).toBe('FAILURE');
  });

  it('a lock-out that goes on to hold is not reported', async () => {
    const { service, run, push } = await running(lockOut('payments'));
    for (const appOrderId of ['a', 'b']) await service.pay({ appOrderId, orderAmount: '101' });
    const pushed = await push(lockOut('payments').replace('after: 2', 'after: 3'), '--message', 'x');
    expect(pushed.out).not.toContain('lock-out in the store');
    expect((await run`lockout list`).out).not.toContain('no rule in force');
  });

  it('a rollback to a count that the store still has says that it goes on', async () => {
    const { service, run, push, revision } = await running(counted(3000));
    expect(await service.pay({ appOrderId: 'a', orderAmount: '2997' })).toBe('SUCCESS');
    const renamed = await push(counted(3000, 'others'), '--message', 'x');
    expect(renamed.out).toContain('begins a new count: up to 3000 more may pass in the first 24h');
    expect(renamed.out).toContain('leaves behind the values that it knew: each is new again');
    const back = await run`policy rollback ${revision} --message back`;
    expect(back.out).toContain(
      `goes on with the count of revision ${revision.slice(0, 12)}, in force until 20`,
    );
    expect(back.out).not.toContain('begins a new count: up to 3000');
    expect(await service.pay({ appOrderId: 'b', orderAmount: '4' })).toBe('FAILURE');
  });
});
