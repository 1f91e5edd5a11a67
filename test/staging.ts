import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestService, type TestServiceOptions, startTestService } from './service.ts';

/** Made once a process; none of them is a key of the services that are recorded. */
const platform = generateKeyPairSync('rsa', { modulusLength: 2048 });
const merchant = generateKeyPairSync('rsa', { modulusLength: 2048 });
const privatePem = ({ privateKey }: typeof platform): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' });

export interface StagingOptions extends Omit<TestServiceOptions, 'folder' | 'settings'> {
  readonly shop?: Readonly<Record<string, unknown>>;
  readonly vault?: Readonly<Record<string, unknown>>;
}

export interface Staging {
  readonly service: TestService;
  /** The file of the platform's private key there. */
  readonly key: string;
}

/** An instance whose sources have the same names and other keys, secrets, paths and another appKey. */
export async function startStaging({ shop, vault, ...options }: StagingOptions = {}): Promise<Staging> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-staging-'));
  const write = (name: string, text: string): { file: string } => {
    const file = join(folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return { file };
  };
  const key = write('staging-platform.private.pem', privatePem(platform));
  const platformKey = write(
    'staging-platform.pem',
    platform.publicKey.export({ type: 'spki', format: 'pem' }),
  );
  const sources = [
    {
      name: 'shop',
      callback: 'payment',
      appKey: 'staging-shop',
      signatures: [
        { scheme: 'md5', secret: write('staging-shop.secret', 'another-secret-of-staging') },
        { scheme: 'rsa', platformKey, signs: 'md5-hex' },
        {
          scheme: 'rsa-envelope',
          platformKey,
          merchantKey: write('staging-merchant.pem', privatePem(merchant)),
        },
      ],
      answer: 'json',
      ...shop,
    },
    {
      name: 'vault',
      callback: 'cosigner',
      paths: { withdraw: '/staging/withdraw', web3: '/staging/web3' },
      authenticate: [
        { header: { name: 'x-token', secret: write('staging-vault.token', 'staging-token-of-the-vault') } },
        { path: { secret: write('staging-vault.path', 'staging-path-of-the-vault') } },
      ],
      ...vault,
    },
  ];
  return {
    service: await startTestService({ ...options, folder, settings: { sources, answerTimeoutMs: '10000' } }),
    key: key.file,
  };
}
