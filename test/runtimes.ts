import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

export interface Runtime {
  readonly version: string;
  readonly program: string;
  /** 20.019 for 20.19. */
  readonly release: number;
}

/** The Node that runs this, and the one of the system if it is not older than `least`. */
export function runtimes(least: number): readonly Runtime[] {
  const programs = (process.env['PATH'] ?? '')
    .split(':')
    .filter((each) => !each.endsWith('node_modules/.bin'))
    .map((each) => join(each, 'node'));
  const found = [process.execPath, ...programs].flatMap((program): [string, Runtime][] => {
    const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
    const [version = '', major = 0, minor = 0] = /^v(\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
    const release = Number(major) + Number(minor) / 1000;
    return release >= least ? [[version, { version, program, release }]] : [];
  });
  return [...new Map(found).values()];
}
