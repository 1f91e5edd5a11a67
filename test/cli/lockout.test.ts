import { expect, it } from 'vitest';
import { describeOnBothStores } from '../scenarios/on-both-stores.ts';
import { placeIn } from './terminal.ts';

const POLICIES = {
  'payments.yaml': `policy: payments
callback: payment
rules:
  - amount-limit: { max: 100 }
  - lock-out: { per: [userId], after: 2, within: 1h, for: until-lifted }
`,
};

interface Shown {
  readonly id: string;
  readonly source: string;
}

describeOnBothStores('lockout list and lift', (host) => {
  const locked = async () => {
    const service = await host.start({ policies: POLICIES });
    for (const appOrderId of ['a', 'b']) await service.pay({ appOrderId, orderAmount: '101' });
    const { run } = placeIn(service.folder);
    const [only] = (await run`lockout list --json`).json() as readonly Shown[];
    return { service, run, id: only?.id ?? '' };
  };

  it('the list shows who is locked out, and the refusal names the command that lifts it', async () => {
    const { service, run, id } = await locked();
    const listed = await run`lockout list --source shop`;
    expect(listed.out).toMatch(
      /^shop {2}[0-9a-f]{32} {2}userId 12345: since .*, after 2 refusals, until it is lifted \(policy payments\)\n$/,
    );
    expect(await service.pay({ appOrderId: 'c', orderAmount: '1' })).toBe('FAILURE');
    const [refusal] = await service.store.entries({ source: 'shop', subject: 'payment:c', limit: 1 });
    const explained = await run('decisions', 'explain', `shop/${refusal?.id}`);
    expect(explained.out).toContain('payments/lock-out#2 refuses: userId 12345 is locked out since');
    expect(explained.out).toContain(`countersign lockout lift ${id}`);
  });

  it('a lift lets the next payment pass, and the journal says who lifted and why', async () => {
    const { service, run, id } = await locked();
    expect(await run`lockout lift ${id} --source vault --message x`).toMatchObject({ code: 1 });
    const lifted = await run`lockout lift ${id} --message ${'called the user'} --by bob`;
    expect(lifted).toMatchObject({ code: 0 });
    expect(lifted.out).toMatch(/^Lifted in shop: userId 12345: since /);
    expect(await service.pay({ appOrderId: 'c', orderAmount: '1' })).toBe('SUCCESS');
    expect(await run`lockout list`).toMatchObject({ out: 'Nobody is locked out.\n' });
    const found = await run`decisions search --type lockout --since 1d`;
    expect(found.out).toContain('bob lifted the lock-out of userId 12345: called the user');
  });
});
