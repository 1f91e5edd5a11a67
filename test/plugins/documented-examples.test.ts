import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/values/clock.ts';
import { eventually } from '../eventually.ts';
import { payment, transfer } from '../policy/callbacks.ts';
import { askingModule, askingService } from './asking.ts';
import { SECRET } from './other-side.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** The one piece of JavaScript in a page of the documentation, as a file. */
function exampleOf(page: string): { readonly file: string; readonly sha256: string } {
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(readFileSync(`docs/${page}`, 'utf8')) ?? [];
  const folder = temporaryFolder();
  const file = join(folder, 'example.mjs');
  writeFileSync(file, code);
  return { file, sha256: createHash('sha256').update(code).digest('hex') };
}

describe('the example in the documentation works', () => {
  /** Where the service of docs/ask.md listens, with this secret. */
  async function runningExample(secret: string): Promise<string> {
    const { file } = exampleOf('ask.md');
    const child = spawn(process.execPath, [file], { env: { SECRET: secret, PORT: '0' }, stdio: 'pipe' });
    onTestFinished(async () => {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    return eventually('it listens', () => {
      if (child.exitCode !== null) return new Error(said);
      return /asked at (http:\S+)\n/.exec(said)?.[1];
    });
  }

  it('of a service', async () => {
    const url = await runningExample(SECRET);
    const { ask } = await askingService(url, {}, systemClock);
    expect(await ask({ callback: transfer() })).toEqual({ verdict: 'yes', because: '' });
    expect(await ask({ callback: transfer({ memo: '5' }) })).toEqual({
      verdict: 'no',
      because: 'withdrawals have no memo here',
    });
    expect(await ask({ callback: payment() })).toMatchObject({ verdict: 'no' });
  });

  it('of a service, which refuses another secret and an old question', async () => {
    const other = await askingService(await runningExample('another'), {}, systemClock);
    expect(await other.ask()).toEqual({ verdict: 'failed', because: 'it answered with HTTP status 401' });
    const late = await askingService(await runningExample(SECRET), {}, () => systemClock() - 61_000);
    expect(await late.ask()).toEqual({ verdict: 'failed', because: 'it answered with HTTP status 401' });
  });

  it('of a module', async () => {
    // 2026-03-02, when it is asked, is a Monday.
    const { ask } = await askingModule(exampleOf('module.md'));
    const callback = transfer();
    const monday = { parameters: { closed: 'Saturday Monday' }, callback };
    expect(await ask({ callback })).toEqual({ verdict: 'yes', because: '' });
    expect(await ask({ parameters: { closed: 'Saturday Sunday' }, callback })).toMatchObject({
      verdict: 'yes',
    });
    expect(await ask(monday)).toEqual({ verdict: 'no', because: 'no withdrawals on a Monday' });
    expect(await ask({ callback: payment() })).toMatchObject({ verdict: 'no' });
    expect(await ask({ callback: transfer({ pending_round: true }) })).toMatchObject({ verdict: 'no' });
  });
});
