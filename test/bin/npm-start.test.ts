import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { writeServiceFolder } from '../service.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

type Lines = Record<string, unknown>[];

/** `npm start` in a process group of its own, as a terminal would run it. Resolves once it serves. */
async function startWithNpm() {
  const folder = writeServiceFolder();
  const npm = spawn('npm', ['start', '--silent', '--', '--config', join(folder, 'settings.yaml')], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const group = -(npm.pid ?? NaN);
  onTestFinished(() => {
    try {
      process.kill(group, 'SIGKILL');
    } catch {
      // All of it has ended, as it should.
    }
    rmSync(folder, { recursive: true, force: true });
  });
  const lines: Lines = [];
  npm.stderr.resume();
  // Its output is closed when the last process that could write to it has ended: the service too, not npm
  // alone.
  const ended = once(npm, 'close');
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: npm.stdout }).on('line', (line) => {
      const written = JSON.parse(line) as Lines[number];
      lines.push(written);
      if (written['event'] === 'serving') resolve();
    });
    npm.once('exit', (code) => reject(new Error(`npm start ended with ${code}`)));
  });
  return { npm, group, lines, ended };
}

const eventsOf = (lines: Lines): readonly unknown[] => lines.map(({ event }) => event);

it.each(['SIGTERM', 'SIGINT'] as const)('%s to npm start stops the service', async (signal) => {
  const { npm, lines, ended } = await startWithNpm();
  npm.kill(signal);
  await ended;
  expect(eventsOf(lines).slice(-2)).toEqual(['stopping', 'stopped']);
});

it.each(['SIGINT', 'SIGHUP'] as const)(
  '%s from a terminal, which npm gets as well, stops the service in order',
  async (signal) => {
    const { group, lines, ended } = await startWithNpm();
    process.kill(group, signal);
    await ended;
    expect(eventsOf(lines).slice(-2)).toEqual(['stopping', 'stopped']);
  },
);
