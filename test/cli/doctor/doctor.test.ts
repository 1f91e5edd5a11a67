import { X509Certificate, generateKeyPairSync } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { closedPort } from '../../ports.ts';
import { startTestService } from '../../service.ts';
import { CERTIFICATE, CERTIFICATE_KEY } from '../certificate.ts';
import { place, placeIn } from '../terminal.ts';
import { type Diagnosis, diagnosis, inState } from './diagnosis.ts';

/** A port of this machine, listened on until the test is over unless it is to be free. */
async function port(state: 'taken' | 'free'): Promise<number> {
  if (state === 'free') return closedPort();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  onTestFinished(async () => {
    server.close();
    await once(server, 'close');
  });
  return address.port;
}

describe('doctor, where all is in order', () => {
  it('before a first start: 0, names every key, and makes no store', async () => {
    const { run, folder } = place({}, { begun: false });
    const found = await diagnosis(run);
    expect(found).toMatchObject({ code: 0, faults: 0, warnings: 0 });
    expect(new Set(found.findings.map(({ check }) => check))).toEqual(
      new Set(['settings', 'keys', 'store', 'policies', 'ports']),
    );
    const ok = inState(found, 'ok').join('\n');
    expect(ok).toMatch(/shop authenticates by md5, rsa, rsa-envelope\n +secret file .*shop\.secret/);
    expect(ok).toMatch(/platform key SHA256:[A-Za-z0-9+/]{43}/);
    expect(ok).toContain('does not exist yet; the service creates it when it starts');
    expect(ok).toContain('holds 3 policies, 6 rules');
    expect(existsSync(join(folder, 'store.db'))).toBe(false);
  });

  it('beside a running service: 0, and says that it runs, and how much its journal holds', async () => {
    const ports = { public: { port: '0' }, ops: { port: String(await port('free')) } };
    const service = await startTestService({ settings: ports });
    onTestFinished(() => service.stop());
    await service.pay({});
    const found = await diagnosis(placeIn(service.folder).run);
    expect(found).toMatchObject({ code: 0, faults: 0 });
    const ok = inState(found, 'ok');
    expect(ok).toContain(`ports: a Countersign service is running at ${service.ops}, and ready`);
    expect(ok).toContain('store: journal: shop 1 entry, vault 0 entries');
    expect(ok.join('\n')).toMatch(
      /policies: revision [0-9a-f]{12} is in force, 3 policies, 6 rules, pushed 20\S+ by countersign serve: first start, from \S+$/m,
    );
  });
});

