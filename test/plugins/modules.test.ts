import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import type { ModuleConfig } from '../../src/plugins/config.ts';
import type { PluginAnswer } from '../../src/policy/facts.ts';
import { eventually } from '../eventually.ts';
import { payment } from '../policy/callbacks.ts';
import { type TestAsking, askingModule } from './asking.ts';
import { tablesOf, string } from '../cases.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A file with this text, removed when the test is over. */
function moduleFile(text: string): Pick<ModuleConfig, 'file' | 'sha256'> {
  const folder = temporaryFolder();
  const file = join(folder, 'own-check.mjs');
  writeFileSync(file, text);
  return { file, sha256: createHash('sha256').update(text).digest('hex') };
}

const plugins = (text: string, over: Partial<ModuleConfig> = {}): Promise<TestAsking> =>
  askingModule({ ...moduleFile(text), ...over });

/** Does to the member `do` of `with` what it says; anything else is a yes. */
const OBEYS = `
let asked = 0;
export default async function judge({ with: { do: what = '' } }) {
  asked += 1;
  if (what === 'no') return { verdict: 'no', because: 'told to' };
  if (what === 'hang') for (;;);
  if (what === 'wait') await new Promise(() => undefined);
  if (what === 'throw') throw new TypeError('thrown as told');
  if (what === 'throw-nothing') throw undefined;
  if (what === 'throw-odd') throw Object.create(null);
  if (what === 'reject') return Promise.reject(new Error('rejected as told'));
  if (what === 'exit') process.exit(0);
  if (what === 'write-and-exit') { console.error('the last words'); await new Promise((r) => setTimeout(r, 50)); process.exit(3); }
  if (what === 'unhandled') { Promise.reject(new Error('nobody handles this')); await new Promise(() => undefined); }
  if (what === 'uncaught') { setImmediate(() => { throw new Error('nobody catches this'); }); await new Promise(() => undefined); }
  if (what === 'memory') { const all = []; for (;;) all.push(new Array(10000).fill(asked)); }
  if (what === 'buffers') { globalThis.kept = new Uint8Array(80 * 1024 * 1024).fill(1); }
  return { verdict: 'yes', because: String(asked) };
}
`;

const told = async (ask: TestAsking['ask'], what: string): Promise<PluginAnswer> =>
  ask({ parameters: { do: what } });

