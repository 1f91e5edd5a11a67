import { describe, expect, it } from 'vitest';
import { readPeople, readPolicyFiles } from '../../src/policy/compile.ts';
import { diffReleases } from '../../src/policy/diff.ts';
import { formatFault } from '../../src/policy/fault.ts';
import { diffText } from '../../src/release/diff-text.ts';
import { parseSshKey } from '../../src/values/ssh-key.ts';
import { keyOf, peopleText } from '../release/signing.ts';
import { SMALL } from '../release/directory.ts';

const ADA = keyOf('ada').line;
const faultsOf = (text: string): readonly string[] => {
  const read = readPeople(text);
  return read.ok ? [] : read.faults.map(formatFault);
};

describe('people.yaml', () => {
  it('says who people are, what they may do, and which groups they are in', () => {
    const text = `people:
  ada: { roles: [operate, approve, operate], sshKeys: ['${ADA}'] }
  ben@example.com:
    roles: [approve]
    passkeys: [{ id: Zm9v, publicKey: YmFy }]
groups:
  treasury: [ada, ben@example.com]
`;
    const read = readPeople(text);
    expect(read.ok && Object.fromEntries(read.people.people)).toMatchObject({
      ada: { name: 'ada', roles: ['operate', 'approve'], sshKeys: [{ type: 'ssh-ed25519' }], passkeys: [] },
      'ben@example.com': { roles: ['approve'], passkeys: [{ id: 'Zm9v', publicKey: 'YmFy' }] },
    });
    expect(read.ok && read.people.groups.get('treasury')).toEqual(['ada', 'ben@example.com']);
  });

  it.each([
    ['nothing', '', 'names nobody'],
    ['two documents', 'people: {}\n---\npeople: {}\n', 'there is a list of people already'],
    ['a list', '- ada\n', 'people.yaml'],
    ['another member', 'people: {}\nperson: {}\n', '"person" is not known here'],
    ['a name with a blank', "people: { 'ada b': { roles: [read] } }", "can't be a name"],
    ['a person without roles', 'people: { ada: {} }', 'people.ada'],
    ['an empty list of roles', 'people: { ada: { roles: [] } }', 'people.ada.roles'],
    ['another role', 'people: { ada: { roles: [admin] } }', 'people.ada.roles[0]'],
    ['another member of a person', 'people: { ada: { roles: [read], key: x } }', '"key" is not known here'],
    [
      'a text that is no key',
      'people: { ada: { roles: [read], sshKeys: [ssh-ed25519] } }',
      'people.ada.sshKeys[0]: it is no SSH key',
    ],
    [
      'a key with options',
      `people: { ada: { roles: [read], sshKeys: ['namespaces="x" ${ADA}'] } }`,
      'it is no SSH key',
    ],
    [
      'a passkey that is not base64url',
      "people: { ada: { roles: [read], passkeys: [{ id: 'a+b', publicKey: x }] } }",
      'passkeys[0].id',
    ],
    [
      'one passkey under two ids',
      'people: { ada: { roles: [read], passkeys: [{ id: YQ, publicKey: Yg }] }, ben: { roles: [read], passkeys: [{ id: Yw, publicKey: Yg }] } }',
      'which ada has already',
    ],
    [
      'a key of two people',
      peopleText(['ada']) + peopleText(['ada']).replace('people:\n  ada', '  ben'),
      'which ada has already',
    ],
    [
      'a key twice',
      `people: { ada: { roles: [read], sshKeys: ['${ADA}', '${ADA} again'] } }`,
      'which ada has already',
    ],
    [
      'a group of strangers',
      `${peopleText(['ada'], '[approve]')}groups: { treasury: [ada, bem] }`,
      '"bem" is not one of the people',
    ],
    [
      'a person twice in a group',
      `${peopleText(['ada'], '[approve]')}groups: { treasury: [ada, ada] }`,
      'is in the group already',
    ],
    ['a group without members', `${peopleText(['ada'])}groups: { treasury: [] }`, 'groups.treasury'],
    [
      'a member who may not approve',
      `${peopleText(['ada'])}groups: { treasury: [ada] }`,
      'has not the role approve',
    ],
  ])('is refused with %s', (_, text, because) => {
    expect(faultsOf(text).join('\n')).toContain(because);
  });

  it('is part of the revision, and its faults are faults of the policies', () => {
    const revisionWith = (people?: string): string | undefined => {
      const files = [{ name: 'small.yaml', text: SMALL }];
      const all = people === undefined ? files : [...files, { name: 'people.yaml', text: people }];
      const compiled = readPolicyFiles(all, () => undefined);
      return compiled.ok ? compiled.release.revision : undefined;
    };
    const revisions = [undefined, peopleText(['ada']), peopleText(['ada', 'ben'])].map(revisionWith);
    expect(new Set(revisions).size).toBe(3);
    expect(revisions).not.toContain(undefined);
    expect(revisionWith('people: { ada: { roles: [admin] } }')).toBeUndefined();
    // People alone are no policies.
    expect(readPolicyFiles([{ name: 'people.yaml', text: peopleText(['ada']) }], () => undefined).ok).toBe(
      false,
    );
  });

  it('is compared person by person, so that a signer sees who can do what now', () => {
    const documentWith = (people: string): string => {
      const files = [
        { name: 'small.yaml', text: SMALL },
        { name: 'people.yaml', text: people },
      ];
      const compiled = readPolicyFiles(files, () => undefined);
      return compiled.ok ? compiled.release.document : '';
    };
    const before = `${peopleText(['ada', 'ben'], '[operate, approve]')}groups: { treasury: [ada, ben] }`;
    const after = `${peopleText(['ada', 'eve'], '[approve]')}groups: { treasury: [eve] }`;
    const { fingerprint } = parseSshKey(keyOf('eve').line);
    const diff = diffReleases(documentWith(before), documentWith(after));
    const text = diffText(diff);
    for (const line of [
      '~ file people.yaml (unclear)',
      '    - ada has the role operate',
      '    - ben has the role approve',
      '    - ben is in the group treasury',
      '    + eve has the role approve',
      `    + eve has the key ${fingerprint}`,
      '    + eve is in the group treasury',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
    expect(text).not.toContain('ada has the key');
    expect(diff.loosens).toContain('file people.yaml');
  });
});
