import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Place, type Ran, place } from '../terminal.ts';

const policy = (rule: string, top = ''): string =>
  `policy: one\n${top}callback: payment\nrules:\n  - ${rule}\n`;
const SOUND = policy('amount-limit: { max: 1 }');
const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');

type Files = Readonly<Record<string, string | Uint8Array>>;

/** A folder in which these are the only policies. */
function placeWith(files: Files): Place {
  const at = place({ policies: { 'one.yaml': SOUND } });
  at.write('policies/tests/none', '');
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(at.folder, 'policies', name), content);
  return at;
}

const validate = (files: Files): Promise<Ran> => placeWith(files).run`policy validate`;

const LEVELS = 1000;
const FLOW = `${'{ a: '.repeat(LEVELS)}1${' }'.repeat(LEVELS)}`;
const JSON_LEVELS = `${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}`;
const BLOCK = Array.from({ length: LEVELS }, (_, level) => `${' '.repeat(level + 4)}a:\n`).join('');
const MARK = '\uFEFF';
const UTF8_CURE = 'save the file as UTF-8';
const DEEP_CURE = 'remove the inner levels';
const MARK_CURE = 'delete this invisible character';

describe('policy validate names the fault, its file, line and cure', () => {
  it.each<[string, Files, string, string, string]>([
    [
      'a number with a comma',
      { 'one.yaml': policy('amount-limit: { max: 1,000 }') },
      'one.yaml:4:28: ',
      'a comma splits the number 1,000',
      'write it without commas',
    ],
    [
      'a policy file that is not UTF-8',
      { 'one.yaml': latin1(policy('amount-limit: { max: 1 }', 'description: f\u00fcr\n')) },
      'one.yaml:2:15: ',
      'the byte 0xfc is not UTF-8',
      UTF8_CURE,
    ],
    [
      'an asset table that is not UTF-8',
      { 'assets.yaml': latin1('# W\u00e4hrungen\nassets: {}\n') },
      'assets.yaml:1:4: ',
      'the byte 0xe4 is not UTF-8',
      UTF8_CURE,
    ],
    [
      'a test file that is not UTF-8',
      { 'tests/one.test.yaml': latin1('tests:\n  - test: f\u00fcr\n') },
      'tests/one.test.yaml:2:12: ',
      'the byte 0xfc is not UTF-8',
      UTF8_CURE,
    ],
    [
      'a list file that is not UTF-8',
      { 'one.yaml': policy('deny-list: { of: userId, file: l.txt }'), 'l.txt': latin1('1\n2 # f\u00fcr\n') },
      'l.txt:2:6: ',
      'the byte 0xfc is not UTF-8',
      UTF8_CURE,
    ],
    [
      'a holiday file that is not UTF-8',
      { 'one.yaml': policy('schedule: { zone: UTC, holidays: h.txt }'), 'h.txt': latin1('# f\u00fcr\n') },
      'h.txt:1:4: ',
      'the byte 0xfc is not UTF-8',
      UTF8_CURE,
    ],
    [
      'a line of a list file that is no JSON string',
      { 'one.yaml': policy('deny-list: { of: userId, file: l.txt }'), 'l.txt': '1\n"2\n' },
      'l.txt:2:1: ',
      'the second quotation mark is missing',
      'write a value that begins with " as a JSON string',
    ],
    [
      'a thousand levels of mappings in braces',
      { 'one.yaml': policy(`amount-limit: ${FLOW}`) },
      'one.yaml:4:',
      'it is nested more than 16 deep',
      DEEP_CURE,
    ],
    [
      'a thousand levels of JSON',
      { 'one.yaml': `{ "policy": "one",\n"rules": ${JSON_LEVELS} }` },
      'one.yaml:2:',
      'it is nested more than 16 deep',
      DEEP_CURE,
    ],
    [
      'a thousand levels of lists on one line',
      { 'one.yaml': policy('- '.repeat(LEVELS)) },
      'one.yaml:4:',
      'it is nested more than 16 deep',
      DEEP_CURE,
    ],
    [
      'a thousand levels of mappings by their indentation',
      { 'one.yaml': `policy: one\nrules:\n  - amount-limit:\n${BLOCK}` },
      'one.yaml:1',
      'it is nested more than 16 deep',
      DEEP_CURE,
    ],
    [
      'a thousand levels in a test file',
      { 'tests/one.test.yaml': `tests:\n  - test: one\n    given: ${JSON_LEVELS}\n` },
      'tests/one.test.yaml:3:',
      'it is nested more than 16 deep',
      DEEP_CURE,
    ],
    [
      'a thousand levels in the asset table',
      { 'assets.yaml': `assets:\n${BLOCK}` },
      'assets.yaml:1',
      'it is nested more than 16 deep',
      DEEP_CURE,
    ],
    [
      'a byte order mark in the second document',
      { 'one.yaml': `${MARK}${SOUND}---\n${MARK}${SOUND.replace('one', 'two')}` },
      'one.yaml:6:1: ',
      'there is a byte order mark (U+FEFF)',
      MARK_CURE,
    ],
    [
      'a byte order mark before the second document',
      { 'one.yaml': `${SOUND}${MARK}---\n${SOUND.replace('one', 'two')}` },
      'one.yaml:5:1: ',
      'there is a byte order mark (U+FEFF)',
      MARK_CURE,
    ],
    [
      'a byte order mark in a test file',
      { 'tests/one.test.yaml': `tests: []\n---\n${MARK}tests: []\n` },
      'tests/one.test.yaml:3:1: ',
      'there is a byte order mark (U+FEFF)',
      MARK_CURE,
    ],
  ])('of %s: 1, and reports nothing else', async (_, files, at, message, cure) => {
    const { code, out, err } = await validate(files);
    expect({ code, err }).toEqual({ code: 1, err: '' });
    const [, fault = '', ...others] = out.trimEnd().split('\n');
    expect(others).toEqual([]);
    expect(fault).toContain(at);
    expect(fault).toContain(message);
    expect(fault).toContain(cure);
  });

  it('reads a byte order mark at the beginning of a file, and of the first line of a list', async () => {
    const { code } = await validate({
      'one.yaml': `${MARK}${policy('deny-list: { of: userId, file: l.txt }')}`,
      'l.txt': `${MARK}1\n2\n`,
    });
    expect(code).toBe(0);
  });
});

