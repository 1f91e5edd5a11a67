import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { variedPayment } from '../../../src/cli/send.ts';
import { parseAmount } from '../../../src/values/amount.ts';
import { type TestService, startTestService } from '../../service.ts';
import { placeIn } from '../terminal.ts';

describe('send payment --count', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.stop());

  it('sends so many different payments, of which some are above the limit', async () => {
    const { run } = placeIn(service.folder);
    const many = ['send', 'payment', '--to', service.url, '--count', '60', '--amount', '1500'];
    const ran = await run(...many, '--json');
    expect(ran.code).toBe(0);
    const { sent, answers } = ran.json() as { sent: number; answers: Record<string, number> };
    expect(sent).toBe(60);
    expect(answers['SUCCESS'] ?? 0).toBeGreaterThan(10);
    expect(answers['FAILURE'] ?? 0).toBeGreaterThan(5);
    expect((answers['SUCCESS'] ?? 0) + (answers['FAILURE'] ?? 0)).toBe(60);
    const decided = await service.store.entries({ source: 'shop', limit: 1000 });
    expect(new Set(decided.map(({ subject }) => subject)).size).toBe(60);
  });

  it('varies the amount exactly, from 0.01 up to what was asked for, and the same each time', () => {
    const amounts = Array.from({ length: 2000 }, (_, at) =>
      variedPayment({ user: '7', amount: '12.345' }, at),
    );
    expect(new Set(amounts.map(({ amount }) => amount)).size).toBe(1234);
    expect(new Set(amounts.map(({ user }) => user)).size).toBe(250);
    for (const { amount } of amounts) {
      expect(amount).toMatch(/^\d+(\.\d{1,2})?$/);
      expect(parseAmount(amount) ?? 0n).toBeGreaterThan(0n);
      expect(parseAmount(amount) ?? 0n).toBeLessThanOrEqual(parseAmount('12.34') ?? 0n);
    }
    expect(variedPayment({ user: '7', amount: '12.345' }, 5)).toEqual(amounts[5]);
  });
});
