import { generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import { type Secrets, createSecrets } from '../../src/settings/secrets.ts';

const fresh = (): string => mkdtempSync(join(tmpdir(), 'countersign-secrets-'));
const secretsOf = (env: Record<string, string> = {}): Secrets => createSecrets({ env, pollMs: 5 });

function written(content: string | Buffer, mode = 0o600): string {
  const file = join(fresh(), 'secret');
  writeFileSync(file, content, { mode });
  return file;
}

/** The next time that `secrets` sees a change, made by `change`. */
async function seen(secrets: Secrets, change: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = secrets.watch(resolve);
  change();
  await promise;
  end();
}

describe('a secret', () => {
  it.each(['s3cret', '  s3cret\r\n', '\uFEFFs3cret\n'])(
    'is read from a file without what is around it: %j',
    (content) => {
      expect(secretsOf().read({ file: written(content) })).toBe('s3cret');
    },
  );

  it('is read from a variable', () => {
    expect(secretsOf({ S: ' s3cret\n' }).read({ env: 'S' })).toBe('s3cret');
  });

  it('may have 64 KiB', () => {
    expect(secretsOf().read({ file: written('x'.repeat(65536)) })).toHaveLength(65536);
  });
});

describe('a secret that cannot be read names its reference and the cure', () => {
  const directory = fresh();
  it.each([
    ['a file that is not there', { file: join(directory, 'none') }, "can't be read (ENOENT)"],
    ['a directory', { file: directory }, 'is not a regular file'],
    ['an empty file', { file: written('') }, 'is empty'],
    ['a file of blanks', { file: written(' \n') }, 'is empty'],
    ['a file that is too large', { file: written('x'.repeat(65537)) }, 'is larger than 64 KiB'],
    ['a file that is no text', { file: written(Buffer.from([0x73, 0xff])) }, 'is not text'],
    ['a variable that is not set', { env: 'NONE' }, 'is not set or is empty'],
    ['an empty variable', { env: 'EMPTY' }, 'is not set or is empty'],
    ['a variable of the prototype', { env: 'toString' }, 'is not set or is empty'],
    ['a variable that is too large', { env: 'LARGE' }, 'is larger than 64 KiB'],
  ])('%s', (_, reference, problem) => {
    const secrets = secretsOf({ EMPTY: '', LARGE: 'x'.repeat(65537) });
    const name = 'file' in reference ? `file ${reference.file}` : `environment variable ${reference.env}`;
    const thrown = thrownBy(() => secrets.read(reference));
    expect(thrown.code).toBe('SECRET_UNREADABLE');
    expect(thrown.message).toContain(`${name} ${problem}; `);
    expect(thrown.data).toEqual({ ...reference, problem });
    expect(thrown.message).not.toContain('xxx');
  });
});

describe('a watched secret is read again after', () => {
  it('a write', async () => {
    const [file, secrets] = [written('old'), secretsOf()];
    expect(secrets.read({ file })).toBe('old');
    await seen(secrets, () => writeFileSync(file, 'new'));
    expect(secrets.read({ file })).toBe('new');
  });

  it('another file was renamed over it', async () => {
    const [file, secrets] = [written('old'), secretsOf()];
    secrets.read({ file });
    await seen(secrets, () => {
      writeFileSync(`${file}.next`, 'new');
      renameSync(`${file}.next`, file);
    });
    expect(secrets.read({ file })).toBe('new');
  });

  it('the link above it was swapped, as Kubernetes does', async () => {
    const [directory, secrets] = [fresh(), secretsOf()];
    for (const version of ['1', '2']) {
      mkdirSync(join(directory, version));
      writeFileSync(join(directory, version, 'secret'), `version ${version}`);
    }
    symlinkSync('1', join(directory, '..data'));
    symlinkSync('..data/secret', join(directory, 'secret'));
    const file = join(directory, 'secret');
    expect(secrets.read({ file })).toBe('version 1');
    await seen(secrets, () => {
      symlinkSync('2', join(directory, 'next'));
      renameSync(join(directory, 'next'), join(directory, '..data'));
    });
    expect(secrets.read({ file })).toBe('version 2');
  });

  it('the file was removed, and after it was put back', async () => {
    const [file, secrets] = [written('old'), secretsOf()];
    secrets.read({ file });
    await seen(secrets, () => unlinkSync(file));
    expect(thrownBy(() => secrets.read({ file })).code).toBe('SECRET_UNREADABLE');
    await seen(secrets, () => writeFileSync(file, 'new'));
    expect(secrets.read({ file })).toBe('new');
  });

  it('a change before the watch began', async () => {
    const [file, secrets] = [written('old'), secretsOf()];
    secrets.read({ file });
    rmSync(file);
    writeFileSync(file, 'newer');
    await seen(secrets, () => undefined);
    expect(secrets.read({ file })).toBe('newer');
  });
});

describe('a watch', () => {
  it('that has ended is not called, while another one is', async () => {
    const [file, secrets] = [written('old'), secretsOf()];
    secrets.read({ file });
    let calls = 0;
    const count = (): void => void (calls += 1);
    const [endFirst, endSecond] = [secrets.watch(count), secrets.watch(count)];
    endFirst();
    await seen(secrets, () => writeFileSync(file, 'new'));
    expect(calls).toBe(1);
    endSecond();
    await seen(secrets, () => writeFileSync(file, 'newest'));
    expect(calls).toBe(1);
  });

  it('does not keep the process alive', () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const end = secretsOf().watch(() => undefined);
    expect(timers()).toBe(before);
    end();
  });
});

describe('a file that every user can read', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const pem = publicKey.export({ type: 'spki', format: 'pem' });
  const der = publicKey.export({ type: 'spki', format: 'der' });

  it.each([
    ['a secret', 's3cret'],
    ['a private key', privateKey.export({ type: 'pkcs8', format: 'pem' })],
    ['a private key without armour', privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64')],
    ['a private key beside a public one', pem + privateKey.export({ type: 'pkcs1', format: 'pem' })],
  ])('is warned of if it holds %s, until it is mended', (_, content) => {
    const [file, secrets] = [written(content), secretsOf()];
    chmodSync(file, 0o644);
    secrets.read({ file });
    expect(secrets.warnings()).toEqual([
      `the secret in file ${file} can be read by every user of this machine; run chmod o-r on it`,
    ]);
    chmodSync(file, 0o640);
    secrets.read({ file });
    expect(secrets.warnings()).toEqual([]);
  });

  it.each([
    ['a public key', pem],
    ['a public key without armour', der.toString('base64')],
    ['a public key in the base64 of URLs', der.toString('base64url')],
  ])('may hold %s', (_, content) => {
    const [file, secrets] = [written(content), secretsOf()];
    chmodSync(file, 0o644);
    secrets.read({ file });
    expect(secrets.warnings()).toEqual([]);
  });
});

function thrownBy(work: () => unknown): CountersignError {
  try {
    work();
  } catch (thrown) {
    if (thrown instanceof CountersignError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}