describe('a module', () => {
  it('is given the callback and what the policy gives, and answers yes or no', async () => {
    const { ask, counted } = await plugins(
      `export default (input) => ({ verdict: input.members.userId === '12345' ? 'yes' : 'no', because: JSON.stringify(input) });`,
    );
    const { verdict, because } = await ask({ parameters: { tier: 'gold' } });
    expect(verdict).toBe('yes');
    expect(JSON.parse(because)).toEqual({
      version: 1,
      module: 'own-check',
      at: '2026-03-02T10:00:00.000Z',
      source: 'shop',
      kind: 'payment',
      id: 'o-1',
      subject: 'payment:o-1',
      question: { type: 'payment', speedUp: false },
      members: { appOrderId: 'o-1', userId: '12345', amount: '100', symbol: 'USDT1742' },
      payouts: [],
      with: { tier: 'gold' },
    });
    expect(await ask({ callback: payment({ userId: '666' }) })).toMatchObject({ verdict: 'no' });
    expect(counted).toEqual(['module own-check yes', 'module own-check no']);
  });

  it('is told that a callback is simulated', async () => {
    const { plugins: both } = await plugins(
      `export default ({ simulated }) => ({ verdict: simulated === true ? 'no' : 'yes' });`,
    );
    const question = { type: 'module', name: 'own-check', parameters: {} } as const;
    expect(await both.askSimulated(question, payment(), 60_000)).toMatchObject({ verdict: 'no' });
    expect(await both.ask(question, payment(), 60_000)).toMatchObject({ verdict: 'yes' });
  });

  it('may be async, keep what it knows, and use what Node has', async () => {
    const { ask } = await plugins(`
      import { createHash } from 'node:crypto';
      import { setTimeout } from 'node:timers/promises';
      let n = 0;
      export default async () => { await setTimeout(1); return { verdict: 'yes', because: createHash('md5').update('').digest('hex') + ++n }; };
    `);
    expect((await ask()).because).toBe('d41d8cd98f00b204e9800998ecf8427e1');
    expect((await ask()).because).toBe('d41d8cd98f00b204e9800998ecf8427e2');
  });

  it('has a copy of the callback, and no environment and no arguments', async () => {
    const callback = payment();
    const { ask } = await plugins(`
      export default (input) => {
        input.members.amount = '0'; input.source = 'other'; delete input.id;
        return { verdict: 'yes', because: JSON.stringify([process.env, process.argv.length, process.execArgv]) };
      };
    `);
    const before = structuredClone([...callback.values]);
    expect(await ask({ callback })).toEqual({ verdict: 'yes', because: '[{},2,[]]' });
    expect([...callback.values]).toEqual(before);
    expect(callback).toMatchObject({ source: 'shop', id: 'o-1' });
  });

  it.each([
    ['yes', 'its answer is not an object'],
    [true, 'its answer is not an object'],
    [null, 'its answer is not an object'],
    [undefined, 'its answer is not an object'],
    [[], 'its verdict is neither yes nor no'],
    [{}, 'its verdict is neither yes nor no'],
    [{ verdict: 'YES' }, 'its verdict is neither yes nor no'],
    [{ verdict: true }, 'its verdict is neither yes nor no'],
    [{ verdict: ['yes'] }, 'its verdict is neither yes nor no'],
    [{ verdict: 'failed' }, 'its verdict is neither yes nor no'],
    [{ verdict: 'yes', because: 5 }, 'its because is not a text'],
    [{ verdict: 'yes', upTo: '5' }, 'its answer has an unknown member: upTo'],
  ])('that answers %j has failed', async (answer, because) => {
    const { ask, told: events } = await plugins(`export default () => (${JSON.stringify(answer)});`);
    expect(await ask()).toEqual({ verdict: 'failed', because });
    expect(events).toEqual([]);
  });

  it('has a reason that is cut and cleaned', async () => {
    const { ask } = await plugins(
      `export default () => ({ verdict: 'no', because: '\\u001b[31mred\\n' + 'x'.repeat(1e6) });`,
    );
    const { because } = await ask();
    expect(because).toMatch(/^\[31mred x+…$/);
    expect(because.length).toBe(500);
  });
});

describe('what goes wrong in a module stays in its thread', () => {
  it.each([
    ['throw', 'it threw TypeError: thrown as told'],
    ['throw-nothing', 'it threw undefined'],
    ['throw-odd', 'it threw a value without a text'],
    ['reject', 'it threw Error: rejected as told'],
  ])('%s: it has failed, and the thread goes on', async (what, because) => {
    const { ask, told: events } = await plugins(OBEYS);
    expect(await told(ask, what)).toEqual({ verdict: 'failed', because });
    expect(await told(ask, 'yes')).toEqual({ verdict: 'yes', because: '2' });
    expect(events).toEqual([]);
  });

  it.each([
    ['exit', 'it ended with 0'],
    ['write-and-exit', 'it ended with 3; it wrote: the last words'],
    ['unhandled', 'it failed: nobody handles this'],
    ['uncaught', 'it failed: nobody catches this'],
    ['memory', 'it needs more than 32 MiB'],
  ])('%s: it has failed, and another thread goes on', async (what, because) => {
    const { ask, told: events } = await plugins(OBEYS, { memoryMb: 32 });
    expect(await told(ask, 'yes')).toEqual({ verdict: 'yes', because: '1' });
    expect(await told(ask, what)).toEqual({ verdict: 'failed', because });
    expect(await told(ask, 'yes')).toEqual({ verdict: 'yes', because: '1' });
    expect(events).toEqual([`module-restarted: module own-check: ${because}`]);
  });

  it('buffers that it keeps are given back with its thread, after the answer', async () => {
    const { ask, told: events } = await plugins(OBEYS, { memoryMb: 32 });
    expect(await told(ask, 'buffers')).toEqual({ verdict: 'yes', because: '1' });
    expect(await told(ask, 'yes')).toEqual({ verdict: 'yes', because: '1' });
    expect(events).toEqual(['module-restarted: module own-check: it keeps more than 32 MiB in buffers']);
  });

  it.each(['hang', 'wait'])(
    '%s: it has failed when its time is over, and another thread goes on',
    async (what) => {
      const { ask, told: events } = await plugins(OBEYS, { timeoutMs: 1500 });
      expect(await told(ask, what)).toEqual({ verdict: 'failed', because: 'no answer within 1500 ms' });
      await eventually(
        'it answers again',
        async () => (await told(ask, 'yes')).verdict === 'yes' || undefined,
      );
      expect(events).toEqual(['module-restarted: module own-check: it did not answer within 1500 ms']);
    },
  );

  it('one that blocks outside of JavaScript is left behind, and another thread goes on', async () => {
    const { ask } = await plugins(
      `
        import { execSync } from 'node:child_process';
        export default ({ with: { do: what } }) => { if (what) execSync('sleep 6', { env: { PATH: '/bin:/usr/bin' } }); return { verdict: 'yes' }; };
      `,
      { timeoutMs: 1500 },
    );
    expect(await told(ask, 'block')).toEqual({ verdict: 'failed', because: 'no answer within 1500 ms' });
    await eventually('it answers again', async () => (await told(ask, '')).verdict === 'yes' || undefined);
  });

  it.each([-1, 1])('one that forges the answer to another question (%i) is replaced', async (step) => {
    const { ask, told: events } = await plugins(`
      import { parentPort } from 'node:worker_threads';
      parentPort.on('message', ({ id }) => {
        const answer = { externalBytes: 0, verdict: 'yes', because: 'forged' };
        parentPort.postMessage({ type: 'answer', id: id + ${step}, answer });
      });
      export default () => ({ verdict: 'yes', because: 'meant' });
    `);
    const because = 'it sent a message that is not an answer';
    for (let n = 0; n < 3; n++) expect(await ask()).toEqual({ verdict: 'failed', because });
    expect(events).toEqual(Array(3).fill(`module-restarted: module own-check: ${because}`));
  });

  it('one that sends what is no answer is replaced', async () => {
    const { ask, told: events } = await plugins(`
      import { parentPort } from 'node:worker_threads';
      export default () => { parentPort.postMessage('yes'); return new Promise(() => undefined); };
    `);
    expect(await ask()).toEqual({ verdict: 'failed', because: 'it sent a message that is not an answer' });
    expect(events).toHaveLength(1);
  });

  it('a thread that ends while nobody asks is replaced when somebody does', async () => {
    const { ask, told: events } = await plugins(`
      export default () => { setTimeout(() => process.exit(1), 5); return { verdict: 'yes' }; };
    `);
    expect(await ask()).toMatchObject({ verdict: 'yes' });
    await eventually('it has ended', () => events[0]);
    expect(events).toEqual(['module-ended: module own-check: it ended with 1']);
    expect(await ask()).toMatchObject({ verdict: 'yes' });
  });
});

describe('a thread that ends after its answer', () => {
  it('has ended while nobody asked, also if this program learns of both at once', async () => {
    const { ask, told: events } = await plugins(`
      export default async () => {
        await new Promise((resolve) => setTimeout(resolve, 200));
        setTimeout(() => process.exit(1), 5);
        return { verdict: 'yes' };
      };
    `);
    const answer = ask();
    // The question leaves; then the event loop stands still until the thread has answered and ended.
    await new Promise((resolve) => setTimeout(resolve, 50));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 800);
    expect(await answer).toMatchObject({ verdict: 'yes' });
    await eventually('it has ended', () => events[0]);
    expect(events).toEqual(['module-ended: module own-check: it ended with 1']);
  });
});

