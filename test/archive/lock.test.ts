import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lockDirectory } from '../../src/archive/folder.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const CHILD = fileURLToPath(new URL('./lock-child.ts', import.meta.url));

describe('the lock of an archive', () => {
  it('refuses a second archiver, also of the same process, until the first has ended', () => {
    const directory = temporaryFolder();
    const first = lockDirectory(directory);
    expect(() => lockDirectory(directory)).toThrow(/another archiver is running in .*\. Run this one when/);
    first.release();
    lockDirectory(directory).release();
  });

  it('is gone with a process that was killed', async () => {
    const directory = temporaryFolder();
    const child = spawn(process.execPath, [CHILD, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    expect(said.toString()).toBe('held\n');
    expect(() => lockDirectory(directory)).toThrow('another archiver');
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
    lockDirectory(directory).release();
  });

  it('says what to do where it can not be had', () => {
    expect(() => lockDirectory(join(temporaryFolder(), 'nowhere'))).toThrow(
      /can't be locked.*Let this user write/,
    );
  });
});
