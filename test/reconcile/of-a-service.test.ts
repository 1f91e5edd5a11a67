import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { placeIn } from '../cli/terminal.ts';
import { startTestService, transfer, web3 } from '../service.ts';
import { DAY, MIDNIGHT_MS, NOON_MS, billed, jsonBill, reportOf } from './world.ts';

it('what a service decided is reconciled: each scheme, withdrawals, web3 and a repeat', async () => {
  let nowMs = NOON_MS;
  const service = await startTestService({ clock: () => nowMs });
  onTestFinished(() => service.stop());
  const pay = (appOrderId: string, orderAmount: string, scheme: 'md5' | 'rsa' | 'rsa-envelope') =>
    service.pay({ appOrderId, orderAmount }, scheme);
  expect(await pay('a', '100.10', 'md5')).toBe('SUCCESS');
  expect(await pay('b', '200', 'rsa')).toBe('SUCCESS');
  expect(await pay('c', '300.000000000000000001', 'rsa-envelope')).toBe('SUCCESS');
  expect(await pay('a', '100.10', 'md5')).toBe('SUCCESS');
  expect(await pay('over', '1000.1', 'md5')).toBe('FAILURE');
  nowMs += 1000;
  expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('SUCCESS');
  expect(await service.cosign('/cosigner/web3', web3())).toBe('SUCCESS');
  nowMs += 1000;
  await service.cosign('/cosigner/withdraw', transfer({ type: 'sign_success', txid: '0xaa' }));
  await service.cosign('/cosigner/web3', web3({ type: 'sign_success', txid: '0xbb' }));
  const { folder, runWith, write } = placeIn(service.folder);
  const directory = join(folder, 'runs');
  mkdirSync(directory);
  const run = (...rows: readonly Parameters<typeof billed>[0][]) => {
    const bill = write('bill.jsonl', jsonBill(rows.map((row) => billed(row))));
    const later = runWith({ clock: () => MIDNIGHT_MS + 30 * 3_600_000 });
    return later('reconcile', '--day', DAY, '--bill', bill, '--directory', directory, '--json');
  };
  const [a, b, c] = [
    { id: 'a', amount: '100.1' },
    { id: 'b', amount: '200.0' },
    { id: 'c', amount: '300.000000000000000001' },
  ];
  const ran = await run(a, b, c);
  expect([ran.code, reportOf(ran).classes]).toEqual([0, { matched: 5 }]);
  expect(reportOf(ran).coins).toEqual([
    expect.objectContaining({ flow: 'payment', approved: { count: 3, amount: '600.100000000000000001' } }),
    expect.objectContaining({ flow: 'transfer', approved: { count: 1, amount: '1.5' } }),
    expect.objectContaining({ flow: 'web3', approved: { count: 1, amount: '0' } }),
  ]);
  const over = await run(a, b, c, { id: 'over', amount: '1000.1' });
  expect(reportOf(over).exceptions).toMatchObject([
    {
      class: 'billed-never-approved',
      id: 'over',
      note: expect.stringMatching(/^RULE_REFUSED at .*entry shop\//),
    },
  ]);
});