describe('doctor, where something is wrong', () => {
  it('faulty settings: 1, with all faults', async () => {
    const { run } = place({ settings: { public: { prot: '1' }, answerTimeoutMs: 'soon' } });
    const found = await diagnosis(run);
    expect(found).toMatchObject({ code: 1, faults: 1 });
    expect(found.findings[0]?.because).toContain('did you mean port?');
    expect(found.findings[0]?.because).toContain('answerTimeoutMs');
  });

  it('goes on after each fault: keys, store, policies and ports in one call', async () => {
    const taken = await port('taken');
    const { run, write, folder } = place({ settings: { public: { port: String(taken) } } });
    write('vault.token', '');
    write(
      'store.db',
      'this is no database, but some text that is long enough to be taken for a header of one',
    );
    write('policies/web3.yaml', 'policy: web3\n');
    const found = await diagnosis(run);
    expect(found.code).toBe(1);
    const faults = inState(found, 'fault');
    expect(faults).toHaveLength(4);
    const [keys, store, policies, ports] = faults;
    expect(keys).toMatch(/^keys: source vault: file .*vault\.token is empty/);
    expect(store).toMatch(/^store: the store .*store\.db is not a database/);
    expect(policies).toMatch(/^policies: .*\n +web3\.yaml:/);
    expect(ports).toBe(
      `ports: public 127.0.0.1:${taken} is in use by another program; stop it, or set another public.port`,
    );
    expect(inState(found, 'ok').join('\n')).toContain('shop authenticates by md5');
    expect(existsSync(join(folder, 'store.db-wal'))).toBe(false);
  });

  it('one source’s missing key hides no other source', async () => {
    const { run, folder } = place();
    writeFileSync(join(folder, 'platform.pem'), 'no key at all');
    const found = await diagnosis(run);
    expect(inState(found, 'fault').join()).toContain('platform.pem');
    expect(inState(found, 'ok').join()).toContain('vault authenticates by header');
  });

  it('a secret that every user can read is a warning: 0', async () => {
    const { run, folder } = place();
    chmodSync(join(folder, 'shop.secret'), 0o644);
    const found = await diagnosis(run);
    expect(found).toMatchObject({ code: 0, warnings: 1 });
    expect(inState(found, 'warning')).toEqual([
      expect.stringContaining('shop.secret can be read by every user'),
    ]);
  });

  it('published credentials are warnings that name the setting, and no secret is ever printed', async () => {
    const { run, write } = place();
    const token = readFileSync('config/demo/vault.token', 'utf8').trim();
    write('vault.token', token);
    const found = await diagnosis(run);
    expect(inState(found, 'warning')).toEqual([
      expect.stringContaining('sources[1].authenticate[0].header.secret'),
    ]);
    expect(JSON.stringify(found)).not.toContain(token);
  });

  it('what is frozen, lists that are missing and callbacks without a policy are warnings with their cure', async () => {
    const payments =
      'policy: payments\ncallback: payment\nwhen: { source: shop }\nrules:\n  - deny-list: { of: userId, list: blocked }\n';
    const { run } = place({ policies: { 'payments.yaml': payments } });
    await run`policy push --message x`;
    await run`freeze drill`;
    const found = await diagnosis(run);
    expect(found).toMatchObject({ code: 0, faults: 0 });
    const [frozen, transfer, web3, list, ...others] = inState(found, 'warning');
    expect(others).toEqual([]);
    expect(frozen).toMatch(/as f2 by ada: drill; every answer is FAILURE until `countersign unfreeze f2`/);
    expect(transfer).toContain('no policy applies to a transfer callback of vault');
    expect(web3).toContain('no policy applies to a web3 callback of vault');
    expect(list).toContain('`countersign list add blocked --source shop --create`');
    await run`list add blocked --source shop`;
    await run('unfreeze');
    await run`freeze --except approved drill`;
    expect(inState(await diagnosis(run), 'warning')[0]).toMatch(
      /as f4 by ada, except what people approve: drill; every answer, except what people approve, is FAILURE until/,
    );
    await run('unfreeze');
    expect(inState(await diagnosis(run), 'warning')).toHaveLength(2);
  });

  it('a callback for which no rule enforces is a warning, since a rule that observes approves nothing', async () => {
    const payments =
      'policy: trial\ncallback: payment\nrules:\n  - { amount-limit: { max: 10 }, mode: observe }\n';
    const { run } = place({ policies: { 'payments.yaml': payments } });
    expect((await run`policy push --message x`).err).toContain('payment callback of shop');
    const found = inState(await diagnosis(run), 'warning');
    expect(found.filter((each) => each.includes('payment callback of shop'))).toEqual([
      expect.stringMatching(
        /all rules for a payment callback of .* only observe, so each callback is refused; .*mode: observe.* of trial/,
      ),
    ]);
  });

  it('a rule that counts for longer than subjects are kept is a warning, as at a push', async () => {
    const payments = (window: string): string =>
      `policy: a-year\ncallback: payment\nrules:\n  - velocity-limit: { window: ${window}, max: 9 }\n`;
    const { run, write } = place({ policies: { 'payments.yaml': payments('400d') } });
    const because =
      'a-year/velocity-limit#1 counts an approval for up to 407 days, and store.retention.subjectsDays is 400, ' +
      'so a callback that is repeated later counts a second time; set it to 407 or more';
    expect((await run`policy push --message x`).err).toContain(`Warning: ${because}.`);
    expect(inState(await diagnosis(run), 'warning')).toContain(`policies: ${because}`);
    write('policies/payments.yaml', payments('year'));
    expect((await run`policy push --message x`).err).not.toContain('counts an approval');
  });

  it('lists named deep in a rule, and prices that are missing or old, are warnings with their cure', async () => {
    const values = 'policy: values\ncallback: payment\nrules:\n  - value-limit: { max: 10, maxAge: 10m }\n';
    const cooling =
      'policy: cooling\ncallback: transfer\nrules:\n  - cooling-period: { of: to, list: partners, for: 24h }\n';
    const calls = `policy: calls
callback: web3
when: { main_chain_symbol: ETH }
rules:
  - contract-calls:
      calls:
        - contract: '0xdAC17F958D2ee523a2206206994597C13D831ec7'
          method: transfer(address,uint256)
          decimals: 6
          where: { to: { list: payees }, amount: { max: 1 } }
`;
    const { run } = place({ policies: { 'a.yaml': values, 'b.yaml': cooling, 'c.yaml': calls } });
    await run`policy push --message x`;
    const before = inState(await diagnosis(run), 'warning').join('\n');
    expect(before).toContain('values needs prices, but the store has none');
    expect(before).toContain('`countersign list add partners --source vault --create`');
    expect(before).toContain('`countersign list add payees --source vault --create`');
    await run`prices set BTC 1 --as-of 2025-06-15T11:49:59Z`;
    await run`prices set ETH 1 --as-of 2025-06-15T11:51:00Z`;
    await run`list add partners --source vault`;
    await run`list add payees --source vault`;
    const after = inState(await diagnosis(run), 'warning');
    expect(after).toHaveLength(1);
    expect(after[0]).toContain(
      'the price of BTC is as of 2025-06-15T11:49:59.000Z, older than the 10m of values',
    );
  });

  it('files that differ from what is in force are told', async () => {
    const { run, write } = place();
    await run`policy push --message x`;
    write('policies/more.yaml', 'policy: more\ncallback: payment\nrules:\n  - amount-limit: { max: 1 }\n');
    expect(inState(await diagnosis(run), 'ok').join('\n')).toContain(
      '`countersign policy push` puts them in force',
    );
  });

  it('nothing in force, where the service would not push: 1', async () => {
    const at = place();
    await at.run`list add blocked`;
    const settings = at.runWith({ env: { COUNTERSIGN_POLICIES_PUSH: 'never' } });
    const found = await diagnosis(settings);
    expect(found.code).toBe(1);
    expect(inState(found, 'fault')).toEqual([
      'policies: nothing is in force, so every callback is refused; `countersign policy push` puts policies in force',
    ]);
  });
});

