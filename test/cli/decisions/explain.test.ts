import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestService, startTestService, transfer } from '../../service.ts';
import { type Place, placeIn } from '../terminal.ts';
import { thaw } from '../../store/requests.ts';

/** Two limits and a window, so that one payment can be refused by all three. */
const POLICY = `policy: payments
callback: payment
when: { symbol: USDT1742 }
rules:
  - amount-limit: { max: 1000 }
  - window-limit: { per: [userId], window: 24h, max: 2000 }
  - amount-limit: { max: 5000 }
  - amount-limit: { max: 10 }
    mode: observe
`;

let service: TestService;
let at: Place;

beforeAll(async () => {
  service = await startTestService({ policies: { 'payments.yaml': POLICY } });
  at = placeIn(service.folder);
});

afterAll(() => service.stop());

/** The name of the newest entry about a payment. */
async function idOf(appOrderId: string): Promise<string> {
  const query = { source: 'shop', subject: `payment:${appOrderId}`, newestFirst: true, limit: 1 };
  const [entry] = await service.store.entries(query);
  return `shop/${entry?.id}`;
}

async function explained(appOrderId: string): Promise<readonly string[]> {
  const { code, out } = await at.run`decisions explain ${await idOf(appOrderId)}`;
  expect(code).toBe(0);
  return out.trimEnd().split('\n');
}

describe('decisions explain', () => {
  it('tells the deciding rule, and the next that would have refused', async () => {
    await service.pay({ appOrderId: 'r-1', orderAmount: '3000', userId: '1' });
    const [headline, because, next, revision, blank, ...rules] = await explained('r-1');
    expect(headline).toMatch(/^FAILURE {2}RULE_REFUSED {2}shop\/\d+ {2}payment:r-1 {2}2\d{3}-/);
    expect(because).toContain('because payments/amount-limit#1 refuses: ');
    expect(next).toContain(
      'if this rule had passed, payments/window-limit#2 would have refused: 0 used and 3000 requested',
    );
    expect(revision).toMatch(/^under revision [0-9a-f]{64}, put in force \S+Z by .*: .* \(in force now\)$/);
    expect(blank).toBe('');
    expect(rules[0]).toMatch(/^ {2}refuse +payments\/amount-limit#1 /);
    expect(rules[1]).toMatch(/^ {10}.*amount 3000, .*max 1000/);
    expect(rules.filter((line) => /^ {2}\S/.test(line))).toHaveLength(4);
    expect(rules.join('\n')).toMatch(/^ {2}would (pass|refuse) {2}/m);
  });

  it('skips what only observes, and says if nothing else would have refused', async () => {
    await service.pay({ appOrderId: 'r-2', orderAmount: '1000.5', userId: '2' });
    expect((await explained('r-2'))[2]).toBe('if this rule had passed, nothing else would have refused');
    const { json } = await at.run`decisions explain ${await idOf('r-2')} --json`;
    expect(json()).toMatchObject({
      decidedBy: 'payments/amount-limit#1',
      next: null,
      policies: { inForce: true },
      rules: [
        { verdict: 'FAILURE', asked: true },
        { verdict: 'SUCCESS', asked: true },
        { verdict: 'SUCCESS', asked: true },
        { verdict: 'FAILURE', mode: 'observe' },
      ],
    });
  });

  it('skips rules in between that pass', async () => {
    await service.pay({ appOrderId: 'w-1', orderAmount: '1000', userId: '3' });
    await service.pay({ appOrderId: 'w-2', orderAmount: '1000', userId: '3' });
    await service.pay({ appOrderId: 'w-3', orderAmount: '0.1', userId: '3' });
    const [, because, next] = await explained('w-3');
    expect(because).toContain('because payments/window-limit#2 refuses: 2000 used and 0.1 requested');
    expect(next).toBe('if this rule had passed, nothing else would have refused');
  });

  it('of an approval has nothing that would have refused', async () => {
    await service.pay({ appOrderId: 'a-1', orderAmount: '1', userId: '4' });
    const lines = await explained('a-1');
    expect(lines[0]).toContain('SUCCESS  APPROVED');
    expect(lines.join('\n')).not.toContain('would have');
  });

  it('does not say that rules refused which were not looked at', async () => {
    await service.pay({ appOrderId: 'a-1', orderAmount: '2', userId: '4' });
    const changed = await explained('a-1');
    expect(changed[0]).toContain('TERMS_CHANGED');
    expect(changed[2]).toBe(
      'with unchanged terms, the verdict would have depended on 1 rule that the store did not check',
    );
    expect(changed.join('\n')).toMatch(/^ {2}not checked +payments\/window-limit#2 /m);

    await service.store.freeze({ reason: 'drill', by: 'ada' });
    await service.pay({ appOrderId: 'f-1', orderAmount: '6000', userId: '5' });
    await thaw(service.store);
    const frozen = await explained('f-1');
    expect(frozen[1]).toContain('approvals are frozen');
    expect(frozen[2]).toMatch(/^without the freeze, payments\/amount-limit#1 would have refused: /);
    const shown = await at.run`decisions show ${await idOf('f-1')}`;
    expect(shown.out).toMatch(/^ {2}not checked +payments\/window-limit#2 /m);
    expect(shown.out).not.toMatch(/^ {2}refuse +payments\/window-limit#2 /m);
  });

  it('of a repeat also explains what it repeats', async () => {
    await service.pay({ appOrderId: 'p-1', orderAmount: '3000', userId: '6' });
    await service.pay({ appOrderId: 'p-1', orderAmount: '3000', userId: '6' });
    const lines = await explained('p-1');
    expect(lines[1]).toContain('(decided before, as shop/');
    expect(lines.join('\n')).toMatch(
      /\nThe first decision, shop\/\d+:\n\nFAILURE {2}RULE_REFUSED {2}shop\/\d+ {2}payment:p-1 /,
    );
    const { json } = await at.run`decisions explain ${await idOf('p-1')} --json`;
    expect(json()).toMatchObject({
      type: 'repeat',
      next: { rule: 'window-limit#2' },
      first: { type: 'decision', next: { rule: 'window-limit#2' } },
    });
  });

  it('tells of another revision in force, and of no policy', async () => {
    const id = await idOf('r-1');
    at.write('policies/payments.yaml', POLICY.replace('max: 5000', 'max: 5001'));
    expect((await at.run`policy push --message more`).code).toBe(0);
    expect((await at.run`decisions explain ${id}`).out).toContain(' (another is in force now)');
    await service.cosign('/cosigner/withdraw', transfer());
    const [entry] = await service.store.entries({ source: 'vault', newestFirst: true, limit: 1 });
    const { out } = await at.run('decisions', 'explain', `vault/${entry?.id}`);
    expect(out).toContain('because no policy with a rule that enforces applies for certain');
    expect(out).not.toContain('would have');
  });
});
