import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Signature } from '../../src/approvals/signers.ts';
import { NO_PEOPLE, type People } from '../../src/policy/people.ts';
import { readPeople } from '../../src/policy/compile.ts';
import { namespaceOf } from '../../src/signature/statement.ts';
import { createSshKey } from '../signature/ssh.ts';

/*
 * People with real SSH keys, made once.
 */

export const DEPLOYMENT = 'acme-test';

type Key = ReturnType<typeof createSshKey>;

const keys = new Map<string, Key>();

/** A key by any name. */
export function keyOf(name: string): Key {
  const key = keys.get(name) ?? createSshKey('-t', 'ed25519');
  keys.set(name, key);
  return key;
}

export const signedBy = (name: string, statement: string, deployment = DEPLOYMENT): Signature => ({
  method: 'ssh',
  signature: keyOf(name).sign(Buffer.from(statement), namespaceOf(deployment)),
});

/** The text of a people.yaml in which each name has its key, and the role `operate` unless others are given. */
export function peopleText(names: readonly string[], roles = '[operate]'): string {
  if (names.length === 0) return 'people: {}\n';
  const each = names.map((name) => `  ${name}:\n    roles: ${roles}\n    sshKeys: ['${keyOf(name).line}']\n`);
  return `people:\n${each.join('')}`;
}

export function peopleOf(...names: readonly string[]): People {
  const read = readPeople(peopleText(names));
  return read.ok ? read.people : NO_PEOPLE;
}

const files = new Map<string, string>();

/** The file of a private key, until the process ends. */
export function keyFileOf(name: string): string {
  const known = files.get(name);
  if (known !== undefined) return known;
  const file = join(mkdtempSync(join(tmpdir(), 'countersign-key-')), 'key');
  const { privateKey, line } = keyOf(name);
  writeFileSync(file, privateKey, { mode: 0o600 });
  writeFileSync(`${file}.pub`, `${line}\n`);
  files.set(name, file);
  return file;
}