it('policy validate warns, and the files are valid', async () => {
  const at = placeWith({ 'one.yaml': policy('amount-limit: { max: 1.000 }') });
  const warning = 'one.yaml:4:26: rules[0].amount-limit.max: 1.000 has a point and three digits';
  const { code, err } = await at.run`policy validate`;
  expect(code).toBe(0);
  expect(err).toContain(`warning: ${warning}`);
  expect((await at.run`policy validate --json`).json()).toMatchObject({
    valid: true,
    warnings: [expect.stringContaining(warning)],
  });
});

describe('the settings', () => {
  const settings = (more: string | Uint8Array): Promise<Ran> => {
    const { folder, run } = place();
    writeFileSync(join(folder, 'settings.yaml'), more, { flag: 'a' });
    return run`policy validate`;
  };

  it.each([
    ['that are not UTF-8', latin1('# f\u00fcr\n'), "can't be read: the byte 0xfc is not UTF-8", UTF8_CURE],
    [
      'with a number with a comma',
      'other: { port: 1,000 }\n',
      'a comma splits a number',
      'write it without commas',
    ],
    ['with a thousand levels of JSON', `log: ${JSON_LEVELS}\n`, 'it is nested more than 16 deep', DEEP_CURE],
    [
      'with a thousand levels of lists',
      `log:\n  ${'- '.repeat(LEVELS)}a\n`,
      'it is nested more than 16 deep',
      DEEP_CURE,
    ],
    ['with a thousand levels of mappings', `log:\n${BLOCK}`, 'it is nested more than 16 deep', DEEP_CURE],
    ['with a byte order mark within', `${MARK}log: {}\n`, 'there is a byte order mark (U+FEFF)', MARK_CURE],
  ])('%s: 2, with file, line and cure, and nothing else', async (_, more, message, cure) => {
    const { code, out, err } = await settings(more);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    const [, fault = '', ...others] = err.trimEnd().split('\n');
    expect(others).toEqual([]);
    expect(fault).toMatch(/settings\.yaml:\d+:\d+: /);
    expect(fault).toContain(message);
    expect(fault).toContain(cure);
  });

  it('quote nothing of the file in these messages', async () => {
    expect((await settings('other: { token: 12345,678 }\n')).err).not.toMatch(/12345|678/);
  });
});

it('list add --file of a file that is not UTF-8: 2, with line and cure', async () => {
  const { folder, run } = place();
  writeFileSync(join(folder, 'l.txt'), latin1('1\nf\u00fcr\n'));
  const { code, err } = await run`list add --create blocked --source shop --file ${join(folder, 'l.txt')}`;
  expect(code).toBe(2);
  expect(err).toContain(`${join(folder, 'l.txt')}:2:2: the byte 0xfc is not UTF-8; ${UTF8_CURE}`);
});
