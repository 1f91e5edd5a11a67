import { copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../certificates.ts';
import { eventually } from '../eventually.ts';
import { PAYMENT_PATH, type TestService, VAULT_TOKEN, signedPayment, transfer } from '../service.ts';
import { serviceHere } from './running.ts';

interface Files {
  readonly path: (name: string) => string;
  /** Puts another file in its place, at once. */
  readonly replace: (name: string, content: string) => void;
}

function filesOfItsOwn(): Files {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-keys-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = (name: string): string => join(folder, name);
  const replace = (name: string, content: string): void => {
    writeFileSync(path('new'), content, { mode: 0o600 });
    renameSync(path('new'), path(name));
  };
  return { path, replace };
}

let orders = 0;
async function payWith(service: TestService, secret: string): Promise<string> {
  const body = signedPayment({ appOrderId: `rotation-${orders++}`, orderAmount: '1' }, { secret });
  return (await service.post(PAYMENT_PATH, body)).body;
}

const acceptsSoon = (service: TestService, secret: string): Promise<unknown> =>
  eventually(
    'the new secret is accepted',
    async () => (await payWith(service, secret)) === 'SUCCESS' || undefined,
  );

const logs = (service: TestService, event: string): Promise<Readonly<Record<string, unknown>>> =>
  eventually(`the log says ${event}`, () => service.log.findLast((line) => line['event'] === event));

async function shopWith(files: Files): Promise<TestService> {
  files.replace('first', 'secret-one');
  files.replace('second', 'secret-two');
  const signatures = ['first', 'second'].map((name) => ({
    scheme: 'md5',
    secret: { file: files.path(name) },
  }));
  const shop = { name: 'shop', callback: 'payment', appKey: 'test-shop', signatures };
  return serviceHere({ settings: { sources: [shop] } });
}

describe('while the service runs', () => {
  it('two secrets count at once, a new one soon, and one that is gone no more', async () => {
    const files = filesOfItsOwn();
    const service = await shopWith(files);
    expect(await payWith(service, 'secret-one')).toBe('SUCCESS');
    expect(await payWith(service, 'secret-two')).toBe('SUCCESS');
    expect(await payWith(service, 'secret-three')).toBe('FAILURE');

    files.replace('first', 'secret-three');
    await acceptsSoon(service, 'secret-three');
    expect(await payWith(service, 'secret-one')).toBe('FAILURE');
    expect(await payWith(service, 'secret-two')).toBe('SUCCESS');

    // The way of the usual editors: written over, not replaced.
    writeFileSync(files.path('second'), 'secret-four\n');
    await acceptsSoon(service, 'secret-four');
    expect(await payWith(service, 'secret-two')).toBe('FAILURE');
    expect(await payWith(service, 'secret-three')).toBe('SUCCESS');
  });

  it.each([
    ['empty', (files: Files) => files.replace('first', '')],
    ['gone', (files: Files) => rmSync(files.path('first'))],
    ['too large', (files: Files) => files.replace('first', 'x'.repeat(70_000))],
  ] as const)(
    'a file that is %s leaves the old secrets in use, and raises an alarm',
    async (_name, spoil) => {
      const files = filesOfItsOwn();
      const service = await shopWith(files);
      files.replace('second', 'secret-five');
      spoil(files);
      const alarm = await logs(service, 'keys-unreadable');
      expect(alarm).toMatchObject({ level: 'error' });
      expect(alarm['because']).toContain(files.path('first'));
      expect(alarm['because']).toContain('what was read before stays in use');
      expect(await payWith(service, 'secret-one')).toBe('SUCCESS');
      expect(await payWith(service, 'secret-two')).toBe('SUCCESS');
      expect(await payWith(service, '')).toBe('FAILURE');

      files.replace('first', 'secret-six');
      await acceptsSoon(service, 'secret-six');
      expect(await payWith(service, 'secret-five')).toBe('SUCCESS');
      expect(await payWith(service, 'secret-one')).toBe('FAILURE');
      expect(JSON.stringify(service.log)).not.toMatch(/secret-(?:one|two|five|six)/);
    },
  );

  it('the platform key and the token of a co-signer can be replaced, but not by what is no key', async () => {
    const service = await serviceHere({});
    const platformKey = join(service.folder, 'platform.pem');
    copyFileSync(platformKey, `${platformKey}.kept`);
    writeFileSync(platformKey, '-----BEGIN PUBLIC KEY-----\nbm8ga2V5\n-----END PUBLIC KEY-----\n');
    writeFileSync(join(service.folder, 'vault.token'), 'another-token-of-the-tests');
    expect(await logs(service, 'keys-unreadable')).toMatchObject({ level: 'error' });
    expect(await service.pay({ appOrderId: 'kept' }, 'rsa')).toBe('SUCCESS');
    expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('SUCCESS');

    renameSync(`${platformKey}.kept`, platformKey);
    await eventually('the new token counts', async () => {
      const headers = { authorization: 'another-token-of-the-tests' };
      const answer = await service.post('/cosigner/withdraw', JSON.stringify(transfer()), headers);
      return answer.body === 'SUCCESS' || undefined;
    });
    const old = { authorization: VAULT_TOKEN };
    expect((await service.post('/cosigner/withdraw', JSON.stringify(transfer()), old)).body).toBe('FAILURE');
    expect(await service.pay({ appOrderId: 'mended' }, 'rsa')).toBe('SUCCESS');
  });
});

describe('the certificate of the port, while the service runs', () => {
  async function served(): Promise<{
    readonly service: TestService;
    readonly files: Files;
    readonly shown: () => Promise<string>;
    readonly issue: () => { readonly cert: string; readonly key: string; readonly fingerprint: string };
  }> {
    const authority = createAuthority();
    onTestFinished(() => authority.close());
    const files = filesOfItsOwn();
    const first = authority.issue('/CN=countersign');
    files.replace('port.pem', first.cert);
    files.replace('port.key', first.key);
    const tls = { certificate: files.path('port.pem'), key: { file: files.path('port.key') } };
    const service = await serviceHere({ settings: { public: { port: '0', tls } } });
    const port = Number(new URL(service.url).port);
    const shown = async (): Promise<string> => {
      const socket = connect({ host: '127.0.0.1', port, ca: authority.certificate.cert });
      await once(socket, 'secureConnect');
      const fingerprint = socket.getPeerX509Certificate()?.fingerprint256 ?? '';
      socket.destroy();
      return fingerprint;
    };
    expect(await shown()).toBe(first.fingerprint);
    return { service, files, shown, issue: () => authority.issue('/CN=countersign') };
  }

  const showsSoon = (shown: () => Promise<string>, fingerprint: string): Promise<unknown> =>
    eventually('the new certificate is shown', async () => (await shown()) === fingerprint || undefined);

  it.each([
    ['the key first', ['port.key', 'port.pem']],
    ['the certificate first', ['port.pem', 'port.key']],
  ] as const)('is renewed with its key, %s, and one is always served', async (_name, [one, other]) => {
    const { service, files, shown, issue } = await served();
    const before = await shown();
    const next = issue();
    const contents = { 'port.pem': next.cert, 'port.key': next.key };
    files.replace(one, contents[one]);
    expect(await logs(service, 'tls-unreadable')).toMatchObject({ level: 'error' });
    expect(await shown()).toBe(before);
    files.replace(other, contents[other]);
    await showsSoon(shown, next.fingerprint);
  });
});
