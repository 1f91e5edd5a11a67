import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import { readPolicyDirectory } from '../../src/release/files.ts';
import { BLOCKED, SMALL, directoryOf } from './directory.ts';

async function refusal(directory: string): Promise<CountersignError> {
  try {
    await readPolicyDirectory(directory);
  } catch (thrown) {
    if (thrown instanceof CountersignError) return thrown;
    throw thrown;
  }
  throw new Error('it was read');
}

describe('a directory of policies', () => {
  it('is read: .yaml and .yml files, and the lists they refer to', async () => {
    const directory = directoryOf({
      'a.yaml': SMALL,
      'b.yml': BLOCKED,
      'users.txt': '1\n',
      'notes.md': '# notes',
      'tests/a.test.yaml': 'cases: []',
      '.hidden.yaml': 'policy: [',
      'lists/more.txt': '2\n',
    });
    const { policies } = await readPolicyDirectory(directory);
    expect(policies.map(({ name }) => name)).toEqual(['blocked', 'small']);
  });

  it('may keep lists in a subdirectory', async () => {
    const yaml = BLOCKED.replace('users.txt', 'lists/users.txt');
    const { document } = await readPolicyDirectory(directoryOf({ 'b.yaml': yaml, 'lists/users.txt': '1\n' }));
    expect(document).toContain('"lists/users.txt":["1"]');
  });

  it('may be made of links within itself, as a mounted ConfigMap is', async () => {
    const directory = directoryOf({ '..2024/a.yaml': SMALL });
    symlinkSync('..2024', join(directory, '..data'));
    symlinkSync('..data/a.yaml', join(directory, 'a.yaml'));
    expect((await readPolicyDirectory(directory)).policies).toHaveLength(1);
  });

  it('is the same revision wherever it is and whatever its files are called', async () => {
    const directory = directoryOf({ 'a.yaml': SMALL });
    const { revision } = await readPolicyDirectory(directory);
    renameSync(join(directory, 'a.yaml'), join(directory, 'z.yml'));
    expect((await readPolicyDirectory(directory)).revision).toBe(revision);
  });

  it('tells all faults of all files at once, each with its place and cure', async () => {
    const error = await refusal(
      directoryOf({
        'a.yaml': SMALL.replace('max', 'mix'),
        'b.yaml': BLOCKED,
        'c.yaml': new Uint8Array([0xff, 0xfe]),
        'deep/d.yaml': SMALL,
      }),
    );
    expect(error.code).toBe('POLICY_INVALID');
    const lines = error.message.split('\n');
    expect(lines[0]).toMatch(/^the policies in .* have 4 faults:$/);
    expect(lines.slice(1).map((line) => line.trim().split(';')[0])).toEqual([
      'c.yaml:1:1: the byte 0xff is not UTF-8',
      'deep/d.yaml: policies are read from the directory itself, not from deep',
      'a.yaml:4:21: rules[0].amount-limit.mix: "mix" is not known here',
      'b.yaml:4:36: rules[0].deny-list.file: there is no file users.txt',
    ]);
    expect(error.data['faults']).toHaveLength(4);
  });

  it.each([
    ['../outside.txt', 'leads out of the directory'],
    ['/etc/hostname', 'leads out of the directory'],
    ['lists/../../outside.txt', 'leads out of the directory'],
    ['link.txt', 'is a link that leads out of the directory'],
    ['linked/users.txt', 'is a link that leads out of the directory'],
    ['.', 'leads out of the directory'],
    ['lists', 'EISDIR'],
  ])('reads no list from %s', async (file, message) => {
    const outside = directoryOf({ 'users.txt': '1\n' });
    const directory = directoryOf({ 'b.yaml': BLOCKED.replace('users.txt', JSON.stringify(file)) });
    mkdirSync(join(directory, 'lists'));
    symlinkSync(join(outside, 'users.txt'), join(directory, 'link.txt'));
    symlinkSync(outside, join(directory, 'linked'));
    const error = await refusal(directory);
    expect(error.code).toBe('POLICY_INVALID');
    expect(error.message).toContain(message);
  });

  it.each([
    ['holds no policy file', {}, 'there is no policy file'],
    ['holds only tests', { 'tests/a.test.yaml': 'cases: []' }, 'there is no policy file'],
    ['holds an empty file', { 'a.yaml': SMALL, 'b.yaml': '' }, 'b.yaml: the file holds no policy'],
    [
      'holds a huge file',
      { 'a.yaml': ' '.repeat(1_048_577) },
      'a.yaml: it has 1048577 bytes; at most 1048576 are read',
    ],
    ['has a policy where nobody looks', { 'a.yaml': SMALL, 'eu/b.yaml': BLOCKED }, 'move the file up'],
    [
      'has a name twice',
      { 'a.yaml': SMALL, 'b.yaml': SMALL },
      'b.yaml:1:9: policy: there is a policy small already, in a.yaml:1',
    ],
  ])('that %s is refused', async (_, files, message) => {
    const error = await refusal(directoryOf(files));
    expect(error.code).toBe('POLICY_INVALID');
    expect(error.message).toContain(message);
  });

  it('that is not there is refused', async () => {
    const error = await refusal(join(directoryOf(), 'nowhere'));
    expect(error.code).toBe('POLICY_INVALID');
    expect(error.message).toContain('name a directory that holds policy files');
  });
});
