import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { type OtherSide, SECRET, otherSide, says } from '../plugins/other-side.ts';
import { POLICIES, type TestService, transfer } from '../service.ts';
import { type StoreHost, describeOnBothStores } from './on-both-stores.ts';

const ASKING = {
  'payments.yaml': `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - amount-limit: { max: 1000 }
  - ask: { service: risk, with: { profile: shop } }
  - ask: { service: nobody }
    mode: observe
`,
  'transfers.yaml': `policy: transfers
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - module: { name: own-check, with: { most: '2' } }
`,
  'web3.yaml': POLICIES['web3.yaml'],
};

const MODULE = `export default async ({ members, with: { most } }) =>
  Number(members.amount) <= Number(most) ? { verdict: 'yes' } : { verdict: 'no', because: 'too much for the module' };
`;

interface Asking {
  readonly service: TestService;
  readonly risk: OtherSide;
  readonly secretFile: string;
}

/** A service that asks another one about payments, and a module about withdrawals. */
async function started(host: StoreHost, timeoutMs = 5000): Promise<Asking> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-asking-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [secretFile, file] = [join(folder, 'risk.secret'), join(folder, 'own-check.mjs')];
  writeFileSync(secretFile, SECRET, { mode: 0o600 });
  writeFileSync(file, MODULE);
  const risk = await otherSide(says('yes', 'known for years'));
  const service = await host.start({
    policies: ASKING,
    settings: {
      services: [
        {
          name: 'risk',
          url: risk.url,
          secret: { file: secretFile },
          timeoutMs,
          breaker: { failures: 1000, cooldownMs: 100 },
        },
      ],
      modules: [
        {
          name: 'own-check',
          file,
          sha256: createHash('sha256').update(MODULE).digest('hex'),
          timeoutMs: 5000,
          concurrency: 1,
        },
      ],
    },
  });
  return { service, risk, secretFile };
}

/** What the journal says of the last decision about it. */
async function journalled(
  { store }: TestService,
  source: string,
  subject: string,
): Promise<{ readonly verdict: string; readonly code: string; readonly answers: unknown }> {
  const [entry] = await store.entries({ source, subject, limit: 1 });
  if (entry === undefined) throw new Error(`nothing in the journal about ${subject}`);
  const { answers } = JSON.parse(entry.detail) as { readonly answers: unknown };
  return { verdict: entry.verdict, code: entry.code, answers };
}

const UNKNOWN = {
  verdict: 'failed',
  because: 'the settings have no service nobody; they have risk',
};

