import { readFileSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSecrets, demoCredentials, isDemoCredential } from '../../src/settings/secrets.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { SHOP, settingsOf } from './written.ts';

const contentOf = (name: string): string => readFileSync(`config/demo/${name}`, 'utf8');
const shipped = readdirSync('config/demo').filter((name) => name !== 'README.md');

describe('a demo credential', () => {
  it.each(shipped)('%s is recognised, and said to be published', (name) => {
    expect(isDemoCredential(contentOf(name))).toBe(true);
    expect(contentOf('README.md')).toContain(`- \`${name}\`: published, for trying out only.`);
  });

  it.each(shipped)('%s is recognised without armour and line breaks, in either base64', (name) => {
    const bare = contentOf(name).replaceAll(/-----[^-]+-----|\s/g, '');
    expect(isDemoCredential(bare)).toBe(true);
    expect(isDemoCredential(bare.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''))).toBe(true);
  });

  it.each(['', 'secret', contentOf('shop.secret').slice(1)])('%j is none', (content) => {
    expect(isDemoCredential(content)).toBe(false);
  });
});

describe('the settings', () => {
  it('have no credential in the file of a module, which everybody may read', () => {
    const file = resolve('config/demo/shop.secret');
    const own = `{ name: own, file: ${file}, sha256: '${'0'.repeat(64)}' }`;
    const { read, warnings } = createSecrets({ env: { S: 'my own' } });
    expect(demoCredentials(settingsOf(`${SHOP}modules: [${own}]\n`), read)).toEqual([]);
    expect(warnings()).toEqual([]);
  });

  it('as shipped name each of theirs', () => {
    const settings = loadSettings({ file: 'config/countersign.yaml', env: {} });
    const { read, warnings } = createSecrets({ env: {} });
    const demo = resolve('config/demo');
    const published = 'is published with the program: for trying out only';
    expect(demoCredentials(settings, read)).toEqual([
      `sources[0].signatures[0].secret (file ${demo}/shop.secret) ${published}`,
      `sources[0].signatures[1].platformKey (file ${demo}/platform.public.pem) ${published}`,
      `sources[0].signatures[1].merchantKey (file ${demo}/merchant.private.pem) ${published}`,
      `sources[0].signatures[2].platformKey (file ${demo}/platform.public.pem) ${published}`,
      `sources[0].signatures[2].merchantKey (file ${demo}/merchant.private.pem) ${published}`,
      `sources[1].authenticate[0].header.secret (file ${demo}/vault.token) ${published}`,
      `sources[1].selfCheck.clientSystemKey (file ${demo}/merchant.public.pem) ${published}`,
      `sources[1].selfCheck.verifySignKey (file ${demo}/platform.public.pem) ${published}`,
    ]);
    expect(warnings()).toEqual([]);
  });

  it('as shipped listen on this machine alone', () => {
    const settings = loadSettings({ file: 'config/countersign.yaml', env: {} });
    expect([settings.public.host, settings.ops.host, settings.store.url]).toEqual([
      '127.0.0.1',
      '127.0.0.1',
      `embedded:${resolve('data/countersign.db')}`,
    ]);
  });

  it('name a copy in a variable', () => {
    const { read } = createSecrets({ env: { S: contentOf('shop.secret') } });
    expect(demoCredentials(settingsOf(SHOP), read)).toHaveLength(1);
  });

  it('with a secret of their own, or one that cannot be read, name none', () => {
    expect(demoCredentials(settingsOf(SHOP), createSecrets({ env: { S: 'my own' } }).read)).toEqual([]);
    expect(demoCredentials(settingsOf(SHOP), createSecrets({ env: {} }).read)).toEqual([]);
  });
});
