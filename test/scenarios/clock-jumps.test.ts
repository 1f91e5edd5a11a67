import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import type { TestService } from '../service.ts';
import { describeOnBothStores } from './on-both-stores.ts';
import { readinessAt } from './running.ts';

const HOUR_MS = 3_600_000;
const AHEAD_MS = 3.5 * HOUR_MS;
const SAFE_POLICIES = {
  'payments.yaml': `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - window-limit: { per: [userId], window: 1h, max: 100 }
`,
};

interface Jumped {
  readonly service: TestService;
  readonly run: ReturnType<ReturnType<typeof placeIn>['runWith']>;
  /** Only the embedded store's clock can be put right here. */
  readonly putRight: () => void;
}

async function metricOf({ ops }: TestService, name: string): Promise<string | undefined> {
  const text = await (await fetch(`${ops}/metrics`)).text();
  return new RegExp(`^countersign_${name} (.*)$`, 'm').exec(text)?.[1];
}

describeOnBothStores('a clock that jumps ahead', (host) => {
  /** A service that has used a limit of an hour up, and whose store's clock is three hours ahead since. */
  async function jumped(): Promise<Jumped> {
    let offMs = 0;
    const clock = (): number => Date.now() + offMs;
    const options = { policies: SAFE_POLICIES, clock, clockBounds: {} };
    const before = await host.start(options);
    expect(await before.pay({ appOrderId: 'first' })).toBe('SUCCESS');
    expect(await before.pay({ appOrderId: 'second' })).toBe('FAILURE');
    const run = placeIn(before.folder).runWith({ clock });
    if (host.kind === 'embedded') {
      offMs = AHEAD_MS;
      return { service: before, run, putRight: () => (offMs = 0) };
    }
    await before.stop({ keep: true });
    await setBack(before);
    const service = await host.start(options, before);
    return { service, run, putRight: () => undefined };
  }

  /**
   * Redis' own clock can't be set: what it remembers is set back instead, which is the same to whoever begins
   * then.
   */
  async function setBack(service: TestService): Promise<void> {
    const client = new Redis(host.redis().url);
    const prefix = host.prefixOf(service);
    onTestFinished(() => client.disconnect());
    for (const name of ['{global}:in-force', '{shop}:control', '{vault}:control']) {
      const key = `${prefix}:${name}`;
      const now = Number(await client.hget(key, 'now'));
      await client.hset(key, 'now', now - AHEAD_MS);
    }
    // No entry may be later than time.
    await client.del(`${prefix}:{shop}:journal`);
  }

  it('answers FAILURE, and says by how much in readyz, doctor, metrics, log and journal, until it is accepted', async () => {
    const { service, run } = await jumped();
    expect(await service.pay({ appOrderId: 'second' })).toBe('FAILURE');
    const line = service.log.findLast(({ event }) => event === 'callback');
    expect(line).toMatchObject({ code: 'CLOCK_JUMPED', because: expect.stringContaining('is 3 h ') });
    const [entry] = await service.store.entries({ source: 'shop', newestFirst: true, limit: 1 });
    expect(entry).toMatchObject({ type: 'refused', verdict: 'FAILURE', code: 'CLOCK_JUMPED' });
    const shown = await run('decisions', 'show', `shop/${entry?.id}`);
    expect(shown.out).toMatch(/is 3 h [^,]* ahead of its time/);

    await eventually('/readyz says so', async () => {
      const { status, because } = await readinessAt(service.ops);
      return status === 503 && /^clock: the clock of .* is 3 h .*ahead/m.test(because) ? true : undefined;
    });
    expect(await metricOf(service, 'clock_jumped')).toBe('1');
    expect(Number(await metricOf(service, 'clock_ahead_seconds'))).toBeGreaterThan(10_000);
    expect(service.log).toContainEqual(expect.objectContaining({ event: 'clock-jumped', level: 'error' }));
    const doctor = await run('doctor');
    expect(doctor.code).toBe(1);
    expect(doctor.out).toMatch(/fault +store +the clock of .* is 3 h .*ahead.*`countersign clock accept`/);
    const show = await run('clock', 'show');
    expect(show.code).toBe(1);
    expect(show.out).toContain('jumped: the clock of');

    const accepted = await run('clock', 'accept', '--by', 'ada');
    expect(accepted.out).toContain('Accepted. The clock no longer stops approvals.');
    expect(accepted.code).toBe(0);
    expect(await service.pay({ appOrderId: 'third', userId: '7' })).toBe('SUCCESS');
    await eventually('/readyz is well again', async () =>
      (await readinessAt(service.ops)).status === 200 ? true : undefined,
    );
    expect(await metricOf(service, 'clock_jumped')).toBe('0');
    const [acceptance] = await service.store.entries({ source: 'vault', newestFirst: true, limit: 1 });
    expect(acceptance).toMatchObject({ type: 'clock', code: 'CLOCK_ACCEPTED' });
    const explained = await run('decisions', 'explain', `vault/${acceptance?.id}`);
    expect(explained.out).toContain("because ada accepted the store's clock, 3 h");
    expect((await run('clock', 'show')).code).toBe(0);
    expect((await run('clock', 'accept')).out).toContain('There is nothing to accept.');
  });

  it.runIf(host.kind === 'embedded')(
    'does no harm once it is put right: the limit still counts, and nothing is to be done',
    async () => {
      const { service, putRight } = await jumped();
      expect(await service.pay({ appOrderId: 'second' })).toBe('FAILURE');
      putRight();
      expect(await service.pay({ appOrderId: 'second' })).toBe('FAILURE');
      expect(service.log.findLast(({ event }) => event === 'callback')).toMatchObject({
        code: 'RULE_REFUSED',
        rule: 'payments/window-limit#1',
      });
      expect(await service.pay({ appOrderId: 'third', userId: '7' })).toBe('SUCCESS');
      expect((await readinessAt(service.ops)).status).toBe(200);
    },
  );
});
