import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

const RULE = new URL('../../../src/policy/rules/contract-calls.ts', import.meta.url).href;
// The list is taken before anything is written: a pipe to write to loads `net` itself.
const LOADED = `await import(${JSON.stringify(RULE)}); const loaded = JSON.stringify(process.moduleLoadList); process.stdout.write(loaded);`;

describe('decoding call data', () => {
  it('loads nothing that could reach a network', () => {
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', LOADED], {
      encoding: 'utf8',
    });
    expect(output).toContain('NativeModule internal/modules/esm/loader');
    for (const module of ['net', 'tls', 'http', 'https', 'http2', 'dgram', 'dns']) {
      expect(output).not.toContain(`"NativeModule ${module}"`);
    }
  });
});