describe('a module that keeps failing', () => {
  it('is not run for a while, and then by one question', async () => {
    const { ask, told: events } = await plugins(OBEYS, {
      timeoutMs: 300,
      breaker: { failures: 2, cooldownMs: 500 },
    });
    for (let n = 0; n < 2; n++) expect(await told(ask, 'hang')).toMatchObject({ verdict: 'failed' });
    await eventually('it is not asked', async () =>
      (await told(ask, 'hang')).because.includes('not asked at present') ? true : undefined,
    );
    const restarts = events.filter((event) => event.startsWith('module-restarted')).length;
    expect(restarts).toBeLessThanOrEqual(3);
    await eventually(
      'it is asked again',
      async () => (await told(ask, 'yes')).verdict === 'yes' || undefined,
    );
    expect(events.at(-1)).toBe('inquiry-resumed: module own-check answers again');
  });

  it('holds up no question but its own', async () => {
    const { ask } = await plugins(OBEYS, { timeoutMs: 2000, concurrency: 2 });
    const hanging = told(ask, 'hang');
    for (let n = 0; n < 5; n++) expect(await told(ask, 'yes')).toMatchObject({ verdict: 'yes' });
    expect(await hanging).toMatchObject({ verdict: 'failed' });
  });

  it('is asked by no more at once than it has threads', async () => {
    const { ask } = await plugins(
      `
        let under = 0;
        export default async () => {
          under += 1;
          await new Promise((resolve) => setTimeout(resolve, 20));
          const most = under;
          under -= 1;
          return { verdict: 'yes', because: String(most) };
        };
      `,
      { concurrency: 2, waiting: 6 },
    );
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask()));
    const verdicts = answers.map(({ verdict }) => verdict).sort();
    expect(verdicts).toEqual([...Array(2).fill('failed'), ...Array(8).fill('yes')]);
    expect(answers.filter(({ verdict }) => verdict === 'yes').every(({ because }) => because === '1')).toBe(
      true,
    );
  });
});

