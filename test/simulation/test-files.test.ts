import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatFault } from '../../src/policy/fault.ts';
import { readTestFiles } from '../../src/policy/suite/read.ts';
import { testsJsonSchema } from '../../tools/generate/policy-schemas.ts';
import { readTests } from '../../src/simulation/test-files.ts';
import { tablesOf, string } from '../cases.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const NOW = '2026-03-02T10:00:00Z';
const PAY = "{ source: shop, payment: { appOrderId: '1' }, expect: SUCCESS }";
const file = (callback = PAY, more = ''): string =>
  `tests:\n  - test: it\n    now: ${NOW}\n${more}    callbacks:\n      - ${callback}\n`;

function faultsOf(text: string): readonly string[] {
  const read = readTestFiles([{ name: 'a.test.yaml', text }]);
  return read.ok ? [] : read.faults.map(formatFault);
}

const rowsOf = tablesOf(new URL('cases/test-files.yaml', import.meta.url), { NOW, PAY });

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

  it.each(rowsOf('refused', string, string, string))(
    'with %s is refused, with its place and its cure',
    (_, text, said) => {
      const faults = faultsOf(text);
      expect(faults).toEqual([expect.stringContaining(said)]);
    },
  );

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
    const folder = temporaryFolder();
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
