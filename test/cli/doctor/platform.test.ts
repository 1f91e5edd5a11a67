import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lockDirectory } from '../../../src/archive/folder.ts';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import { closedPort } from '../../ports.ts';
import {
  receiverSources,
  sharedCredentials,
  startTestSandbox,
} from '../../../packages/sandbox/test/sandbox.ts';
import { startTestService } from '../../service.ts';
import { type Place, place } from '../terminal.ts';
import { diagnosis, ofCheck } from './diagnosis.ts';

/** What `doctor` says in one check, `state: because` each. */
const findingsOf = async ({ run }: Pick<Place, 'run'>, check: Finding['check']): Promise<readonly string[]> =>
  ofCheck(await diagnosis(run), check);

const KEYS = sharedCredentials();
const [shop, vault] = receiverSources(KEYS);
const md5 = { scheme: 'md5', secret: { file: join(KEYS, 'shop.secret') } };
const withSignatures = (...signatures: readonly object[]): readonly unknown[] => [
  { ...shop, signatures },
  vault,
];

describe('doctor about the platform', () => {
  it('says nothing without an address', async () => {
    expect(await findingsOf(place(), 'platform')).toEqual([]);
  });

  it("asks for yesterday's bill with the credentials of each source", async () => {
    const { url } = await startTestSandbox();
    const { origin } = new URL(url);
    const stall = { ...shop, name: 'stall', appKey: 'somebody-else' };
    const settings = { platform: { url: origin }, sources: [shop, stall] };
    const [ok, refused, ...more] = await findingsOf(place({ settings }), 'platform');
    expect(ok).toBe(`ok: ${origin} answers shop with md5; its bill of 2025-06-14 has 0 records`);
    expect(refused).toMatch(/^warning: stall: bill\.list \(4\.17\): /);
    expect(more).toEqual([]);
  });

  it.each([
    ['warning', {}],
    ['fault', { directory: '.' }],
  ])('is a %s if it does not answer, with the settings %j', async (state, reconcile) => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    const settings = { platform: { url, retries: '9' }, reconcile, sources: withSignatures(md5) };
    const [finding] = await findingsOf(place({ settings }), 'platform');
    expect(finding).toMatch(new RegExp(`^${state}: shop: bill\\.list \\(4\\.17\\): ${url} can't be reached`));
  });

  it('names a key that can not be used', async () => {
    const noKey = { file: join(KEYS, 'shop.secret') };
    const platformKey = { file: join(KEYS, 'platform.public.pem') };
    const sources = withSignatures({ scheme: 'rsa-envelope', platformKey, merchantKey: noKey });
    const settings = { platform: { url: 'http://127.0.0.1:9' }, sources };
    const [finding] = await findingsOf(place({ settings }), 'platform');
    expect(finding).toMatch(
      /^warning: shop: merchantKey of the platform's credentials is not an RSA key; write/,
    );
  });

  it('names a source that has no credentials for requests', async () => {
    const sources = withSignatures({
      scheme: 'rsa',
      platformKey: { file: join(KEYS, 'platform.public.pem') },
    });
    const settings = { platform: { url: 'http://127.0.0.1:9' }, sources };
    const [finding] = await findingsOf(place({ settings }), 'platform');
    expect(finding).toMatch(
      /^warning: shop: the source shop has no md5, rsa or rsa-envelope credentials .* rsa needs a merchantKey/,
    );
  });
});

describe('an address of the platform without TLS', () => {
  const WEAK = 'platform.url is http://platform.invalid, where others on the network can read';
  const settings = {
    platform: { url: 'http://platform.invalid', retries: '0' },
    sources: withSignatures(md5),
  };

  it('is a warning of doctor, of the commands that use it, and of the service', async () => {
    const here = place({ settings });
    const [finding] = await findingsOf(here, 'platform');
    expect(finding).toContain(`warning: ${WEAK}`);
    const { err } = await here.run`platform symbols`;
    expect(err).toContain(`Warning: ${WEAK}`);
    mkdirSync(join(here.folder, 'runs'));
    const reconciled = await here.run`reconcile --day 2025-06-10 --directory ${join(here.folder, 'runs')}`;
    expect(reconciled.err).toContain(`Warning: ${WEAK}`);
    const service = await startTestService({ settings });
    await service.stop();
    const events = service.log.filter(({ event }) => event === 'platform-weak');
    expect(events).toMatchObject([{ level: 'warn', because: expect.stringContaining(WEAK) }]);
  });

  it.each(['http://127.0.0.1:9', 'http://localhost:9', 'http://[::1]:9', 'https://platform.invalid'])(
    'is none at %s',
    async (url) => {
      const here = place({ settings: { ...settings, platform: { url, retries: '0' } } });
      expect(await findingsOf(here, 'platform')).toHaveLength(1);
      expect((await here.run`platform symbols`).err).not.toContain('Warning');
    },
  );
});

describe('doctor about the reconciliation', () => {
  const FIRST_DAY = '2025-06-13';
  const DAY = '2025-06-14';
  const settings = {
    platform: { url: 'http://127.0.0.1:9' },
    reconcile: { directory: 'runs', firstDay: FIRST_DAY },
    sources: [vault],
  };

  function reconciled(over: object = {}): Place {
    const here = place({ settings: { ...settings, reconcile: { ...settings.reconcile, ...over } } });
    mkdirSync(join(here.folder, 'runs'));
    return here;
  }

  it('says nothing without a directory', async () => {
    expect(await findingsOf(place(), 'reconcile')).toEqual([]);
  });

  it('says which days have runs, and warns of one that is overdue', async () => {
    const here = reconciled();
    const due = 'is due since 2025-06-13T17:30:00.000Z and not reconciled';
    expect(await findingsOf(here, 'reconcile')).toEqual([
      expect.stringMatching(/^ok: \S+\/runs has no run yet$/),
      `warning: ${FIRST_DAY} ${due}; see \`reconcile-failed\` in the log of the service`,
    ]);
    expect((await here.run`reconcile --through ${DAY}`).err).toBe('');
    expect(await findingsOf(here, 'reconcile')).toEqual([
      expect.stringMatching(/^ok: \S+\/runs has 2 days up to 2025-06-14$/),
    ]);
  });

  it('is a fault if the directory is missing', async () => {
    expect(await findingsOf(place({ settings }), 'reconcile')).toEqual([
      expect.stringMatching(
        /^fault: the directory \S+\/runs can't be used: there is no such directory\. Make/,
      ),
    ]);
  });

  it('is a fault if a record was changed', async () => {
    const here = reconciled();
    await here.run`reconcile --through ${DAY}`;
    writeFileSync(join(here.folder, 'runs', `00000001-run-${FIRST_DAY}.json`), '{}');
    expect(await findingsOf(here, 'reconcile')).toEqual([
      expect.stringMatching(/^fault: the reconciliation is damaged: .*Restore the directory from a copy$/),
    ]);
  });

  it('is a fault if the runs have days of another zone', async () => {
    const here = reconciled();
    await here.run`reconcile --through ${DAY} --zone UTC`;
    expect(await findingsOf(here, 'reconcile')).toEqual([
      expect.stringMatching(
        /^fault: the runs in \S+ have days of UTC, and reconcile\.zone is Asia\/Shanghai; /,
      ),
    ]);
  });

  it('is none while a run holds the directory', async () => {
    const here = reconciled({ firstDay: undefined });
    const lock = lockDirectory(join(here.folder, 'runs'), 'reconciliation');
    const findings = await findingsOf(here, 'reconcile');
    lock.release();
    expect(findings[0]).toMatch(/^ok: a reconciliation is running in \S+\/runs$/);
  });
});