const rowsOf = tablesOf(new URL('cases/modules.yaml', import.meta.url));

describe('a module that is not as the settings say does not start', () => {
  async function refusal(text: string, over: Partial<ModuleConfig> = {}): Promise<string> {
    const started = plugins(text, over);
    await expect(started).rejects.toThrow(CountersignError);
    await expect(started).rejects.toMatchObject({ code: 'SETTINGS_INVALID' });
    return started.then(
      () => '',
      (thrown: unknown) => String(thrown),
    );
  }

  it('with another SHA-256: that found is named, and the cure', async () => {
    const text = 'export default () => ({ verdict: "yes" });';
    const found = createHash('sha256').update(text).digest('hex');
    const message = await refusal(text, { sha256: '0'.repeat(64) });
    expect(message).toContain(`has the SHA-256 ${found}, and the settings say ${'0'.repeat(64)}`);
    expect(message).toContain('write the SHA-256 found into the settings');
  });

  it('with a file that is not there, or too large', async () => {
    expect(await refusal('', { file: '/nowhere/own-check.mjs' })).toContain('ENOENT');
    expect(await refusal(`//${'x'.repeat(1024 * 1024)}`)).toContain('is larger than 1 MiB');
  });

  it.each(rowsOf('faults', string, string, string))('%s', async (_name, text, because) => {
    const message = await refusal(text);
    expect(message).toContain(
      `module own-check: it can't start: `.slice(0, because.startsWith('it ended') ? 18 : undefined),
    );
    expect(message).toContain(because);
    expect(message).toContain('correct the module');
  });

  it('with the file of the moment: what is changed later is not run', async () => {
    const own = moduleFile('export default () => ({ verdict: "no" });');
    const { ask } = await askingModule(own);
    writeFileSync(own.file, 'export default () => ({ verdict: "yes" });');
    expect(await ask()).toMatchObject({ verdict: 'no' });
  });
});
