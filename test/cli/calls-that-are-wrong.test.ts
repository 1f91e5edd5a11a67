import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandsFor } from '../../src/cli/commands.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { string, tablesOf } from '../cases.ts';
import { type Ran, place, quotedWords, runCall } from './terminal.ts';

const rowsOf = tablesOf(new URL('cases/calls-that-are-wrong.yaml', import.meta.url));

/** How a call ends where no service runs, no policies are in force, and nothing was done before. */
async function called(line: string): Promise<Ran> {
  const { run, folder, write } = place({
    settings: { platform: { url: 'http://127.0.0.1:9', retries: '0' } },
  });
  write(
    'policies/assets.yaml',
    'assets: { XRP: { chain: ripple, decimals: 6 }, ETH: { chain: evm, decimals: 18 } }\n',
  );
  const ran = await run(...quotedWords(line.replaceAll('FOLDER', folder)));
  const store = await openEmbeddedStore({ path: join(folder, 'store.db') });
  const [entries, prices, { revision, frozen }] = [
    await Promise.all(['shop', 'vault'].map((source) => store.journalSize(source))),
    (await store.prices()).version,
    await store.control(),
  ];
  await store.close();
  expect({ entries, prices, revision, frozen }).toEqual({
    entries: [0, 0],
    prices: 0,
    revision: '',
    frozen: [],
  });
  return { ...ran, err: ran.err.replaceAll(folder, 'FOLDER') };
}

describe('a wrong call', () => {
  it.each(rowsOf('wrong', string, string))('%s: 2, and says what to do: %s', async (line, said) => {
    const { code, out, err } = await called(line);
    // With --json, the fault is on standard output.
    expect(code).toBe(2);
    expect(line.includes('--json') ? out : err).toContain(said);
    expect(line.includes('--json') ? err : out).toBe('');
  });

  it.each(rowsOf('refused', string, string))('%s: 1, and says what to do: %s', async (line, said) => {
    const { code, out, err } = await called(line);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(said);
  });

  it.each([
    ['policy push --massage x', 'countersign policy push [options]'],
    ['policy rollback --message x', 'policy rollback [options]'],
    ['freeze one two', 'countersign freeze [options]'],
  ])('%s prints one line of usage', async (line, usage) => {
    const { err } = await runCall(quotedWords(line));
    expect(err).toContain(usage);
    expect(err.trimEnd().split('\n').length).toBeLessThanOrEqual(3);
  });

  it('--help still prints all of it', async () => {
    const { code, out } = await runCall(['policy', 'push', '--help']);
    expect(code).toBe(0);
    expect(out.split('\n').length).toBeGreaterThan(20);
  });
});

it('every group of commands says what it is for', async () => {
  const groups = new Set(
    (await commandsFor([])).flatMap(({ path }) => (path.includes(' ') ? [path.split(' ')[0] ?? ''] : [])),
  );
  const { out } = await runCall(['--help']);
  for (const name of groups)
    expect(out).toMatch(new RegExp(`^  ${name}\\b.* {2,}\\S|^  ${name} \\S.*\\n {10,}\\S`, 'm'));
});

describe('policy validate', () => {
  const validated = async (rule: string) => {
    const text = `policy: p\ncallback: payment\nwhen: { symbol: USDT1742 }\nrules:\n  - ${rule}\n`;
    return place({ policies: { 'a.yaml': text } }).run`policy validate`;
  };

  it.each(['1.000', '10.500', '250.000'])(
    'warns of the maximum %s, which may mean thousands',
    async (max) => {
      const { code, err } = await validated(`amount-limit: { max: ${max} }`);
      expect(code).toBe(0);
      expect(err).toContain(`a.yaml:5:26: rules[0].amount-limit.max: ${max} has a point and three digits`);
    },
  );

  it.each(['1', '1000', '0.001', '1.00', '1000.000', '1.0000'])('does not warn of %s', async (max) => {
    expect((await validated(`amount-limit: { max: ${max} }`)).err).not.toContain('three digits');
  });

  it('asks whether maximum is max', async () => {
    const { out } = await validated('amount-limit: { maximum: 1000 }');
    expect(out).toContain('did you mean max?');
  });

  it('does not list known names where there are none', async () => {
    const { code, out } = await validated('expected-order: { max: 1 }');
    expect(code).toBe(1);
    expect(out).not.toMatch(/known here: *$/m);
    expect(out).toContain('leave it out: no name can be written here');
  });
});
