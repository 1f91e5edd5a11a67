import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Place, place, reports } from '../terminal.ts';

/* What can't be read is tested in test/values: here, that each kind of file is read so, and what is said of it. */

const policy = (rule: string, top = ''): string =>
  `policy: one\n${top}callback: payment\nrules:\n  - ${rule}\n`;
const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const DEEP = `${'['.repeat(1000)}${']'.repeat(1000)}`;
const LISTED = policy('deny-list: { of: userId, file: l.txt }');
const HOLIDAYS = policy('schedule: { zone: UTC, holidays: h.txt }');
const CURES = {
  'is not UTF-8': 'save the file as UTF-8',
  'it is nested more than 16 deep': 'remove the inner levels',
  'there is a byte order mark (U+FEFF)': 'delete this invisible character',
  'a comma splits the number 1,000': 'write it without commas',
  'a comma splits a number': 'write it without commas',
  'the second quotation mark is missing': 'write a value that begins with " as a JSON string',
} as const;
type Fault = keyof typeof CURES;
type Files = Readonly<Record<string, string | Uint8Array>>;

/** A folder in which these are the only policies. */
function placeWith(files: Files): Place {
  const at = place({ policies: { 'one.yaml': policy('amount-limit: { max: 1 }') } });
  at.write('policies/tests/none', '');
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(at.folder, 'policies', name), content);
  return at;
}

it.each<[string, Fault, Files]>([
  [
    'one.yaml:4:28: ',
    'a comma splits the number 1,000',
    { 'one.yaml': policy('amount-limit: { max: 1,000 }') },
  ],
  ['one.yaml:2:15: ', 'is not UTF-8', { 'one.yaml': latin1(policy('pass: {}', 'description: f\u00fcr\n')) }],
  ['assets.yaml:1:4: ', 'is not UTF-8', { 'assets.yaml': latin1('# W\u00e4hrungen\nassets: {}\n') }],
  [
    'tests/a.test.yaml:2:12: ',
    'is not UTF-8',
    { 'tests/a.test.yaml': latin1('tests:\n  - test: f\u00fcr\n') },
  ],
  ['l.txt:2:6: ', 'is not UTF-8', { 'one.yaml': LISTED, 'l.txt': latin1('1\n2 # f\u00fcr\n') }],
  ['h.txt:1:4: ', 'is not UTF-8', { 'one.yaml': HOLIDAYS, 'h.txt': latin1('# f\u00fcr\n') }],
  ['l.txt:2:1: ', 'the second quotation mark is missing', { 'one.yaml': LISTED, 'l.txt': '1\n"2\n' }],
  ['one.yaml:2:', 'it is nested more than 16 deep', { 'one.yaml': `{ "policy": "one",\n"rules": ${DEEP} }` }],
  ['tests/a.test.yaml:1:', 'it is nested more than 16 deep', { 'tests/a.test.yaml': `tests: ${DEEP}\n` }],
  ['assets.yaml:1:', 'it is nested more than 16 deep', { 'assets.yaml': `assets: ${DEEP}\n` }],
  [
    'tests/a.test.yaml:3:1: ',
    'there is a byte order mark (U+FEFF)',
    { 'tests/a.test.yaml': 'tests: []\n---\n\uFEFFtests: []\n' },
  ],
])('policy validate of %s %s: 1, with the cure, and reports nothing else', async (at, message, files) => {
  const { code, out, err } = await placeWith(files).run`policy validate`;
  expect({ code, err }).toEqual({ code: 1, err: '' });
  const [, fault = '', ...others] = out.trimEnd().split('\n');
  expect(others).toEqual([]);
  for (const said of [at, message, CURES[message]]) expect(fault).toContain(said);
});

it('policy validate reads a byte order mark at the beginning of a file, and of the first line of a list', async () => {
  const at = placeWith({ 'one.yaml': `\uFEFF${LISTED}`, 'l.txt': '\uFEFF1\n2\n' });
  expect((await at.run`policy validate`).code).toBe(0);
});

it('policy validate warns, and the files are valid', async () => {
  const at = placeWith({ 'one.yaml': policy('amount-limit: { max: 1.000 }') });
  const warning = 'one.yaml:4:26: rules[0].amount-limit.max: 1.000 has a point and three digits';
  const { code, err } = await at.run`policy validate`;
  expect([code, err]).toEqual([0, expect.stringContaining(`warning: ${warning}`)]);
  const { json } = await at.run`policy validate --json`;
  expect(json()).toMatchObject({ valid: true, warnings: [expect.stringContaining(warning)] });
});

it.each<[Fault, string | Uint8Array]>([
  ['is not UTF-8', latin1('# f\u00fcr\n')],
  ['a comma splits a number', 'other: { token: 12345,678 }\n'],
  ['it is nested more than 16 deep', `log: ${DEEP}\n`],
  ['there is a byte order mark (U+FEFF)', '\uFEFFlog: {}\n'],
])('of settings, %s: 2, with file, line and cure, and nothing else', async (message, more) => {
  const { folder, run } = place();
  writeFileSync(join(folder, 'settings.yaml'), more, { flag: 'a' });
  const { code, out, err } = await run`policy validate`;
  expect({ code, out }).toEqual({ code: 2, out: '' });
  const [, fault = '', ...others] = err.trimEnd().split('\n');
  expect(others).toEqual([]);
  expect(fault).toMatch(/settings\.yaml:\d+:\d+: /);
  for (const said of [message, CURES[message]]) expect(fault).toContain(said);
  // It quotes nothing of the file.
  expect(fault).not.toMatch(/12345|678/);
});

it('list add --file of a file that is not UTF-8: 2, with line and cure', async () => {
  const { folder, run } = place();
  const file = join(folder, 'l.txt');
  writeFileSync(file, latin1('1\nf\u00fcr\n'));
  expect(await run`list add --create blocked --source shop --file ${file}`).toMatchObject(
    reports(2, `${file}:2:2: the byte 0xfc is not UTF-8; save the file as UTF-8`),
  );
});
