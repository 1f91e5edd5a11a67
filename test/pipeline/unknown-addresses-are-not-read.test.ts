import { describe, expect, it } from 'vitest';
import type { CallbackReport } from '../../src/observe/report.ts';
import type { CosignerCredential } from '../../src/signature/config.ts';
import { authenticatorOf } from '../signature/sources.ts';
import { never, paymentArrival, stubPipeline } from './stub.ts';

/**
 * What a co-signer's callback comes to whose headers, path secret, certificate and body can't be looked at.
 */
async function callFrom(
  address: string,
  ...authenticate: readonly CosignerCredential[]
): Promise<CallbackReport> {
  const reports: CallbackReport[] = [];
  const config = {
    name: 'vault',
    callback: 'cosigner',
    paths: { withdraw: '/cosigner/withdraw' },
    authenticate,
  } as const;
  const authenticator = authenticatorOf([config], { TOKEN: 'a-token', PATH: 'a-path' });
  const pipeline = stubPipeline({
    authenticator: () => authenticator,
    report: (report) => reports.push(report),
  });
  const arrival = {
    // The trace of the caller is no credential.
    ...paymentArrival('', {
      address,
      header: (name) => (name === 'traceparent' ? undefined : never()),
      body: never,
    }),
    route: { callback: 'cosigner', source: 'vault', expected: ['transfer'] },
    get pathSecret() {
      return never();
    },
    get certificate() {
      return never();
    },
  } as const;
  const { answer, delivered } = await pipeline.receive(arrival);
  delivered(true);
  expect(answer).toEqual({ contentType: 'text/plain', body: 'FAILURE' });
  const [report, ...more] = reports;
  if (report === undefined || more.length > 0) throw new Error('one report was expected');
  return report;
}

const addresses: CosignerCredential = { addresses: ['10.1.2.0/24'] };
const header: CosignerCredential = { header: { name: 'authorization', secret: { env: 'TOKEN' } } };
const path: CosignerCredential = { path: { secret: { env: 'PATH' } } };
const certificate: CosignerCredential = { certificate: { subjects: ['CN=cosigner'] } };

describe('a co-signer called from an address that is not on its list', () => {
  it.each<[string, readonly CosignerCredential[]]>([
    ['alone', [addresses]],
    ['listed first', [addresses, header, path, certificate]],
    ['listed last', [certificate, path, header, addresses]],
  ])('is refused before a body is read or a secret looked at: %s', async (_, credentials) => {
    expect(await callFrom('10.1.3.1', ...credentials)).toMatchObject({
      verdict: 'FAILURE',
      outcome: 'unauthenticated',
      source: undefined,
      code: 'ADDRESS_NOT_ALLOWED',
      because: expect.stringContaining('10.1.3.1 is not in 10.1.2.0/24') as string,
      data: { source: 'vault' },
    });
  });

  it.each(['', 'unknown', '10.1.2.3, 10.1.2.4', '010.1.2.3', '::1'])(
    'is refused as early where that is no address at all: %o',
    async (address) => {
      expect((await callFrom(address, header, addresses)).code).toBe('ADDRESS_NOT_ALLOWED');
    },
  );

  it('would be read otherwise', async () => {
    expect((await callFrom('10.1.2.3', addresses, header)).because).toBe('nobody may come this far');
    expect((await callFrom('10.1.3.1', header)).because).toBe('nobody may come this far');
  });
});
