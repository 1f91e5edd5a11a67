import { describe, expect, it } from 'vitest';
import { commandsFor } from '../../src/cli/commands.ts';
import { place, runCall } from './terminal.ts';

describe('a wrong call', () => {
  it.each([
    [['policy', 'push', '--massage', 'x'], "unknown option '--massage'", 'countersign policy push [options]'],
    [
      ['policy', 'rollback', '--message', 'x'],
      "missing required argument 'revision'",
      'policy rollback [options]',
    ],
    [['freeze', 'one', 'two'], 'too many arguments', 'countersign freeze [options]'],
  ])('%j prints what is wrong and one line of usage', async (argv, said, usage) => {
    const { code, out, err } = await runCall(argv);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(said);
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

it.each([
  ['payment', 'abc'],
  ['payment', '1,5'],
  ['transfer', 'abc'],
])('send %s --amount %s is refused before anything is sent', async (kind, amount) => {
  const { run } = place();
  const { code, err } = await run('send', kind, '--amount', amount, '--to', 'http://127.0.0.1:9/');
  expect(code).toBe(2);
  expect(err).toContain(`--amount "${amount}" is not an amount`);
});

describe('policy validate', () => {
  const validated = async (rule: string) => {
    const text = `policy: p\ncallback: payment\nwhen: { symbol: USDT1742 }\nrules:\n  - ${rule}\n`;
    return place({ policies: { 'a.yaml': text } }).run('policy', 'validate');
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
