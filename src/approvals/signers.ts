import { z } from 'zod';
import { messageOf } from '../errors.ts';
import type { People, Person, PersonRole } from '../policy/people.ts';
import { type PasskeySite, verifyPasskeySignature } from '../signature/passkey-statement.ts';
import { verifySshSignature } from '../signature/sshsig.ts';
import { namespaceOf, refused } from '../signature/statement.ts';

/** Of a statement. */
const SIGNATURES_MAX = 100;
const SIGNATURE_MAX_CHARACTERS = 16_384;

export const signature = z.discriminatedUnion('method', [
  z.strictObject({
    method: z.literal('ssh'),
    /** As `ssh-keygen -Y sign` writes it. */
    signature: z.string().max(SIGNATURE_MAX_CHARACTERS),
  }),
  z.strictObject({
    method: z.literal('passkey'),
    /** The id of the credential, and what the browser returned, as JSON. */
    id: z.string().max(2048),
    response: z.string().max(SIGNATURE_MAX_CHARACTERS),
  }),
]);

/** A signature of a statement. It doesn't say whose it is: the key does. */
export type Signature = Readonly<z.output<typeof signature>>;
export const signatures = z.array(signature).max(SIGNATURES_MAX).readonly();

/** A statement with its signatures. */
export interface Signed {
  readonly statement: string;
  readonly signatures: readonly Signature[];
}

export interface Signer {
  readonly person: string;
  /** The fingerprint of an SSH key, or `passkey ID`. */
  readonly key: string;
  /** An SSH key as lines of `allowed_signers` have it; empty for a passkey. */
  readonly publicKey: string;
  readonly signature: Signature;
}

/**
 * Whether a person has made a request, as far as its author says: at the command line, people name themselves.
 * What two people announced has the author `ada, approved by ben`.
 */
export const isAuthor = ({ by }: { readonly by: string }, person: string): boolean =>
  [person, `console:${person}`].includes(by.split(', approved by ')[0] ?? by);

/** For which signatures are accepted. */
export interface SigningScope {
  readonly deployment: string;
  /** Where passkeys sign; undefined without passkeys. */
  readonly site?: PasskeySite | undefined;
}

export interface Signers {
  /** Each person and each key once. */
  readonly signers: readonly Signer[];
  /** Why the other signatures don't count: a sentence each, without its full stop. */
  readonly refused: readonly string[];
}

/**
 * Who signed a statement, of the people with the role. What is wrong with one signature doesn't stop the
 * others, and never counts.
 */
export async function signersOf(
  { statement, signatures: given }: Signed,
  people: People,
  {
    role,
    scope,
    where = 'in people.yaml',
  }: {
    readonly role: PersonRole;
    readonly scope: SigningScope;
    /** Where these people are written, for reasons. */
    readonly where?: string;
  },
): Promise<Signers> {
  const signers: Signer[] = [];
  const reasons: string[] = [];
  for (const each of given) {
    try {
      const signer = await signerOf(each, statement, people, { scope, where });
      if (signers.some(({ key }) => key === signer.key))
        throw refused(`the key ${signer.key} has signed already`);
      if (signers.some(({ person }) => person === signer.person.name)) {
        throw refused(`${signer.person.name} has signed already, with another key`);
      }
      if (!signer.person.roles.includes(role))
        throw refused(`${signer.person.name} has not the role ${role}`);
      signers.push({ ...signer, person: signer.person.name, signature: each });
    } catch (thrown) {
      reasons.push(messageOf(thrown));
    }
  }
  return { signers, refused: reasons };
}

interface Verified extends Pick<Signer, 'key' | 'publicKey'> {
  readonly person: Person;
}

/** The person whose key has signed. Throws SIGNATURE_REFUSED. */
async function signerOf(
  given: Signature,
  statement: string,
  { people }: People,
  { scope: { deployment, site }, where }: { readonly scope: SigningScope; readonly where: string },
): Promise<Verified> {
  const all = [...people.values()];
  const message = Buffer.from(statement);
  if (given.method === 'ssh') {
    const {
      fingerprint: key,
      type,
      blob,
    } = verifySshSignature({
      armored: given.signature,
      message,
      namespace: namespaceOf(deployment),
    });
    const person = all.find(({ sshKeys }) => sshKeys.some(({ fingerprint }) => fingerprint === key));
    if (person === undefined) throw refused(`the key ${key} is of nobody ${where}`);
    return { person, key, publicKey: `${type} ${blob}` };
  }
  const key = `passkey ${given.id}`;
  const person = all.find(({ passkeys }) => passkeys.some(({ id }) => id === given.id));
  const passkey = person?.passkeys.find(({ id }) => id === given.id);
  if (person === undefined || passkey === undefined) throw refused(`the ${key} is of nobody ${where}`);
  if (site === undefined) throw refused(`the settings have no console.passkeys, so ${key} can't be verified`);
  await verifyPasskeySignature({ response: JSON.parse(given.response), statement: message, site, passkey });
  return { person, key, publicKey: '' };
}

/** Two sets of people as one. A name of both has the keys of both. */
export function bothPeople(one: People, other: People): People {
  const people = new Map(one.people);
  for (const [name, person] of other.people) {
    const same = people.get(name);
    people.set(
      name,
      same === undefined
        ? person
        : {
            name,
            roles: [...new Set([...same.roles, ...person.roles])],
            sshKeys: [...same.sshKeys, ...person.sshKeys],
            passkeys: [...same.passkeys, ...person.passkeys],
          },
    );
  }
  return { people, groups: other.groups };
}
