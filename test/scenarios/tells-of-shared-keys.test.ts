import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { placeIn } from '../cli/terminal.ts';
import { startTestService, writeServiceFolder } from '../service.ts';

const pem = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ type: 'spki', format: 'pem' });

/** The tests' own sources, and a second shop that accepts these schemes. */
function withStall(signatures: (file: (name: string) => object) => readonly object[]): {
  readonly folder: string;
  readonly settings: Readonly<Record<string, unknown>>;
} {
  const folder = writeServiceFolder();
  const written: { readonly sources: readonly object[] } = parse(
    readFileSync(join(folder, 'settings.yaml'), 'utf8'),
  );
  const merchant = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const write = (name: string, text: string): void =>
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  write('stall.pem', merchant.export({ type: 'pkcs8', format: 'pem' }));
  write('other.pem', pem());
  // The same key, kept in another file and another form.
  write('copy.pem', readFileSync(join(folder, 'platform.pem'), 'utf8').replaceAll(/-----[^\n]*\n|\n/g, ''));
  const file = (name: string): object => ({ file: join(folder, name) });
  const stall = { name: 'stall', callback: 'payment', appKey: 'test-stall', signatures: signatures(file) };
  return { folder, settings: { sources: [...written.sources, stall] } };
}

const SHARED =
  /^the sources shop and stall share the platform key SHA256:[A-Za-z0-9+/]{43}, so its owner can sign for both/;
const ENVELOPES =
  /, and an rsa-envelope for one can be encrypted again for the other; have the platform use a key for each$/;

async function told(given: ReturnType<typeof withStall>): Promise<readonly unknown[]> {
  const service = await startTestService(given);
  onTestFinished(() => service.stop());
  const logged = service.log
    .filter(({ event, because }) => event === 'source-weak' && /the sources/.test(String(because)))
    .map(({ because }) => because);
  const { json } = await placeIn(given.folder).run('doctor', '--json');
  const findings = JSON.stringify(json());
  for (const because of logged) expect(findings).toContain(JSON.stringify(because));
  expect(findings.includes('the sources shop and stall')).toBe(logged.length > 0);
  return logged;
}

describe('a platform key that two sources share is reported at the start and by doctor', () => {
  it('where both accept envelopes', async () => {
    const [because, ...more] = await told(
      withStall((file) => [
        { scheme: 'rsa-envelope', platformKey: file('copy.pem'), merchantKey: file('stall.pem') },
        { scheme: 'rsa', platformKey: file('copy.pem') },
      ]),
    );
    expect(more).toEqual([]);
    expect(because).toMatch(SHARED);
    expect(because).toMatch(ENVELOPES);
  });

  it('where one accepts none', async () => {
    const [because] = await told(withStall((file) => [{ scheme: 'rsa', platformKey: file('platform.pem') }]));
    expect(because).toMatch(SHARED);
    expect(because).not.toMatch(/envelope/);
  });

  it('and nothing is said where each has its own', async () => {
    const own = withStall((file) => [
      { scheme: 'rsa-envelope', platformKey: file('other.pem'), merchantKey: file('stall.pem') },
    ]);
    expect(await told(own)).toEqual([]);
  });
});
