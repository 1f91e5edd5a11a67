import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const LAUNCHER = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url));
/** As if the Node that runs the tests were an old one. */
const NEEDED = 999;

/** A checkout with this launcher, beside an installed Node that counts its starts. */
function checkout(installed?: string): {
  readonly run: () => ReturnType<typeof spawnSync>;
  readonly starts: () => number;
} {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-launcher-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
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

  it('starts the installed Node if that is new enough', () => {
    const { run, starts } = checkout('999.0.0');
    run();
    expect(starts()).toBeGreaterThan(0);
  });
});
