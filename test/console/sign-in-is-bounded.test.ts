import { describe, expect, it } from 'vitest';
import { CHALLENGES, FAILURES, createAttempts } from '../../src/console/sign-in/attempts.ts';
import { type TestService, startTestService } from '../service.ts';

const settings = { console: { passkeys: { host: 'localhost', origin: 'http://localhost:9090' } } };

async function post({ ops }: TestService, path: string, body = '{}') {
  const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
  const response = await fetch(`${ops}/console${path}`, { method: 'POST', headers, body });
  return { status: response.status, answer: await response.json() };
}

/** The statuses of requests that follow one another, each with how many there were. */
async function statuses(count: number, ask: () => Promise<{ readonly status: number }>) {
  const seen = new Map<number, number>();
  for (let time = 0; time < count; time++) {
    const { status } = await ask();
    seen.set(status, (seen.get(status) ?? 0) + 1);
  }
  return Object.fromEntries(seen);
}

describe('from one address, in a minute', () => {
  it('a few failed sign-ins are read, and further ones are refused unread', async () => {
    const service = await startTestService({ settings });
    const ask = () => post(service, '/sign-in', '{"id":"nobody"}');
    expect(await statuses(FAILURES.perAddress + 3, ask)).toEqual({ 403: FAILURES.perAddress, 429: 3 });
    expect((await ask()).answer).toEqual({
      error: {
        code: 'SIGN_IN_REFUSED',
        message: 'There were too many failed sign-ins. Wait a minute',
      },
    });
  });

  it('invitations are guessed as rarely', async () => {
    const service = await startTestService({ settings });
    const ask = () => post(service, `/invite/${'a'.repeat(43)}/options`);
    expect(await statuses(FAILURES.perAddress + 3, ask)).toEqual({ 403: FAILURES.perAddress, 429: 3 });
  });

  it('challenges are bounded, because each takes room in the store', async () => {
    const service = await startTestService({ settings });
    const ask = () => post(service, '/sign-in/options');
    expect(await statuses(CHALLENGES.perAddress + 3, ask)).toEqual({ 200: CHALLENGES.perAddress, 429: 3 });
    expect((await ask()).answer).toEqual({
      error: { code: 'BUSY', message: 'too many challenges were asked for. Wait a minute' },
    });
  });
});

it('an IPv6 /64 counts as one address, and an IPv4 address in two forms', () => {
  const attempts = createAttempts({ perAddress: 2, inTotal: 100 }, () => 0);
  attempts.count('2001:db8:1:2::1');
  attempts.count('2001:db8:1:2:ffff::2');
  attempts.count('192.0.2.1');
  attempts.count('::ffff:192.0.2.1');
  expect(
    ['2001:db8:1:2::3', '2001:db8:1:3::1', '192.0.2.1', '::ffff:192.0.2.1', '192.0.2.2'].map((address) =>
      attempts.areTooMany(address),
    ),
  ).toEqual([true, false, true, true, false]);
});

it.each([
  ['failures', FAILURES],
  ['challenges', CHALLENGES],
])('%s of one address, and of all in total, wait for the next minute', (_, bounds) => {
  let nowMs = 0;
  const attempts = createAttempts(bounds, () => nowMs);
  for (let time = 0; time < bounds.perAddress; time++) {
    expect(attempts.areTooMany('a')).toBe(false);
    attempts.count('a');
  }
  expect([attempts.areTooMany('a'), attempts.areTooMany('b')]).toEqual([true, false]);
  for (let time = bounds.perAddress; time < bounds.inTotal; time++) attempts.count(`b${time}`);
  expect(attempts.areTooMany('c')).toBe(true);
  nowMs += 60_000;
  expect([attempts.areTooMany('a'), attempts.areTooMany('c')]).toEqual([false, false]);
});
