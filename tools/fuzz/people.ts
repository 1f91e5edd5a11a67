import { type KeyObject, createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { perform } from '../../src/act/act.ts';
import { approveCallback, rejectRequest } from '../../src/act/approvals.ts';
import { readPeople } from '../../src/policy/compile.ts';
import { NO_PEOPLE } from '../../src/policy/people.ts';
import type { Store } from '../../src/store/store.ts';
import type { RequestsModel } from '../../test/reference/requests.ts';
import type { Rules } from '../../test/reference/policy.ts';
import { ofApproval } from '../../test/reference/rules.ts';
import { PARTS, armor, blobOf, signedText, wire } from '../../test/signature/ssh.ts';
import type { Random } from './random.ts';

/*
 * People who approve and reject between callbacks, and somebody who writes signatures to the store that are none.
 */

export const DEPLOYMENT = 'fuzz';
export const APPROVAL = { by: 'treasury', quorum: '2', within: '1h' } as const satisfies Rules['approval'];
export const WITHIN_MS = 3_600_000;
const GROUPS = { treasury: ['ada', 'ben', 'cleo'] } as const;

interface Key {
  /** Undefined: the key is of nobody. */
  readonly person: string | undefined;
  readonly privateKey: KeyObject;
  /** The public half as SSH writes it. */
  readonly blob: Buffer;
}

/** The same on every run. */
function keyOf(name: string, person: string | undefined): Key {
  const start = Buffer.from('302e020100300506032b657004220420', 'hex');
  const seed = createHash('sha256').update(name).digest();
  const privateKey = createPrivateKey({ key: Buffer.concat([start, seed]), format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { person, privateKey, blob: wire('ssh-ed25519', Buffer.from(x, 'base64url')) };
}

/** Dan may approve, but is in no group. Eve is in none either, and may not approve. */
const ROLES = { ada: 'approve', ben: 'approve', cleo: 'approve', dan: 'approve', eve: 'operate' } as const;
const ADA = keyOf('ada', 'ada');
const MALLORY = keyOf('mallory', undefined);
const KEYS: readonly [Key, ...Key[]] = [
  ADA,
  keyOf('ada, at home', 'ada'),
  keyOf('ben', 'ben'),
  keyOf('ben, at home', 'ben'),
  keyOf('cleo', 'cleo'),
  keyOf('dan', 'dan'),
  keyOf('eve', 'eve'),
  MALLORY,
];
export const PEOPLE = JSON.stringify({
  people: Object.fromEntries(
    Object.entries(ROLES).map(([person, role]) => [
      person,
      {
        roles: [role],
        sshKeys: KEYS.filter((key) => key.person === person).map(
          ({ blob }) => `ssh-ed25519 ${blob.toString('base64')} ${person}`,
        ),
      },
    ]),
  ),
  groups: GROUPS,
});
const read = readPeople(PEOPLE);
const people = read.ok ? read.people : NO_PEOPLE;

/** Whether the rule of the policies is fulfilled, as the reference has it. */
export const isApproved = (requests: RequestsModel, subject: string, terms: string, atMs: number): boolean =>
  ofApproval(APPROVAL, { approved: requests.approved(subject, terms), people: GROUPS, atMs }) === 'current';

export interface PeopleParts {
  readonly random: Random;
  readonly requests: RequestsModel;
  readonly store: Store;
  readonly clock: () => number;
}

/** What somebody did about the request of a callback, and what is wrong with how that went. */
export interface Deed {
  readonly label: string;
  readonly wrong: string | undefined;
}

/** Somebody does something about a request. Undefined if the store does not have it. */
export async function actOn(
  parts: PeopleParts,
  { source, id }: { readonly source: string; readonly id: string },
): Promise<Deed | undefined> {
  const { random, requests, store, clock } = parts;
  const record = await store.approvalRequest(source, id);
  if (record === undefined) return undefined;
  const subject = `${source} ${id}`;
  const value = JSON.parse(record.value) as { statement: string; signatures: readonly object[] };
  const wasOpen = requests.isOpen(subject, clock());
  const key = random.pick(KEYS);
  const person = key.person ?? '';
  const mayApprove = Object.entries(ROLES).some(([name, role]) => name === person && role === 'approve');

  const done = (work: Promise<unknown>): Promise<boolean> =>
    work.then(
      () => true,
      () => false,
    );
  const fault = (took: boolean, expected: boolean): string | undefined =>
    took === expected ? undefined : `${took ? 'took' : 'refused'} what somebody did about a request`;

  if (random.oneIn(40)) {
    const given = { request: id, source, message: 'no' };
    const took = await done(
      perform(rejectRequest, { store, clock }, given, { by: 'ben', fourEyes: undefined }),
    );
    if (took) requests.end(subject, 'rejected');
    return { label: 'people: a rejection', wrong: fault(took, wasOpen) };
  }
  if (!random.oneIn(4)) {
    const signature = { method: 'ssh', signature: signatureOf(key, value.statement) } as const;
    const given = { request: id, source, signature };
    const approving = { store, clock, people, scope: { deployment: DEPLOYMENT } };
    const took = await done(perform(approveCallback, approving, given, { by: person, fourEyes: undefined }));
    const expected =
      wasOpen && requests.isWhole(subject) && mayApprove && !requests.hasSigned(subject, person);
    if (took) requests.sign(subject, person);
    return { label: `people: an approval${took ? '' : ' that is refused'}`, wrong: fault(took, expected) };
  }
  // From here on, as somebody who can write to the store.
  const write = (changed: object): Promise<unknown> =>
    store.changeApprovalRequest({
      scope: source,
      id,
      expected: record.version,
      value: JSON.stringify({ ...value, ...changed }),
      isOpen: record.isOpen,
      keepMs: 90 * 86_400_000,
    });
  if (random.oneIn(10)) {
    await write({ statement: value.statement.replace('kind ', 'kind  ') });
    requests.spoil(subject);
    return { label: 'people: another statement', wrong: undefined };
  }
  const { label, signatures, holds = false } = random.pick(WRITTEN)(key, value.statement, random);
  const written = signatures.map((signature) => ({ method: 'ssh', signature }));
  await write({ signatures: [...value.signatures, ...written] });
  if (holds && mayApprove) requests.sign(subject, person);
  return { label: `people: written to the store, ${label}`, wrong: undefined };
}

/** Signatures that somebody puts in the store. */
type Written = (
  key: Key,
  statement: string,
  random: Random,
) => {
  readonly label: string;
  readonly signatures: readonly string[];
  /** They are those of the key, if its person may sign. Otherwise they count for nobody. */
  readonly holds?: boolean;
};

const WRITTEN: readonly [Written, ...Written[]] = [
  (key, statement) => ({ label: 'right', signatures: [signatureOf(key, statement)], holds: true }),
  (key, statement) => {
    const signature = signatureOf(key, statement);
    return { label: 'right, twice', signatures: [signature, signature], holds: true };
  },
  (key, statement) => ({
    label: 'for another deployment',
    signatures: [signatureOf(key, statement, 'countersign@staging')],
  }),
  (key, statement) => ({
    label: 'of other terms',
    signatures: [signatureOf(key, statement.replace('term amount ', 'term amount 1'))],
  }),
  (key, statement) => ({
    label: 'of another subject',
    signatures: [signatureOf(key, statement.replace(/^id .*$/m, 'id other'))],
  }),
  (key, statement) => ({
    label: 'of a later expiry',
    signatures: [signatureOf(key, statement.replace(/^expires 2/m, 'expires 3'))],
  }),
  ({ blob }, statement) => ({
    label: 'by a key that it does not name',
    signatures: [signatureOf({ ...MALLORY, blob: blob === MALLORY.blob ? ADA.blob : blob }, statement)],
  }),
  (key, statement) => ({ label: 'with more after it', signatures: [`${signatureOf(key, statement)}\n`] }),
  (key, statement, random) => {
    const armored = signatureOf(key, statement);
    const at = 40 + random.below(armored.length - 90);
    const other = armored[at] === 'A' ? 'B' : 'A';
    const signature = `${armored.slice(0, at)}${other}${armored.slice(at + 1)}`;
    return { label: 'with another character', signatures: [signature] };
  },
  () => ({ label: 'none', signatures: ['', 'ada', armor(Buffer.from('SSHSIG'))] }),
];

function signatureOf(
  { privateKey, blob }: Key,
  statement: string,
  namespace = `countersign@${DEPLOYMENT}`,
): string {
  const parts = { ...PARTS, key: blob, namespace: Buffer.from(namespace) };
  const bytes = sign(null, signedText(parts, Buffer.from(statement)), privateKey);
  return armor(blobOf({ ...parts, signature: wire('ssh-ed25519', bytes) }));
}
