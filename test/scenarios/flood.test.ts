import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import { rawConnection } from '../raw-connection.ts';
import { PAYMENT_PATH, type TestService, signedPayment } from '../service.ts';
import { upTo } from './policies.ts';
import { serviceHere } from './running.ts';

const BUDGET = 20;
const ATTACKER = '203.0.113.9';
const SENDER = '198.51.100.7';
const FORGED = signedPayment({ appOrderId: 'forged' }, { secret: 'not-the-secret' });
/** Much more than the test takes: what answers sooner did not wait for it. */
const PATIENT_MS = 10_000;

const startService = (trustedProxies: readonly string[], budget = BUDGET): Promise<TestService> =>
  serviceHere({
    policies: upTo(100_000),
    settings: {
      answerTimeoutMs: PATIENT_MS,
      public: { port: '0', trustedProxies, limits: { failuresPerSecond: `${budget}` } },
    },
  });

const behindGateway = (): Promise<TestService> => startService(['127.0.0.1']);

const by = (address: string): Readonly<Record<string, string>> => ({ 'x-forwarded-for': address });

async function answerTo(
  service: TestService,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  return (await service.post(PAYMENT_PATH, body, headers)).body;
}

let orders = 0;
const pay = (service: TestService, headers: Readonly<Record<string, string>>): Promise<string> =>
  answerTo(service, signedPayment({ appOrderId: `good-${orders++}`, orderAmount: '1' }), headers);

/** Forged callbacks, as many at once; what was turned away by then is counted by the service. */
async function flood(
  service: TestService,
  times: number,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const answers = await Promise.all(Array.from({ length: times }, () => answerTo(service, FORGED, headers)));
  expect(new Set(answers)).toEqual(new Set(['FAILURE']));
}

