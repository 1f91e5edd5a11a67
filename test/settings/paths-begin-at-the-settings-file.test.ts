import { writeFileSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { settingKeys } from '../../src/settings/keys.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { settingsOfFile } from './written.ts';
import { temporaryFolder } from '../temporary-folder.ts';

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

/** Every setting that names a file or a folder. */
const EVERY_PATH = `
public: { tls: { certificate: a.pem, key: { file: b.pem }, clientCa: c.pem } }
ops: { token: { file: d.token }, tls: { certificate: v.pem, key: { file: w.pem } } }
store:
  url: rediss://127.0.0.1:6379/0
  username: someone
  password: { file: e.secret }
  tls: { ca: f.pem, certificate: g.pem, key: { file: h.pem } }
policies: { directory: i }
tracing: { endpoint: http://127.0.0.1:4318, headers: [{ name: x, secret: { file: x.token } }] }
platform: { url: https://openapi.example }
reconcile: { directory: u }
services: [{ name: s, url: https://risk.example/ask, secret: { file: j.secret }, ca: k.pem }]
notifications: [{ url: https://chat.example/, secret: { file: y.secret }, events: [freeze] }]
modules: [{ name: m, file: l.mjs, sha256: '${'0'.repeat(64)}' }]
deployment: acme-test
signers: { file: u.yaml, state: v.json }
sources:
  - name: shop
    callback: payment
    appKey: shop
    signatures:
      - { scheme: md5, secret: { file: m.secret } }
      - { scheme: rsa, platformKey: { file: n.pem } }
      - { scheme: rsa-envelope, platformKey: { file: o.pem }, merchantKey: { file: p.pem } }
  - name: vault
    callback: cosigner
    authenticate:
      - header: { name: authorization, secret: { file: q.token } }
      - path: { secret: { file: r.token } }
    selfCheck: { clientSystemKey: { file: s.pem }, verifySignKey: { file: t.pem } }
`;
const SHOP =
  'sources: [{ name: shop, callback: payment, appKey: shop, signatures: [{ scheme: md5, secret: { file: m.secret } }] }]\n';

/** The values at a path of settings, `*` for each element of a list. */
function valuesAt(node: unknown, [step, ...rest]: readonly string[]): readonly unknown[] {
  if (step === undefined) return node === undefined ? [] : [node];
  if (typeof node !== 'object' || node === null) return [];
  const below = step === '*' ? Object.values(node) : [Reflect.get(node, step) as unknown];
  return below.flatMap((child) => valuesAt(child, rest));
}

describe('a relative path of the settings begins in the folder of their file', () => {
  it('for every setting', () => {
    const folder = folderWith({ 'countersign.yaml': EVERY_PATH });
    const settings = loadSettings({ file: relative('.', join(folder, 'countersign.yaml')), env: {} });
    const paths = settingKeys().filter(({ types }) =>
      types.some((type) => type === 'file path' || type === 'directory'),
    );
    expect(paths.length).toBeGreaterThan(18);
    for (const { path } of paths) {
      const values = valuesAt(settings, path);
      const outside = values.filter((value) => !String(value).startsWith(`${folder}/`));
      expect({ path, outside, some: values.length > 0 }).toEqual({ path, outside: [], some: true });
    }
  });

  it('the embedded store, written, by default, and by a variable', () => {
    const folder = folderWith({
      'written.yaml': `${SHOP}store: embedded:../decisions.db\n`,
      'default.yaml': SHOP,
    });
    const url = (name: string, env = {}): string => settingsOfFile(join(folder, name), env).store.url;
    expect(url('written.yaml')).toBe(`embedded:${join(folder, '..', 'decisions.db')}`);
    expect(url('default.yaml')).toBe(`embedded:${join(folder, 'data', 'countersign.db')}`);
    expect(url('default.yaml', { COUNTERSIGN_STORE: 'embedded:other.db' })).toBe(
      `embedded:${join(folder, 'other.db')}`,
    );
    expect(url('default.yaml', { COUNTERSIGN_STORE: 'embedded:/var/lib/c:d.db' })).toBe(
      'embedded:/var/lib/c:d.db',
    );
    expect(url('default.yaml', { COUNTERSIGN_STORE: 'embedded::memory:' })).toBe('embedded::memory:');
  });

  it('as those of the first try do, which are where they were', () => {
    const { store, policies, sources } = loadSettings({ file: 'config/countersign.yaml', env: {} });
    expect(store.url).toBe(`embedded:${join(process.cwd(), 'data', 'countersign.db')}`);
    expect(policies.directory).toBe(join(process.cwd(), 'config', 'policies'));
    expect(JSON.stringify(sources)).toContain(join(process.cwd(), 'config', 'demo', 'shop.secret'));
  });

  it('or at the working directory without a settings file', () => {
    const { policies } = loadSettings({
      file: '/dev/null',
      env: {
        COUNTERSIGN_SOURCES_0_NAME: 'shop',
        COUNTERSIGN_SOURCES_0_CALLBACK: 'payment',
        COUNTERSIGN_SOURCES_0_APP_KEY: 'shop',
        COUNTERSIGN_SOURCES_0_SIGNATURES_0_SCHEME: 'md5',
        COUNTERSIGN_SOURCES_0_SIGNATURES_0_SECRET_ENV: 'SECRET',
        COUNTERSIGN_POLICIES_DIRECTORY: 'config/policies',
      },
    });
    expect(isAbsolute(policies.directory)).toBe(true);
    expect(policies.directory).toBe(join(process.cwd(), 'config', 'policies'));
  });
});