describe('doctor and a certificate of our own', () => {
  const DAY_MS = 86_400_000;
  const untilMs = Date.parse(new X509Certificate(CERTIFICATE).validTo);

  async function withTls(nowMs: number, key = CERTIFICATE_KEY): Promise<Diagnosis> {
    const { folder, runWith, write } = place();
    write('tls.pem', CERTIFICATE);
    write('tls.key', key);
    const env = {
      COUNTERSIGN_PUBLIC_TLS_CERTIFICATE: join(folder, 'tls.pem'),
      COUNTERSIGN_PUBLIC_TLS_KEY_FILE: join(folder, 'tls.key'),
    };
    return diagnosis(runWith({ env, clock: () => nowMs }));
  }

  it('is told until when it is valid', async () => {
    const found = await withTls(untilMs - 40 * DAY_MS);
    expect(found).toMatchObject({ code: 0, warnings: 0 });
    expect(inState(found, 'ok')).toContain(
      `keys: the certificate of public.tls is valid until ${new Date(untilMs).toISOString()}`,
    );
  });

  it('is a warning thirty days before its end, and a fault after it', async () => {
    expect(inState(await withTls(untilMs - 29 * DAY_MS), 'warning')[0]).toContain('replace it soon');
    const over = await withTls(untilMs);
    expect(over.code).toBe(1);
    expect(inState(over, 'fault')[0]).toContain('replace it');
  });

  it('is a fault with another key, or with none', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    for (const key of [privateKey.export({ type: 'pkcs8', format: 'pem' }), 'no key']) {
      const { code, findings } = await withTls(untilMs - 40 * DAY_MS, key);
      expect(code).toBe(1);
      expect(JSON.stringify(findings)).toContain('must be PEM and belong together');
    }
  });
});

describe('doctor on Redis', () => {
  it('a Redis that is not there is a fault, and the rest is checked all the same', async () => {
    const { run } = place({ redis: `redis://127.0.0.1:${await port('free')}/0` });
    const found = await diagnosis(run);
    expect(found.code).toBe(1);
    expect(inState(found, 'fault')).toEqual([expect.stringMatching(/^store: Redis at .* does not answer/)]);
    expect(inState(found, 'ok').join('\n')).toContain('ports: ');
  });
});