async function countOf(service: TestService, series: string): Promise<number> {
  const text = await (await fetch(`${service.ops}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length + 1));
}

const turnedAway = (service: TestService): Promise<number> =>
  countOf(service, 'countersign_turned_away_total{reason="address"}');
const looked = (service: TestService): Promise<number> =>
  countOf(service, 'countersign_authentication_failures_total{code="SIGN_WRONG",source="shop"}');

/** Floods until the address is throttled, which a slow machine may need more than one second for. */
const throttle = (service: TestService, headers: Readonly<Record<string, string>>): Promise<true> =>
  eventually('the flood is turned away', async () => {
    await flood(service, BUDGET * 2, headers);
    return (await turnedAway(service)) > 0 || undefined;
  });

describe('a flood of forged callbacks from one address', () => {
  it('is turned away, told of and counted, and takes nothing from a sender at another', async () => {
    const service = await behindGateway();
    const startedMs = performance.now();
    const flooding = (async () => {
      for (let round = 0; round < 10; round++) await flood(service, BUDGET * 3, by(ATTACKER));
    })();
    const answers = [];
    for (let time = 0; time < 30; time++) answers.push(await pay(service, by(SENDER)));
    await flooding;
    expect(new Set(answers)).toEqual(new Set(['SUCCESS']));
    // Those that are read at the same time as the one beyond the budget are still looked at.
    const seconds = Math.ceil((performance.now() - startedMs) / 1000) + 1;
    expect(await looked(service)).toBeLessThanOrEqual(seconds * BUDGET * 4);
    expect((await looked(service)) + (await turnedAway(service))).toBe(BUDGET * 30);
    expect(await turnedAway(service)).toBeGreaterThan(0);
    const told = service.log.filter(({ event }) => event === 'turned-away');
    expect(told.length).toBeLessThan(5);
    expect(told[0]).toMatchObject({
      level: 'warn',
      code: 'ADDRESS_THROTTLED',
      address: ATTACKER,
      because: expect.stringContaining('public.limits.failuresPerSecond') as string,
    });
    expect((await fetch(`${service.ops}/readyz`)).status).toBe(200);
  });

  it('is answered before its bodies are read', async () => {
    const service = await behindGateway();
    const head = `POST ${PAYMENT_PATH} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-Forwarded-For: ${ATTACKER}\r\nContent-Length: 1000\r\n\r\n`;
    const answer = await eventually('a callback without a body is answered', async () => {
      await throttle(service, by(ATTACKER));
      const connection = await rawConnection(service.url);
      connection.write(head);
      return connection.received(900, (text) => text.endsWith('FAILURE')).catch(() => undefined);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toMatch(/\r\nConnection: close\r\n/);
  });

  it('keeps the connections of a gateway where the bodies have come', async () => {
    const service = await behindGateway();
    const head = `POST ${PAYMENT_PATH} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-Forwarded-For: ${ATTACKER}\r\nContent-Length: ${FORGED.length}\r\n\r\n`;
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    await eventually('the flood is turned away', async () => {
      for (let time = 0; time < BUDGET * 2; time++) {
        socket.write(head + FORGED);
        const [answer] = (await once(socket, 'data')) as [Buffer];
        expect(answer.toString()).toMatch(/FAILURE$/);
        expect(answer.toString()).not.toMatch(/Connection: close/i);
      }
      return (await turnedAway(service)) > 0 || undefined;
    });
  });

  it('ends for it when it stops: its good callbacks are decided again', async () => {
    const service = await behindGateway();
    await throttle(service, by(ATTACKER));
    const answer = await eventually('the second is over', async () =>
      (await pay(service, by(ATTACKER))) === 'SUCCESS' ? 'SUCCESS' : undefined,
    );
    expect(answer).toBe('SUCCESS');
    expect(
      service.log.some(({ code, address }) => code === 'ADDRESS_THROTTLED' && address === ATTACKER),
    ).toBe(true);
  });

  it('takes nothing from a sender in its own network who was authenticated', async () => {
    const budget = 2;
    const service = await startService(['127.0.0.1'], budget);
    const sender = by('2001:db8:0:1::5');
    expect(await pay(service, sender)).toBe('SUCCESS');
    const neighbours = Array.from({ length: budget * 30 }, (_, index) =>
      by(`2001:db8:0:1::f${index.toString(16)}`),
    );
    await eventually('the flood is turned away', async () => {
      await Promise.all(neighbours.map((headers) => flood(service, 1, headers)));
      expect(await pay(service, sender)).toBe('SUCCESS');
      return (await turnedAway(service)) > 0 || undefined;
    });
  });

  it('counts all of an IPv6 /48 as one beyond ten times the budget', async () => {
    const service = await behindGateway();
    const networks = Array.from({ length: BUDGET * 15 }, (_, index) =>
      by(`2001:db8:1:${index.toString(16)}::1`),
    );
    await eventually('the flood is turned away', async () => {
      await Promise.all(networks.map((headers) => flood(service, 1, headers)));
      return (await turnedAway(service)) > 0 || undefined;
    });
    expect(await pay(service, by('2001:db8:2:1::1'))).toBe('SUCCESS');
  });

  it('counts all of an IPv6 /64 as one', async () => {
    const service = await behindGateway();
    await eventually('the flood is turned away', async () => {
      const senders = Array.from({ length: BUDGET * 2 }, (_, index) =>
        by(`2001:db8:0:1::${index.toString(16)}`),
      );
      await Promise.all(senders.map((headers) => flood(service, 1, headers)));
      return (await turnedAway(service)) > 0 || undefined;
    });
    expect(await pay(service, by('2001:db8:0:2::1'))).toBe('SUCCESS');
  });

  it('that claims another address by a header of its own does not lay it on that address', async () => {
    const service = await startService([]);
    await throttle(service, by(SENDER));
    const told = service.log.find(({ code }) => code === 'ADDRESS_THROTTLED');
    expect(told).toMatchObject({
      address: '127.0.0.1',
      because: expect.stringContaining('is not in public.trustedProxies') as string,
    });
  });
});

describe('a flood through the gateway of the sender, which is no trusted proxy', () => {
  it('does not silence a sender who was authenticated within a minute, up to ten times the budget', async () => {
    const service = await startService([]);
    expect(await pay(service, {})).toBe('SUCCESS');
    for (let round = 0; round < 3; round++) {
      await flood(service, BUDGET * 3, {});
      expect(await pay(service, {})).toBe('SUCCESS');
    }
    expect(await turnedAway(service)).toBe(0);
  });

  it('is turned away beyond that, and lets the sender through when its second is over', async () => {
    const service = await startService([]);
    expect(await pay(service, {})).toBe('SUCCESS');
    await eventually('the flood is turned away', async () => {
      await flood(service, BUDGET * 12, {});
      return (await turnedAway(service)) > 0 || undefined;
    });
    await eventually('the second is over', async () =>
      (await pay(service, {})) === 'SUCCESS' ? true : undefined,
    );
  });
});
