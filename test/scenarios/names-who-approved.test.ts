import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { namespaceOf } from '../../src/signature/statement.ts';
import { placeIn, prints } from '../cli/terminal.ts';
import { DAY, MIDNIGHT_MS, NOON_MS, reportOf } from '../reconcile/world.ts';
import { DEPLOYMENT, keyFileOf, keyOf, peopleText } from '../release/signing.ts';
import { startTestService, transfer } from '../service.ts';

const POLICIES = {
  'people.yaml': `${peopleText(['ada', 'ben'], '[operate, approve]')}groups: { treasury: [ada, ben] }\n`,
  'transfers.yaml': `policy: transfers
callback: transfer
rules:
  - any: [amount-limit: { max: 1 }, approval: { by: treasury, quorum: 2, within: 24h }]
`,
};
const BY = 'ada, ben';

/** A transfer `w-1` that ada and ben have approved, and `small`, which needs nobody. Neither is signed. */
async function approved() {
  let nowMs = NOON_MS;
  const service = await startTestService({
    policies: POLICIES,
    settings: { deployment: DEPLOYMENT },
    clock: () => nowMs,
  });
  onTestFinished(() => service.stop());
  const place = placeIn(service.folder);
  const run = place.runWith({ clock: () => nowMs });
  const ask = (members: object) =>
    service.cosign('/cosigner/withdraw', transfer({ ...members, type: 'sign_start' }));
  expect(await ask({ request_id: 'small', amount: '1' })).toBe('SUCCESS');
  expect(await ask({ request_id: 'w-1', amount: '5' })).toBe('FAILURE');
  for (const name of ['ada', 'ben']) {
    expect(
      await run('approvals', 'approve', 'transfer:w-1', '--source', 'vault', '--key', keyFileOf(name)),
    ).toMatchObject(prints(0, 'So far: ada'));
  }
  expect(await ask({ request_id: 'w-1', amount: '5' })).toBe('SUCCESS');
  const ids = async (type: string): Promise<readonly string[]> => {
    const entries = await service.store.entries({ source: 'vault', subject: 'transfer:w-1', limit: 100 });
    return entries.filter((each) => each.type === type).map(({ id }) => `vault/${id}`);
  };
  nowMs = MIDNIGHT_MS + 30 * 3_600_000;
  return { service, run, ids, folder: place.folder, write: place.write };
}

const signed = z.object({
  by: z.string(),
  statement: z.string(),
  signature: z.object({ method: z.literal('ssh'), signature: z.string() }),
});

/** As an auditor would, with `ssh-keygen` alone. Throws if the signature is not that person's. */
function verifyAlone(folder: string, { by, statement, signature }: z.output<typeof signed>): string {
  writeFileSync(join(folder, 'allowed'), `${by} ${keyOf(by).line}\n`);
  writeFileSync(join(folder, 'sig'), signature.signature);
  const rest = [
    '-f',
    join(folder, 'allowed'),
    '-I',
    by,
    '-n',
    namespaceOf(DEPLOYMENT),
    '-s',
    join(folder, 'sig'),
  ];
  return execFileSync('ssh-keygen', ['-Y', 'verify', ...rest], {
    input: statement,
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

describe('who approved a transfer is named', () => {
  it('in its decision: shown, explained, searched and exported, and not where nobody had to', async () => {
    const { run, ids } = await approved();
    const [, decision = ''] = await ids('decision');
    const because = '2 of 2 of treasury approved it (ada, ben)';
    for (const verb of ['show', 'explain']) {
      expect(await run('decisions', verb, decision)).toMatchObject(prints(0, because));
    }
    const found = (await run('decisions', 'search', '--code', 'APPROVED', '--json')).json();
    expect(found).toMatchObject([
      { subject: 'transfer:small', because: 'approved: the rule that enforces passes' },
      { subject: 'transfer:w-1', detail: { approval: { approvers: ['ada', 'ben'] } } },
    ]);
    expect(await run`decisions search --code APPROVED`).toMatchObject(prints(0, `approved by people: ${BY}`));
    const lines = (await run`decisions export --source vault`).out.trim().split('\n');
    const details = lines.map(
      (line) => z.object({ detail: z.looseObject({}) }).parse(JSON.parse(line)).detail,
    );
    expect(details.filter(({ approval }) => approval !== undefined)).toMatchObject([
      { approval: { approvers: ['ada', 'ben'], id: 'transfer:w-1' } },
    ]);
  });

  it('by entries whose signatures anybody can verify: shown, and in the bundle of an audit', async () => {
    const { run, ids, folder } = await approved();
    const [first = ''] = await ids('approval');
    const shown = await run('decisions', 'show', first);
    expect(shown).toMatchObject(prints(0, 'statement\ncountersign-approval/1\ndeployment acme-test\n'));
    expect(shown.out).toContain('-----BEGIN SSH SIGNATURE-----');
    expect(shown.out).toMatch(/^key +SHA256:/m);
    const out = join(folder, 'audit');
    await run('audit', 'export', '--from', '2025-06-09', '--to', '2025-06-10T20:00:00Z', '--out', out);
    const entries = readFileSync(join(out, 'journal', 'vault.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => z.looseObject({}).parse(JSON.parse(line)))
      .filter(({ type }) => type === 'approval')
      .map(({ detail }) => signed.parse(JSON.parse(String(detail))));
    expect(entries.map(({ by }) => by)).toEqual(['ada', 'ben']);
    for (const each of entries) {
      expect(verifyAlone(folder, each)).toContain(
        `Good "${namespaceOf(DEPLOYMENT)}" signature for ${each.by}`,
      );
      const other = { ...each, statement: each.statement.replace('amount 5', 'amount 6') };
      expect(() => verifyAlone(folder, other)).toThrow('incorrect signature');
    }
  });

  it('in a reconciliation: on the screen, in its record and file of items, and from an export', async () => {
    const { run, write, folder } = await approved();
    const bill = write('bill.jsonl', '{"count":0}\n');
    const reconcile = (name: string, ...argv: readonly string[]) => {
      mkdirSync(join(folder, name));
      const rest = ['--day', DAY, '--bill', bill, '--directory', join(folder, name), ...argv];
      return run('reconcile', ...rest);
    };
    const ran = await reconcile('one');
    expect(ran).toMatchObject({ code: 1, out: expect.stringContaining(`approved 5 ETH by ${BY}`) });
    expect(ran.out).toMatch(/vault\/small +approved 1 ETH\n/);
    const file = (name: string, ending: string): string => {
      const found = readdirSync(join(folder, name)).find((each) => each.endsWith(ending)) ?? '';
      return readFileSync(join(folder, name, found), 'utf8');
    };
    expect(file('one', '.json')).toContain('"approvers": [\n     "ada",\n     "ben"\n');
    const [header = '', small = '', large = ''] = file('one', '.csv').split('\n');
    expect([header, small, large].map((line) => line.split(',').at(-1))).toEqual([
      'approvedBy',
      '',
      'ada ben',
    ]);
    const exported = write('journal.jsonl', (await run`decisions export --end-line`).out);
    const again = await reconcile('two', '--decisions', exported, '--json');
    expect(reportOf(again).exceptions).toMatchObject([
      { id: 'small', ours: { amount: '1' } },
      { id: 'w-1', ours: { approvers: ['ada', 'ben'] } },
    ]);
    expect(file('two', '.csv')).toBe(file('one', '.csv'));
  });
});
