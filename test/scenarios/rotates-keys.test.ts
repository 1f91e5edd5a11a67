import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { placeIn, runCall } from '../cli/terminal.ts';
import { readPublicKey } from '../../src/signature/keys.ts';
import { createAuthority } from '../certificates.ts';
import { eventually } from '../eventually.ts';
import { PAYMENT_PATH, type TestService, VAULT_TOKEN, signedPayment, transfer } from '../service.ts';
import { otherSide, sendSigned } from '../plugins/other-side.ts';
import { readinessAt, serviceHere, untilReady } from './running.ts';

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

const metrics = async (service: TestService): Promise<string> =>
  (await fetch(`${service.ops}/metrics`)).text();

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
    'a file that is %s leaves its old secret in use, and no other, and raises an alarm',
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
      await acceptsSoon(service, 'secret-five');
      expect(await payWith(service, 'secret-two')).toBe('FAILURE');
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

    // A token that may have leaked is out of use, whatever is wrong with the files of another source.
    await eventually('the new token counts', async () => {
      const headers = { authorization: 'another-token-of-the-tests' };
      const answer = await service.post('/cosigner/withdraw', JSON.stringify(transfer()), headers);
      return answer.body === 'SUCCESS' || undefined;
    });
    const old = { authorization: VAULT_TOKEN };
    expect((await service.post('/cosigner/withdraw', JSON.stringify(transfer()), old)).body).toBe('FAILURE');

    renameSync(`${platformKey}.kept`, platformKey);
    await untilReady(service.ops);
    expect(await service.pay({ appOrderId: 'mended' }, 'rsa')).toBe('SUCCESS');
  });
});

