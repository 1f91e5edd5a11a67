import { expect, it } from 'vitest';
import { documents } from '../../openapi/validators.ts';
import { place } from '../terminal.ts';

const SOURCES = [
  {
    name: 'vault',
    callback: 'cosigner',
    paths: { withdraw: '/own/path', web3: '/own/path' },
    authenticate: [{ path: { secret: { env: 'VAULT_PATH' } } }],
  },
];

it('prints the document of the platform, without settings', async () => {
  const { run } = place({ settings: { sources: 'none' } });
  const ran = await run`openapi platform`;
  expect(ran).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(ran.out)).toEqual(documents.platform);
  expect((await run`openapi platform --json`).json()).toEqual(documents.platform);
});

it('prints the document of the service with the paths of the settings', async () => {
  const { run } = place({ settings: { sources: SOURCES } });
  const ran = await run`openapi service`;
  expect(ran).toMatchObject({ code: 0, err: '' });
  const { paths } = JSON.parse(ran.out) as { paths: Record<string, Record<string, object>> };
  expect(Object.keys(paths)).toEqual(
    expect.arrayContaining(['/own/path/{secret}', '/nofity/transferToMerchantAuthCheck', '/readyz']),
  );
  expect(Object.keys(paths)).not.toContain('/cosigner/withdraw');
  expect(paths['/own/path/{secret}']?.['post']).toMatchObject({
    operationId: 'confirm.vault.transfer.web3',
    parameters: [{ name: 'secret', in: 'path', required: true }],
  });
});

it('does not print the document of a service whose settings have a fault', async () => {
  const { run } = place({ settings: { sources: 'none' } });
  const ran = await run`openapi service`;
  expect(ran).toMatchObject({ code: 2, out: '' });
  expect(ran.err).toContain('SETTINGS_INVALID');
});