describeOnBothStores('somebody else is asked', (host) => {
  it('and told of a simulation, or not asked at all', async () => {
    const { service, risk } = await started(host);
    const { run } = placeIn(service.folder);
    const call = ['simulate', 'payment', 'userId=1', 'amount=1', 'symbol=USDT1742'];
    expect(await run(...call)).toMatchObject({ code: 0 });
    expect(risk.asked.map(({ json }) => json['simulated'])).toEqual([true]);
    expect(await run(...call, '--without-plugins')).toMatchObject({
      code: 1,
      out: expect.stringContaining('this simulation does not ask the service risk'),
    });
    expect(risk.asked).toHaveLength(1);
    expect(await service.pay({ appOrderId: 'a' })).toBe('SUCCESS');
    expect(risk.asked[1]?.json).not.toHaveProperty('simulated');
  });

  it('and a yes is SUCCESS, with the answer in the journal', async () => {
    const { service, risk } = await started(host);
    expect(await service.pay({ appOrderId: 'a' })).toBe('SUCCESS');
    expect(risk.asked).toHaveLength(1);
    expect(risk.asked[0]).toMatchObject({
      signed: true,
      json: { service: 'risk', subject: 'payment:a', with: { profile: 'shop' } },
    });
    expect(await journalled(service, 'shop', 'payment:a')).toEqual({
      verdict: 'SUCCESS',
      code: 'APPROVED',
      answers: {
        'service:risk:{"profile":"shop"}': { verdict: 'yes', because: 'known for years' },
        'service:nobody:{}': UNKNOWN,
      },
    });
  });

  it('and a no is FAILURE, as is a yes where another rule refuses', async () => {
    const { service, risk } = await started(host);
    expect(await service.pay({ appOrderId: 'b', orderAmount: '1001' })).toBe('FAILURE');
    risk.answerWith(says('no', 'a card that was stolen'));
    expect(await service.pay({ appOrderId: 'a' })).toBe('FAILURE');
    expect(await journalled(service, 'shop', 'payment:a')).toMatchObject({
      verdict: 'FAILURE',
      code: 'RULE_REFUSED',
      answers: { 'service:risk:{"profile":"shop"}': { verdict: 'no', because: 'a card that was stolen' } },
    });
    expect(service.log).toContainEqual(
      expect.objectContaining({
        subject: 'payment:a',
        rule: 'payments/ask#2',
        because: expect.stringContaining('service risk says no: a card that was stolen'),
      }),
    );
  });

  it('again at each repeat: a change of mind counts, in both directions', async () => {
    const { service, risk } = await started(host);
    expect(await service.pay({ appOrderId: 'a' })).toBe('SUCCESS');
    risk.answerWith(says('no'));
    expect(await service.pay({ appOrderId: 'a' })).toBe('FAILURE');
    expect(await service.pay({ appOrderId: 'b' })).toBe('FAILURE');
    risk.answerWith(says('yes'));
    expect(await service.pay({ appOrderId: 'b' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'a' })).toBe('SUCCESS');
    expect(risk.asked).toHaveLength(5);
  });

  it('and silence is FAILURE within the time for an answer, journalled, and retryable', async () => {
    const { service, risk } = await started(host, 300);
    risk.answerWith(() => undefined);
    const startedMs = performance.now();
    expect(await service.pay({ appOrderId: 'a' })).toBe('FAILURE');
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(await journalled(service, 'shop', 'payment:a')).toMatchObject({
      verdict: 'FAILURE',
      code: 'RULE_REFUSED',
      answers: {
        'service:risk:{"profile":"shop"}': { verdict: 'failed', because: 'no answer within 300 ms' },
      },
    });
    risk.answerWith(says('yes'));
    await eventually('it is approved', async () =>
      (await service.pay({ appOrderId: 'a' })) === 'SUCCESS' ? true : undefined,
    );
  });

  it('and a silence that only observes leaves time to decide, however much of it the settings give away', async () => {
    const risk = await otherSide(() => undefined);
    const observing =
      'rules:\n  - amount-limit: { max: 1000 }\n  - ask: { service: risk }\n    mode: observe\n';
    const service = await host.start({
      policies: { 'p.yaml': `policy: payments\ncallback: payment\nwhen: { source: shop }\n${observing}` },
      settings: {
        answerTimeoutMs: 4000,
        services: [{ name: 'risk', url: risk.url, secret: { env: 'RISK' }, timeoutMs: 3999 }],
      },
      env: { RISK: SECRET },
    });
    expect(await service.pay({ appOrderId: 'a' })).toBe('SUCCESS');
    expect(await journalled(service, 'shop', 'payment:a')).toMatchObject({
      verdict: 'SUCCESS',
      answers: { 'service:risk:{}': { verdict: 'failed' } },
    });
  });

  it('and an answer that somebody in between has made up is FAILURE', async () => {
    const { service, risk } = await started(host);
    risk.answerWith((response, { nonce }) => response.end(JSON.stringify({ nonce, verdict: 'yes' })));
    expect(await service.pay({ appOrderId: 'a' })).toBe('FAILURE');
  });

  it('by many callbacks at once, each with an answer of its own', async () => {
    const { service, risk } = await started(host);
    risk.answerWith((response, asked) => {
      says(/[02468]$/.test(String(asked.json['id'])) ? 'yes' : 'no')(response, asked);
    });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => service.pay({ appOrderId: `many-${n}`, orderAmount: '1' })),
    );
    expect(answers).toEqual(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? 'SUCCESS' : 'FAILURE')));
  });

  it('a module as well, but not about what was signed already', async () => {
    const { service, risk } = await started(host);
    expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('SUCCESS');
    expect(await service.cosign('/cosigner/withdraw', transfer({ request_id: 'w-2', amount: '2.5' }))).toBe(
      'FAILURE',
    );
    expect(await journalled(service, 'vault', 'transfer:w-2')).toMatchObject({
      answers: { 'module:own-check:{"most":"2"}': { verdict: 'no', because: 'too much for the module' } },
    });
    const signed = transfer({ type: 'sign_success', txid: '0xabc' });
    expect(await service.cosign('/cosigner/withdraw', signed)).toBe('SUCCESS');
    expect(risk.asked).toEqual([]);
    const metrics = await (await fetch(`${service.ops}/metrics`)).text();
    expect(metrics).toContain('countersign_inquiries_total{of="module",name="own-check",verdict="yes"} 1');
    expect(metrics).toContain('countersign_inquiries_total{of="module",name="own-check",verdict="no"} 1');
    expect(metrics).toContain('countersign_callback_seconds_count{step="ask"} 2');
  });

  it('with a new secret soon after its file has changed', async () => {
    const { service, risk, secretFile } = await started(host);
    writeFileSync(secretFile, 'another-secret-of-the-tests');
    await eventually('the new secret is used', async () => {
      await service.pay({ appOrderId: 'a' });
      return risk.asked.at(-1)?.signed === false || undefined;
    });
    expect(await service.pay({ appOrderId: 'b' })).toBe('FAILURE');
    writeFileSync(secretFile, '');
    await eventually('that it is gone is told', () =>
      service.log.find(({ event }) => event === 'inquiry-keys-unreadable'),
    );
    writeFileSync(secretFile, SECRET);
    await eventually('the first secret is used again', async () =>
      (await service.pay({ appOrderId: 'b' })) === 'SUCCESS' ? true : undefined,
    );
    expect(JSON.stringify(service.log)).not.toMatch(/secret-of-the-tests/);
  });

  it('and a service whose module was changed does not start', async () => {
    const own = { name: 'own-check', file: '/dev/null', sha256: '0'.repeat(64) };
    await expect(host.start({ settings: { modules: [own] } })).rejects.toThrow(
      'module own-check: /dev/null has the SHA-256 e3b0c44298fc1c14',
    );
  });
});
