import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formatFault } from '../../src/policy/fault.ts';
import { readTestFiles } from '../../src/policy/suite/read.ts';
import { testsJsonSchema } from '../../tools/generate/policy-schemas.ts';
import { readTests } from '../../src/simulation/test-files.ts';

const NOW = '2026-03-02T10:00:00Z';
const PAY = "{ source: shop, payment: { appOrderId: '1' }, expect: SUCCESS }";
const file = (callback = PAY, more = ''): string =>
  `tests:\n  - test: it\n    now: ${NOW}\n${more}    callbacks:\n      - ${callback}\n`;

function faultsOf(text: string): readonly string[] {
  const read = readTestFiles([{ name: 'a.test.yaml', text }]);
  return read.ok ? [] : read.faults.map(formatFault);
}

describe('a test file', () => {
  it('is read with the lines of its tests and callbacks', () => {
    const read = readTestFiles([
      { name: 'b.test.yaml', text: file() },
      {
        name: 'a.test.yaml',
        text: `${file()}  - test: another\n    now: 2026-03-02T11:00:00.5+01:00\n    callbacks: [${PAY}]\n`,
      },
    ]);
    expect(read).toMatchObject({
      ok: true,
      tests: [
        {
          file: 'a.test.yaml',
          line: 2,
          name: 'it',
          nowMs: Date.UTC(2026, 2, 2, 10),
          callbacks: [{ line: 5 }],
        },
        { file: 'a.test.yaml', line: 6, name: 'another', nowMs: Date.UTC(2026, 2, 2, 10, 0, 0, 500) },
        { file: 'b.test.yaml', name: 'it' },
      ],
    });
  });

  it.each<[string, string, string]>([
    ['no tests', 'tests: []\n', '1:8: tests: a list is not valid; write a list of at least one test'],
    ['nothing', '', 'a.test.yaml: the file holds no tests'],
    ['another top', 'tests: [x]\ntest: 1\n', '2:1: test: "test" is not known here; did you mean tests?'],
    [
      'no callbacks',
      `tests:\n  - test: it\n    now: ${NOW}\n    callbacks: []\n`,
      '4:16: tests[0].callbacks: a list is not valid',
    ],
    ['no name', `tests:\n  - now: ${NOW}\n    callbacks: [${PAY}]\n`, 'tests[0].test: test is missing'],
    ['a name twice', `${file()}${file().slice('tests:\n'.length)}`, 'there is a test with this name already'],
    [
      'an instant without a zone',
      file().replace('10:00:00Z', '10:00:00'),
      '3:10: tests[0].now: "2026-03-02T10:00:00" is not valid; write an instant with Z or an offset',
    ],
    ['a day that there is not', file().replace('03-02', '02-29'), 'tests[0].now'],
    ['no kind', file('{ source: shop, expect: SUCCESS }'), 'it has none of payment, transfer, web3'],
    [
      'two kinds',
      file('{ source: shop, payment: {}, web3: {}, expect: SUCCESS }'),
      'it has payment and web3; give exactly one',
    ],
    ['no source', file("{ payment: { appOrderId: '1' }, expect: SUCCESS }"), 'source is missing'],
    [
      'no expectation',
      file("{ source: shop, payment: { appOrderId: '1' } }"),
      'expect is missing; write SUCCESS, FAILURE',
    ],
    [
      'a strange expectation',
      file(PAY.replace('SUCCESS', 'success')),
      '"success" is not valid; write SUCCESS, FAILURE',
    ],
    [
      'an expectation without a verdict',
      file(PAY.replace('SUCCESS', '{ rule: amount-limit#1 }')),
      'verdict is missing',
    ],
    [
      'a rule of a success',
      file(PAY.replace('SUCCESS', '{ verdict: SUCCESS, rule: amount-limit#1 }')),
      'a SUCCESS has none',
    ],
    [
      'values of a success',
      file(PAY.replace('SUCCESS', '{ verdict: SUCCESS, values: { a: b } }')),
      'a SUCCESS has none',
    ],
    [
      'a rule without its place',
      file(PAY.replace('SUCCESS', '{ verdict: FAILURE, rule: amount-limit }')),
      'like amount-limit#1',
    ],
    [
      'a member that is no text',
      file('{ source: shop, payment: { appOrderId: [1] }, expect: SUCCESS }'),
      'payment.appOrderId: a list is not valid; write a text',
    ],
    [
      'members that are none',
      file('{ source: shop, payment: 1, expect: SUCCESS }'),
      'write the members of the callback',
    ],
    [
      'a length without a unit',
      file(PAY.replace('expect', 'after: 10, expect')),
      'write a duration up to 400d',
    ],
    [
      'a misspelt state',
      file(PAY, '    given: { list: {} }\n'),
      '"list" is not known here; did you mean lists?',
    ],
    [
      'a list that is none',
      file(PAY, '    given: { lists: { shop: { blocked: x } } }\n'),
      'write a list of values',
    ],
    ['lists without a source', file(PAY, '    given: { lists: [] }\n'), 'write lists by source'],
    [
      'a value that is added later',
      file(PAY, '    given: { lists: { shop: { a: [{ value: x, added: 2026-03-02T10:00:01Z }] } } }\n'),
      'it is added after the first callback',
    ],
    [
      'a price of nothing',
      file(PAY, `    given: { prices: { BTC: { price: 0, asOf: ${NOW} } } }\n`),
      'write a price above zero',
    ],
    [
      'a price without its instant',
      file(PAY, '    given: { prices: { BTC: { price: 1 } } }\n'),
      'asOf is missing',
    ],
    [
      'an answer that is none',
      file(PAY, '    given: { answers: { service: { risk: maybe } } }\n'),
      'write yes, no or failed',
    ],
    [
      'an order of no kind',
      file(PAY, `    given: { orders: [{ source: shop, members: {}, expires: ${NOW} }] }\n`),
      'it has none of payment, transfer, web3',
    ],
    [
      'an order that lacks a member',
      file(
        PAY,
        `    given: { orders: [{ source: shop, payment: 1, members: { userId: '1', symbol: A, amount: '1' }, expires: ${NOW} }] }\n`,
      ),
      'scheme is missing',
    ],
  ])('with %s is refused, with its place and its cure', (_, text, said) => {
    const faults = faultsOf(text);
    expect(faults).toEqual([expect.stringContaining(said)]);
  });

  it('has the whole value in the message of a fault, also one with a semicolon', () => {
    const order = "{ source: shop, payment: 1, members: { userId: 'a; b' }, expires: 2026-03-03T10:00:00Z }";
    const read = readTestFiles([
      { name: 'a.test.yaml', text: file(PAY, `    given: { orders: [${order}] }\n`) },
    ]);
    const wrong = read.ok ? undefined : read.faults.find(({ message }) => message.startsWith('userId'));
    expect(wrong?.message).toContain('"a; b"');
    expect(wrong?.fix).toMatch(/^write digits/);
  });

  it('tells all its faults at once, those in what follows a fault as well', () => {
    const text = file(
      '{ source: shop, paymet: {}, expect: yes }',
      '    given: { answers: { service: { a: b } } }\n    hurry: now\n',
    );
    expect(faultsOf(text)).toHaveLength(5);
  });

  it('has a schema for editors, down to the members of each kind', () => {
    const text = JSON.stringify(testsJsonSchema());
    for (const name of ['orderAmount', 'request_id', 'main_chain_symbol', 'answers', 'asOf', 'verdict']) {
      expect(text).toContain(`"${name}"`);
    }
  });
});

describe('the tests of a directory', () => {
  function directoryOf(files: Readonly<Record<string, string>>): string {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-tests-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    return folder;
  }

  it('are in its folder tests, and in those below it', async () => {
    const directory = directoryOf({
      'tests/a.test.yaml': file(),
      'tests/deep/b.test.yml': file(),
      'tests/readme.md': '',
      'tests/.c.test.yaml': 'no',
      'other/d.test.yaml': 'no',
    });
    expect((await readTests(directory)).map((test) => test.file)).toEqual([
      'tests/a.test.yaml',
      'tests/deep/b.test.yml',
    ]);
  });

  it('are none where there is no such folder', async () => {
    expect(await readTests(directoryOf({}))).toEqual([]);
  });

  it('are refused together, each file with its faults; one that would never be run is a fault', async () => {
    const directory = directoryOf({
      'tests/a.test.yaml': 'tests: []',
      'tests/b.yaml': file(),
      'tests/c.test.yaml': file(),
    });
    await expect(readTests(directory)).rejects.toMatchObject({
      code: 'POLICY_INVALID',
      data: {
        faults: [
          { file: 'tests/b.yaml', message: 'the file is never run' },
          { file: 'tests/a.test.yaml', path: 'tests' },
        ],
      },
    });
  });
});