describe('a key whose file is taken away', () => {
  const unready = (service: TestService): Promise<string> =>
    eventually('the service is not ready', async () => {
      const { status, because } = await readinessAt(service.ops);
      return status === 503 ? because : undefined;
    });

  it.each([
    ['deleted', (file: string) => rmSync(file)],
    ['emptied', (file: string) => writeFileSync(file, '')],
    ['overwritten with what is no key', (file: string) => writeFileSync(file, 'no key')],
  ] as const)(
    '%s stays in use, and /readyz, log, metrics and doctor say so by source, file and fingerprint',
    async (_how, spoil) => {
      const service = await serviceHere({});
      const file = join(service.folder, 'platform.pem');
      const key = readFileSync(file, 'utf8');
      const { fingerprint } = readPublicKey(key);
      await untilReady(service.ops);
      expect(await metrics(service)).not.toMatch(/^countersign_keys_unreadable\{/m);

      spoil(file);
      const because = await unready(service);
      expect(because).toContain(`keys: source shop: `);
      expect(because).toContain(file);
      expect(because).toContain(`the key ${fingerprint} that was read before stays in use`);
      expect(await logs(service, 'keys-unreadable')).toMatchObject({
        level: 'error',
        source: 'shop',
        file,
        fingerprint,
      });
      expect(await metrics(service)).toContain(
        `countersign_keys_unreadable{source="shop",file="${file}",fingerprint="${fingerprint}"} 1`,
      );
      expect(await service.pay({ appOrderId: 'still' }, 'rsa')).toBe('SUCCESS');
      await eventually('the service says so where doctor looks', async () => {
        const { services } = await service.store.services();
        return services.some(({ trouble }) => trouble.includes(fingerprint)) || undefined;
      });
      const { code, out } = await placeIn(service.folder).run('doctor');
      expect(code).toBe(1);
      expect(out).toMatch(new RegExp(`fault +store +the service \\S+ is not ready: keys: source shop: `));
      expect(out).toContain(fingerprint);

      writeFileSync(file, key);
      await untilReady(service.ops);
      expect(await logs(service, 'keys-reread')).toMatchObject({ source: 'shop', file, fingerprint });
      expect(await metrics(service)).not.toMatch(/^countersign_keys_unreadable\{/m);
    },
  );

  it('is revoked by another in its place, though another file of another source is gone', async () => {
    const service = await serviceHere({});
    const file = join(service.folder, 'platform.pem');
    rmSync(join(service.folder, 'vault.token'));
    await unready(service);
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    writeFileSync(file, pem);
    const { fingerprint } = readPublicKey(pem);
    await eventually('the new key is read', () =>
      service.log.find(
        (line) =>
          line['event'] === 'keys-reread' && line['fingerprint'] === fingerprint && line['file'] === file,
      ),
    );
    expect(await service.pay({ appOrderId: 'revoked' }, 'rsa')).toBe('FAILURE');
    expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('SUCCESS');
    expect((await readinessAt(service.ops)).because).toContain('source vault: file ');
  });

  it('of one file keeps no other of the same source from being replaced: the key that was there is revoked', async () => {
    const files = filesOfItsOwn();
    const service = await shopWith(files);
    files.replace('second', 'no longer the second secret');
    rmSync(files.path('first'));
    const because = await unready(service);
    expect(because).toContain(files.path('first'));
    await acceptsSoon(service, 'no longer the second secret');
    expect(await payWith(service, 'secret-two')).toBe('FAILURE');
    expect(await payWith(service, 'secret-one')).toBe('SUCCESS');
  });

  it('says of a secret, which has no fingerprint, its source and its file', async () => {
    const files = filesOfItsOwn();
    const service = await shopWith(files);
    files.replace('first', 'secret-nine');
    await acceptsSoon(service, 'secret-nine');
    const line = await logs(service, 'keys-reread');
    expect(line).toMatchObject({ source: 'shop', file: files.path('first') });
    expect(line).not.toHaveProperty('fingerprint');
  });
});

describe.each(['public', 'ops'] as const)(
  'the certificate of the %s port, while the service runs',
  (name) => {
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
      const service = await serviceHere({ settings: { [name]: { port: '0', tls } } });
      const port = Number(new URL(name === 'ops' ? service.ops : service.url).port);
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
  },
);

describe('a secret is replaced under load, both values in its file meanwhile', () => {
  const OLD = 'the-old-secret-of-the-tests';
  const NEW = 'the-new-secret-of-the-tests';

  /** Something that uses a secret, as often as it can. */
  interface User {
    readonly service: TestService;
    readonly file: string;
    readonly owner: string;
    readonly key: string;
    /** Whether a use of the secret is accepted. */
    readonly use: (secret: string) => Promise<boolean>;
  }

  async function cosigner(by: 'header' | 'path'): Promise<User> {
    const files = filesOfItsOwn();
    files.replace('secret', OLD);
    const secret = { file: files.path('secret') };
    const credential = by === 'header' ? { header: { name: 'x-secret', secret } } : { path: { secret } };
    const vault = { name: 'vault', callback: 'cosigner', authenticate: [credential] };
    const service = await serviceHere({ settings: { sources: [vault] } });
    let requests = 0;
    const use = async (value: string): Promise<boolean> => {
      const body = JSON.stringify(transfer({ request_id: `w-${requests++}`, amount: '0.1' }));
      const path = by === 'header' ? '/cosigner/withdraw' : `/cosigner/withdraw/${value}`;
      return (
        (await service.post(path, body, by === 'header' ? { 'x-secret': value } : {})).body === 'SUCCESS'
      );
    };
    return { service, file: secret.file, owner: 'vault', key: by, use };
  }

  async function api(): Promise<User> {
    const files = filesOfItsOwn();
    files.replace('secret', OLD);
    const token = { file: files.path('secret') };
    const service = await serviceHere({ settings: { ops: { port: '0', token } } });
    const use = async (value: string): Promise<boolean> => {
      const headers = { authorization: `Bearer ${value}` };
      return (await fetch(`${service.ops}/api/prices`, { headers })).status === 200;
    };
    return { service, file: token.file, owner: 'ops.token', key: 'token', use };
  }

  /** The service knows one secret, which it changes at once; it refuses what is not signed with it. */
  async function askedService(): Promise<User> {
    const files = filesOfItsOwn();
    files.replace('secret', OLD);
    const secret = { file: files.path('secret') };
    let known = OLD;
    const risk = await otherSide(
      (response, { nonce, signed }) =>
        sendSigned(response, nonce, JSON.stringify({ nonce, verdict: signed ? 'yes' : 'no' }), {
          secret: known,
        }),
      { secret: () => known },
    );
    const service = await serviceHere({
      settings: { services: [{ name: 'risk', url: risk.url, secret, timeoutMs: '1500' }] },
      policies: {
        'asked.yaml':
          'policy: asked\ncallback: payment\nwhen: { source: shop }\nrules:\n  - ask: { service: risk }\n',
      },
    });
    let requests = 0;
    const use = async (value: string): Promise<boolean> => {
      known = value;
      return (await service.pay({ appOrderId: `asked-${requests++}`, orderAmount: '1' })) === 'SUCCESS';
    };
    return { service, file: secret.file, owner: 'service risk', key: 'secret', use };
  }

  const lastUsed = async ({ service, owner }: User, key: string): Promise<number | undefined> => {
    const line = `countersign_key_last_used_timestamp_seconds{owner="${owner}",key="${key}"} `;
    const found = (await metrics(service)).split('\n').find((each) => each.startsWith(line));
    return found === undefined ? undefined : Number(found.slice(line.length));
  };

  it.each([
    ['the header of a co-signer', () => cosigner('header')],
    ['the path of a co-signer', () => cosigner('path')],
    ['the token of the API', api],
    ['the secret of a service', askedService],
  ] as const)(
    '%s: nothing is refused, and metrics and doctor say which one was used',
    async (_what, start) => {
      const user = await start();
      const { service, file, owner, key, use } = user;
      let current = OLD;
      const ended = new AbortController();
      let uses = 0;
      const refused: string[] = [];
      const load = (async () => {
        while (!ended.signal.aborted) {
          const secret = current;
          if (!(await use(secret))) refused.push(secret);
          uses += 1;
        }
      })();
      onTestFinished(async () => {
        ended.abort();
        await load.catch(() => undefined);
      });
      const severalUses = async (): Promise<void> => {
        const before = uses;
        await eventually('the secret is used again', () => uses >= before + 20 || undefined);
      };
      await severalUses();
      expect(await lastUsed(user, key)).toBeGreaterThan(0);

      writeFileSync(file, `${NEW}\n${OLD}\n`);
      await eventually(
        'both are accepted',
        async () => (await lastUsed(user, `${key} line 1`)) === 0 || undefined,
      );
      await severalUses();
      expect(await lastUsed(user, `${key} line 1`)).toBe(0);
      expect(await lastUsed(user, `${key} line 2`)).toBeGreaterThan(0);
      current = NEW;
      await severalUses();
      expect(await lastUsed(user, `${key} line 1`)).toBeGreaterThan(0);
      const settings = join(service.folder, 'settings.yaml');
      const env = { COUNTERSIGN_OPS_PORT: new URL(service.ops).port };
      const { out } = await runCall(['doctor', '--config', settings], { env, clock: Date.now });
      expect(out).toMatch(new RegExp(`^ +${owner}: ${key} line 1: last used 20`, 'm'));

      writeFileSync(file, NEW);
      await eventually(
        'the old one is gone',
        async () => (await lastUsed(user, key)) !== undefined || undefined,
      );
      await severalUses();
      ended.abort();
      await load;
      expect(refused).toEqual([]);
      expect(await use(OLD)).toBe(false);
      expect(JSON.stringify(service.log)).not.toMatch(/the-(?:old|new)-secret/);
    },
  );

  it.each([
    ['three lines', 'one\ntwo\nthree', 'has 3 lines'],
    ['a comment', '# of May\nsecret', 'begins with #'],
    ['an empty line between', 'one\n\ntwo', 'has 3 lines'],
  ])('a file with %s leaves the old secret in use', async (_what, content, because) => {
    const { service, file, use } = await cosigner('header');
    expect(await use(OLD)).toBe(true);
    writeFileSync(file, content);
    expect((await logs(service, 'keys-unreadable'))['because']).toContain(because);
    expect(await use(OLD)).toBe(true);
    for (const line of content.split('\n')) expect(await use(line)).toBe(false);
  });
});
