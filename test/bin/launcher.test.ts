import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';

const LAUNCHER = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url));
/** As if the Node that runs the tests were an old one. */
const NEEDED = 999;

/** A checkout with this launcher, beside an installed Node that counts its starts. */
function checkout(installed?: string): {
  readonly run: () => ReturnType<typeof spawnSync>;
  readonly starts: () => number;
  /** Replaces the installed Node; undefined: nobody may execute it. */
  readonly write: (script: string | undefined) => void;
  readonly remove: () => void;
} {
  const folder = temporaryFolder();
  const [bin, node, count] = [join(folder, 'bin'), join(folder, 'node_modules/node'), join(folder, 'count')];
  mkdirSync(bin);
  const text = readFileSync(LAUNCHER, 'utf8').replace(/needed = \d+/, `needed = ${NEEDED}`);
  writeFileSync(join(bin, 'countersign.js'), text);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  if (installed !== undefined) {
    mkdirSync(join(node, 'bin'), { recursive: true });
    writeFileSync(join(node, 'package.json'), JSON.stringify({ version: installed }));
    const script = `#!/bin/sh\necho x >> ${count}\n[ $(wc -l < ${count}) -gt 3 ] && exit 9\nexec ${process.execPath} "$@"\n`;
    writeFileSync(join(node, 'bin/node'), script, { mode: 0o755 });
  }
  return {
    run: () => spawnSync(process.execPath, [join(bin, 'countersign.js'), '--version'], { encoding: 'utf8' }),
    write: (script) => {
      rmSync(join(node, 'bin/node'));
      writeFileSync(join(node, 'bin/node'), script ?? '', { mode: script === undefined ? 0o644 : 0o755 });
    },
    remove: () => rmSync(join(node, 'bin/node')),
    starts: () => (existsSync(count) ? readFileSync(count, 'utf8').length / 2 : 0),
  };
}

describe('the program under a Node that is too old', () => {
  it.each([
    ['no other Node is installed', undefined],
    ['the installed Node is too old as well', '24.21.0'],
    ['the installed Node has no version', ''],
  ])('says what it needs where %s, and starts nothing', (_, installed) => {
    const { run, starts } = checkout(installed);
    const { status, stderr } = run();
    expect(String(stderr)).toBe(
      `countersign needs Node ${NEEDED} or newer; this is ${process.version}. Run npm ci, or install it.\n`,
    );
    expect(status).toBe(2);
    expect(starts()).toBe(0);
  });

  it.each([
    [
      'has no loader here',
      '#!/lib/ld-musl-of-the-tests\n',
      /ENOENT.*runs on macOS and on Linux with glibc.*Alpine/s,
    ],
    ['may not be run', undefined, /EACCES/],
  ])('says which systems the installed Node is for if it %s', (_, script, said) => {
    const { run, write } = checkout('999.0.0');
    write(script);
    const { status, stderr } = run();
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringMatching(said) });
    expect(stderr).not.toContain('Run npm ci');
  });

  it('says that npm ci is needed if the installed Node is gone', () => {
    const { run, remove } = checkout('999.0.0');
    remove();
    const { status, stderr } = run();
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringMatching(/ENOENT\. Run npm ci\.$/m),
    });
  });

  it('says what to install if the installed Node misses a library', () => {
    const { run, write } = checkout('999.0.0');
    write('#!/bin/sh\necho "node: error while loading shared libraries: libatomic.so.1" >&2\nexit 127\n');
    const { status, stderr } = run();
    expect(status).toBe(127);
    expect(stderr).toMatch(/libatomic\.so\.1\n.*a library is missing.*apt-get install libatomic1/s);
  });

  it('starts the installed Node if that is new enough', () => {
    const { run, starts } = checkout('999.0.0');
    run();
    expect(starts()).toBeGreaterThan(0);
  });
});
