import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { place, placeIn } from '../cli/terminal.ts';
import { type Certificate, type CertificateAuthority, createAuthority } from '../certificates.ts';
import { onNextPort } from '../ports.ts';
import { startTestService } from '../service.ts';
import { SHOP, refusalOf } from '../settings/written.ts';

function authorityHere(): CertificateAuthority {
  const authority = createAuthority();
  onTestFinished(() => authority.close());
  return authority;
}

const tlsOf = ({ certFile, keyFile }: Certificate) => ({ certificate: certFile, key: { file: keyFile } });

/** A service whose ops port, which its settings name, speaks TLS. */
async function started(server: Certificate, console?: (port: number) => object) {
  const service = await onNextPort((port) =>
    startTestService({
      settings: {
        ops: { port: `${port}`, tls: tlsOf(server) },
        ...(console && { console: console(port) }),
      },
    }),
  );
  onTestFinished(() => service.stop());
  return service;
}

function get(url: string, ca: string): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    request(url, { ca, agent: false }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    })
      .on('error', reject)
      .end();
  });
}

describe('with ops.tls', () => {
  it('the ops port answers over TLS, and to nobody without', async () => {
    const authority = authorityHere();
    const { ops } = await started(authority.issue('/CN=countersign'));
    expect(new URL(ops).protocol).toBe('https:');
    expect(await get(`${ops}/healthz`, authority.certificate.cert)).toMatchObject({ status: 200 });
    expect(await get(`${ops}/metrics`, authority.certificate.cert)).toMatchObject({
      body: expect.stringContaining(
        'countersign_certificate_expiry_timestamp_seconds{setting="ops.tls.certificate"}',
      ),
    });
    await expect(fetch(`${ops.replace('https', 'http')}/healthz`)).rejects.toThrow('fetch failed');
    await expect(get(`${ops}/healthz`, authorityHere().certificate.cert)).rejects.toThrow('certificate');
  });

  it('`health` trusts the very certificate of the settings, and no other', async () => {
    const authority = authorityHere();
    const service = await started(authority.issue('/CN=countersign'));
    const { port } = new URL(service.ops);
    const { code, out } = await placeIn(service.folder).run('health');
    expect({ code, out }).toEqual({ code: 0, out: `https://127.0.0.1:${port}/healthz answers.\n` });

    const other = place({ settings: { ops: { port, tls: tlsOf(authority.issue('/CN=countersign')) } } });
    expect(await other.run('health')).toMatchObject({
      code: 1,
      out: expect.stringMatching(/does not answer: .*certificate/),
    });
  });

  it('`doctor` finds the running service', async () => {
    const service = await started(authorityHere().issue('/CN=countersign'));
    const { out } = await placeIn(service.folder).run('doctor');
    expect(out).toContain(`a Countersign service is running at ${service.ops}, and ready`);
    expect(out).toContain('the certificate of ops.tls is valid until');
  });
});

describe('doctor says of the console', () => {
  const atHost = (host: string, port: number | '' = '') => ({
    passkeys: { host, origin: `https://${host}${port === '' ? '' : `:${port}`}` },
  });

  it('that the certificate of the ops port has the name by which browsers call it', async () => {
    const service = await started(authorityHere().issue('/CN=countersign'), (port) =>
      atHost('localhost', port),
    );
    const { out } = await placeIn(service.folder).run('doctor');
    expect(out).toMatch(/ok +console +people sign in with passkeys at https:\/\/localhost:\d+\/console\/\n/);
    expect(out).toContain('nobody has a passkey yet; invite somebody with');
  });

  it.each([
    [
      'ops.example.com',
      /fault +console .*ops\.tls is not valid for ops\.example\.com; use one that has the name/,
    ],
    [
      'localhost',
      /warning +console .*, but the ops port is 19090; write that port in console\.passkeys\.origin/,
    ],
  ])('at %s what is wrong', async (host, said) => {
    const tls = tlsOf(authorityHere().issue('/CN=countersign'));
    const { run } = place({
      settings: { ops: { port: '19090', hosts: [host], tls }, console: atHost(host) },
    });
    expect((await run('doctor')).out).toMatch(said);
  });

  it('that a proxy must end TLS where the ops port doesn’t', async () => {
    const { run } = place({
      settings: { ops: { port: '0', hosts: ['ops.example.com'] }, console: atHost('ops.example.com') },
    });
    expect((await run('doctor')).out).toContain(
      'a proxy before the ops port must end TLS, because ops.tls is not set',
    );
  });

  it('from where people are named', async () => {
    const people = [{ name: 'ada', roles: ['read'] }];
    const proxy = { header: 'x-user', addresses: ['10.0.0.1'], people };
    const { run } = place({ settings: { ops: { port: '0' }, console: { proxy } } });
    expect((await run('doctor')).out).toContain('10.0.0.1 may name 1 person in the header x-user');
  });
});

it('an origin without TLS is refused where the ops port speaks TLS', () => {
  const settings = `${SHOP}ops: { tls: { certificate: a.pem, key: { file: a.key } } }
console: { passkeys: { host: localhost, origin: 'http://localhost:9090' } }
`;
  expect(refusalOf(settings).message).toContain(
    'console.passkeys.origin is http://localhost:9090, but the ops port speaks TLS',
  );
});
