import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { type Lock, billOf } from '../../tools/sbom/main.ts';
import { ROOT, textOf } from '../deploy/documents.ts';
import { temporaryFolder } from '../temporary-folder.ts';

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
}

interface Bill {
  readonly specVersion: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const lock = JSON.parse(textOf('package-lock.json')) as Lock;
const parsed = (text: string): Bill => JSON.parse(text) as Bill;
const bill = parsed(billOf(lock));
const refs = bill.components.map((each) => each['bom-ref']);

describe('the bill of materials', () => {
  it('is that of this version', () => {
    const { name, version } = packageJson;
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name, version } } });
  });

  it('has each package of production once, with its version and its hash', () => {
    const production = Object.entries(lock.packages).filter(
      ([path, { dev, link }]) => !/^(?:$|node_modules\/@?typescript)/.test(path) && !dev && !link,
    );
    expect(refs.toSorted()).toEqual(production.map(([path]) => path).toSorted());
    for (const { 'bom-ref': ref, version, hashes = [] } of bill.components) {
      const { version: locked, integrity } = lock.packages[ref] ?? {};
      const digests = hashes.map(
        ({ alg, content }) =>
          `${alg.toLowerCase().replace('-', '')}-${Buffer.from(content, 'hex').toString('base64')}`,
      );
      expect({ ref, version, digests: digests.join(' ') }).toEqual({
        ref,
        version: locked,
        digests: integrity ?? '',
      });
    }
  });

  it('has the direct dependencies and the workspaces, and nothing for development', () => {
    const names = bill.components.map(({ name }) => name);
    const own = ['countersign-platform', 'countersign-sandbox'];
    expect(names).toEqual(expect.arrayContaining([...Object.keys(packageJson.dependencies), ...own]));
    expect(names).not.toContain('vitest');
    expect(names).not.toContain('typescript');
  });

  it('names what each needs, and nothing that it does not list', () => {
    const all = new Set(['.', ...refs]);
    expect(bill.dependencies.map(({ ref }) => ref).toSorted()).toEqual([...all].toSorted());
    const needed = bill.dependencies.flatMap(({ dependsOn }) => dependsOn);
    expect(needed.filter((ref) => !all.has(ref))).toEqual([]);
    // Nothing is listed that nobody needs.
    expect(refs.filter((ref) => !needed.includes(ref))).toEqual([]);
  });

  it('finds the nearest package of a name, as Node does', () => {
    const made = parsed(
      billOf({
        packages: {
          '': { name: 'p', version: '1.0.0', dependencies: { a: '1' }, optionalDependencies: { gone: '1' } },
          'node_modules/a': { version: '1.0.0', dependencies: { '@s/b': '2' } },
          'node_modules/a/node_modules/@s/b': { version: '2.0.0', peerDependencies: { c: '1', dev: '1' } },
          'node_modules/@s/b': { version: '1.0.0' },
          'node_modules/c': { version: '1.0.0', integrity: 'sha512-q80= sha1-q80=' },
          'node_modules/dev': { version: '1.0.0', dev: true },
          'node_modules/w': { resolved: 'packages/w', link: true },
          'packages/w': { name: 'w', version: '1.0.0', dependencies: { '@s/b': '1' } },
        },
      }),
    );
    expect(Object.fromEntries(made.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))).toEqual({
      '.': ['node_modules/a', 'packages/w'],
      'node_modules/a': ['node_modules/a/node_modules/@s/b'],
      'node_modules/a/node_modules/@s/b': ['node_modules/c'],
      'node_modules/@s/b': [],
      'node_modules/c': [],
      'packages/w': ['node_modules/@s/b'],
    });
    expect(made.components.map(({ purl }) => purl)).toContain('pkg:npm/%40s/b@2.0.0');
    expect(made.components.find(({ name }) => name === 'c')?.hashes).toEqual([
      { alg: 'SHA-512', content: 'abcd' },
      { alg: 'SHA-1', content: 'abcd' },
    ]);
  });

  it('is written by npm run sbom, always the same', () => {
    const file = join(temporaryFolder(), 'bill.json');
    const run = spawnSync(process.execPath, ['tools/sbom/main.ts', file], { cwd: ROOT, encoding: 'utf8' });
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(file, 'utf8')).toBe(billOf(lock));
  });
});
