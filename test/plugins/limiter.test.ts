import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { payment } from '../policy/callbacks.ts';
import { type TestAsking, askingService } from './asking.ts';
import { type AnswerWith, type OtherSide, otherSide, says } from './other-side.ts';

const down: AnswerWith = (response) => response.writeHead(500).end();

/** Asks until it is a yes; whatever else is answered in the meantime is given back. */
async function untilYes({ ask }: TestAsking): Promise<readonly string[]> {
  const before: string[] = [];
  await eventually('it answers again', async () => {
    const { verdict, because } = await ask();
    if (verdict === 'yes') return true;
    before.push(because);
    return undefined;
  });
  return before;
}

describe('after some failures in a row', () => {
  const breaker = { failures: 3, cooldownMs: 400 };

  it('nothing is asked for a while, then one question, and then all as before', async () => {
    const risk = await otherSide(down);
    const plugins = await askingService(risk.url, { breaker });
    for (let n = 0; n < 3; n++) {
      expect(await plugins.ask()).toMatchObject({ because: 'it answered with HTTP status 500' });
    }
    for (let n = 0; n < 5; n++) {
      expect(await plugins.ask()).toEqual({
        verdict: 'failed',
        because: 'it is not asked at present, since it failed: it answered with HTTP status 500',
      });
    }
    expect(risk.asked).toHaveLength(3);
    risk.answerWith(says('yes'));
    const before = await untilYes(plugins);
    expect(new Set(before).size).toBeLessThanOrEqual(1);
    expect(risk.asked).toHaveLength(4);
    expect(plugins.told).toEqual([
      'inquiry-paused: service risk is not asked for 400 ms; the last failure: it answered with HTTP status 500',
      'inquiry-resumed: service risk answers again',
    ]);
  });

  const question = { type: 'service', name: 'risk', parameters: {} } as const;

  it('of simulated questions, everything is asked on', async () => {
    const risk = await otherSide(down);
    const { plugins, ask, told } = await askingService(risk.url, { breaker });
    for (let n = 0; n < 10; n++) await plugins.askSimulated(question, payment(), 60_000);
    expect(risk.asked).toHaveLength(10);
    risk.answerWith(says('yes'));
    expect(await ask()).toMatchObject({ verdict: 'yes' });
    expect(told).toEqual([]);
  });

  it('a simulated question is not asked in the pause, is asked after it, and ends it for nobody', async () => {
    const risk = await otherSide(down);
    const { plugins, ask, told } = await askingService(risk.url, { breaker });
    for (let n = 0; n < 3; n++) await ask();
    const simulated = () => plugins.askSimulated(question, payment(), 60_000);
    expect(await simulated()).toMatchObject({
      verdict: 'failed',
      because: expect.stringContaining('not asked at present'),
    });
    risk.answerWith(says('yes'));
    await eventually('the pause is over', async () => (await simulated()).verdict === 'yes' || undefined);
    expect(told).toHaveLength(1);
    expect(await ask()).toMatchObject({ verdict: 'yes' });
    expect(told).toHaveLength(2);
  });

  it('nothing is asked for another while if the one question fails as well', async () => {
    const risk = await otherSide(down);
    const { ask, told } = await askingService(risk.url, { breaker });
    for (let n = 0; n < 3; n++) await ask();
    await eventually('it is asked once more', async () => {
      await ask();
      return risk.asked.length > 3 || undefined;
    });
    expect(await ask()).toMatchObject({ because: expect.stringContaining('not asked at present') });
    expect(risk.asked).toHaveLength(4);
    expect(told).toHaveLength(2);
  });

  it('of time-outs as well, also where the callback had less time than they took', async () => {
    const risk = await otherSide(() => undefined);
    const { ask } = await askingService(risk.url, {
      breaker: { failures: 3, cooldownMs: 60_000 },
      timeoutMs: 200,
    });
    for (let n = 0; n < 3; n++) expect(await ask({ withinMs: 50 })).toMatchObject({ verdict: 'failed' });
    await eventually('it is not asked any more', async () =>
      (await ask({ withinMs: 50 })).because.includes('not asked at present') ? true : undefined,
    );
  });

  it('but a no is not a failure, and one answer ends the row', async () => {
    const risk = await otherSide(says('no'));
    const { ask, told } = await askingService(risk.url, { breaker });
    for (let n = 0; n < 10; n++) expect(await ask()).toMatchObject({ verdict: 'no' });
    for (let n = 0; n < 4; n++) {
      risk.answerWith(down);
      for (let failures = 0; failures < 2; failures++)
        expect(await ask()).toMatchObject({ verdict: 'failed' });
      risk.answerWith(says('no'));
      expect(await ask()).toMatchObject({ verdict: 'no' });
    }
    expect(told).toEqual([]);
  });
});

