import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { nextPort } from '../ports.ts';
import { ROOT, textOf } from './documents.ts';

const README = textOf('README.md');

/** What somebody types who reads from top to bottom, in fences and in sentences; Docker is not here. */
function commandsIn(markdown: string): readonly string[] {
  const found = [
    ...markdown.matchAll(/^(?:\$ )?((?:npx countersign|curl) .*)$|`((?:npx countersign|curl) [^`\n]+)`/gm),
  ];
  return found.map(([, line, inline]) => (line ?? inline ?? '').replace(/\s+#.*$/, ''));
}

/** It says no: the text shows a refusal. */
const SAYS_NO = 'npx countersign send payment --amount 20000';

describe(
  'the commands of the README and of the risk officer, typed in order in a fresh clone',
  { timeout: 240_000 },
  () => {
    const clone = mkdtempSync(join(tmpdir(), 'countersign-readme-'));
    let service: ChildProcess | undefined;
    let env: NodeJS.ProcessEnv = {};
    let ops = 0;

    beforeAll(async () => {
      for (const name of [
        'bin',
        'config',
        'src',
        'packages',
        'package.json',
        'docs/examples',
        'docs/callbacks.example.json',
      ]) {
        mkdirSync(join(clone, 'docs'), { recursive: true });
        cpSync(join(ROOT, name), join(clone, name), { recursive: true });
      }
      symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
      ops = await nextPort();
      env = {
        ...process.env,
        COUNTERSIGN_PUBLIC_PORT: String(await nextPort()),
        COUNTERSIGN_OPS_PORT: String(ops),
      };
      service = spawn(process.execPath, ['bin/countersign.js', 'serve'], {
        cwd: clone,
        env,
        stdio: 'ignore',
      });
      await eventually('the service is ready', async () => {
        const answer = await fetch(`http://127.0.0.1:${ops}/readyz`).catch(() => undefined);
        return answer?.ok === true ? true : undefined;
      });
    }, 120_000);

    afterAll(async () => {
      if (service?.exitCode === null && service.kill()) await once(service, 'exit');
      rmSync(clone, { recursive: true, force: true });
    });

    const commands = [README, textOf('docs/risk-officer.md')].flatMap(commandsIn);

    it('of which there are many', () => {
      expect(commands.length).toBeGreaterThan(15);
    });

    it.each(commands)('%s', (command) => {
      const typed = command
        .replaceAll('npx countersign', `"${process.execPath}" bin/countersign.js`)
        .replaceAll(':9090', `:${ops}`);
      const { status, stdout, stderr } = spawnSync('sh', ['-c', typed], {
        cwd: clone,
        env,
        encoding: 'utf8',
      });
      expect({ status, stdout, stderr }).toMatchObject({ status: command === SAYS_NO ? 1 : 0 });
    });
  },
);