describe('of many questions at once', () => {
  /** A service that keeps every question until it is told to answer. */
  async function patient(): Promise<{
    readonly risk: OtherSide;
    readonly release: (all: AnswerWith) => void;
  }> {
    const kept: [ServerResponse, Parameters<AnswerWith>[1]][] = [];
    const risk = await otherSide((response, asked) => void kept.push([response, asked]));
    return {
      risk,
      release(all) {
        risk.answerWith(all);
        for (const [response, asked] of kept) all(response, asked);
      },
    };
  }

  it('so many are under way, so many wait, and the others have failed at once', async () => {
    const { risk, release } = await patient();
    const { ask } = await askingService(risk.url, { concurrency: 3, waiting: 2 });
    const asked = Array.from({ length: 5 }, () => ask());
    const because = '3 questions are in flight and 2 are waiting, which is the maximum';
    for (let n = 0; n < 10; n++) expect(await ask()).toEqual({ verdict: 'failed', because });
    await eventually('three have arrived', () => risk.asked.length === 3 || undefined);
    expect(risk.connections()).toBe(3);
    release(says('yes'));
    expect((await Promise.all(asked)).map(({ verdict }) => verdict)).toEqual(Array(5).fill('yes'));
    expect(risk.asked).toHaveLength(5);
  });

  it('being too many does not count against whoever is asked', async () => {
    const { risk, release } = await patient();
    const breaker = { failures: 1, cooldownMs: 60_000 };
    const { ask, told } = await askingService(risk.url, { concurrency: 1, waiting: 0, breaker });
    const first = ask();
    for (let n = 0; n < 10; n++) expect(await ask()).toMatchObject({ verdict: 'failed' });
    await eventually('it has arrived', () => risk.asked.length === 1 || undefined);
    release(says('yes'));
    expect(await first).toMatchObject({ verdict: 'yes' });
    expect(await ask()).toMatchObject({ verdict: 'yes' });
    expect(told).toEqual([]);
  });

  it('those that wait when it is found not to answer are not asked, but for the next', async () => {
    const { risk, release } = await patient();
    const breaker = { failures: 1, cooldownMs: 60_000 };
    const { ask } = await askingService(risk.url, { concurrency: 1, waiting: 5, breaker });
    const asked = Array.from({ length: 6 }, () => ask());
    await eventually('the first has arrived', () => risk.asked.length === 1 || undefined);
    release(down);
    const answers = await Promise.all(asked);
    expect(answers.every(({ verdict }) => verdict === 'failed')).toBe(true);
    expect(risk.asked.length).toBeLessThanOrEqual(2);
  });

  it('one that waits until its time is over is not asked any more', async () => {
    const { risk, release } = await patient();
    const { ask } = await askingService(risk.url, { concurrency: 1, waiting: 1 });
    const first = ask();
    await eventually('the first has arrived', () => risk.asked.length === 1 || undefined);
    expect(await ask({ withinMs: 50 })).toEqual({ verdict: 'failed', because: 'no answer within 50 ms' });
    release(says('yes'));
    expect(await first).toMatchObject({ verdict: 'yes' });
    expect(await ask()).toMatchObject({ verdict: 'yes' });
    expect(risk.asked).toHaveLength(2);
  });
});
