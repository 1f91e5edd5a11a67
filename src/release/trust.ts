import { CountersignError, type ErrorCode, messageOf } from '../errors.ts';
import { type Signed, type Signer, type SigningScope, bothPeople, signersOf } from '../approvals/signers.ts';
import { diffReleases } from '../policy/diff.ts';
import type { People } from '../policy/people.ts';
import type { Store } from '../store/store.ts';
import { sha256Hex } from '../values/canonical.ts';
import type { Clock } from '../values/clock.ts';
import { counted, isoTime } from '../values/text.ts';
import { shortRevision } from './push.ts';
import {
  type Followed,
  type RevisionStatement,
  peopleHash,
  peopleOf,
  readRevisionStatement,
  signedBySerial,
  signedOf,
} from './signed.ts';

/*
 * Whether enough people have signed a revision. With `signers` in the settings, nothing else is followed. A
 * person who can write to the store can then withhold a revision, but can't make one.
 */

const WHO_MAY_SIGN = 'in signers.file, nor in people.yaml of the revision before';
/** A serial may be this much above the highest one that was seen: a stolen key must not use up all of them. */
const SERIALS_AHEAD_MAX = 1000;

export interface SignerRules extends SigningScope {
  /** The people of the file that the settings name: they may always sign. */
  readonly pinned: People;
  /** So many people must sign. */
  readonly threshold: number;
  /** So many suffice for a revision that only tightens. */
  readonly tighten: number;
  /** Lower serials are refused. */
  readonly minSerial: number;
}

export interface Trusted extends Followed {
  readonly statement: RevisionStatement;
  readonly signers: readonly Signer[];
  readonly needed: number;
  /** Why further signatures don't count: a sentence each, without its full stop. */
  readonly refused: readonly string[];
}

export interface TrustParts {
  readonly store: Pick<Store, 'document'>;
  readonly rules: SignerRules;
  /** The last revision that was found trusted here; undefined if that is not remembered. */
  readonly followed?: Followed | undefined;
  /** When it is put in force. Absent if that was before: its statement may have expired since. */
  readonly nowMs?: number | undefined;
  /**
   * True for people who look, and not for a service that is to follow it: fewer signatures then suffice for what
   * only tightened, also if nobody remembers what was in force. A service must remember, because one person could
   * name an earlier and looser revision as the one before.
   */
  readonly forPeople?: boolean;
}

/**
 * The revision in the store, if it may be followed. Throws REVISION_UNTRUSTED, which says why not, unless
 *
 * - enough people have signed it, of those that the settings name and those of the revision before it, which
 *   must be trusted in the same way, back to the one that was followed last or to one that people of the
 *   settings signed,
 * - its statement is for this deployment and has not expired, and its serial is above the last one.
 */
export async function trustedRevision(parts: TrustParts, revision: string): Promise<Trusted> {
  const signed = await signedOf(parts.store, revision);
  if (signed === undefined) {
    throw untrusted(revision, 'nobody has signed it; push it with `countersign policy push --key FILE`');
  }
  return requireEnough(await signersSoFar(parts, signed, await documentOf(parts.store, revision)));
}

/** Throws REVISION_UNTRUSTED if further signatures are needed. */
function requireEnough(judged: Trusted): Trusted {
  const { revision, signers, needed, refused } = judged;
  if (signers.length >= needed) return judged;
  const names = signers.map(({ person }) => person).join(', ');
  const who = signers.length === 0 ? 'nobody who may sign it has signed it' : `only ${names} signed it`;
  const others = refused.length === 0 ? '' : ` (${refused.join('; ')})`;
  throw untrusted(
    revision,
    `${who}${others}; signatures of ${counted(needed, 'person', 'people')} are needed`,
  );
}

/**
 * Who has signed a statement so far, which need not be in the store yet, nor its revision, whose document is
 * given. Throws REVISION_UNTRUSTED for what further signatures can't mend.
 */
export async function signersSoFar(parts: TrustParts, signed: Signed, document: string): Promise<Trusted> {
  const revision = sha256Hex(document);
  const statement = statementOf(signed, revision, parts.rules);
  const { followed, nowMs } = parts;
  if (followed?.serial === statement.serial && followed.revision === revision) {
    return { serial: statement.serial, revision, statement, signers: [], needed: 0, refused: [] };
  }
  checkPlace(statement, parts);
  if (statement.people !== peopleHash(document)) {
    throw untrusted(revision, 'its statement names another people.yaml than it has');
  }
  if (nowMs !== undefined && nowMs >= statement.expiresAtMs) {
    throw untrusted(revision, `its statement expired at ${isoTime(statement.expiresAtMs)}; push it again`);
  }
  return judge(parts, { signed, statement, document }, 0);
}

/** Pushes that are looked at for the last one that enough people have signed. */
const PUSHES_MAX = 100;

/**
 * The last revision that enough people have signed, of the one in force and those before it: what services follow,
 * also if somebody has put another one in force since. Undefined if there is none.
 */
export async function lastTrusted(
  store: Pick<Store, 'document' | 'history'>,
  rules: SignerRules,
  inForce: string,
): Promise<Followed | undefined> {
  const parts = { store, rules, forPeople: true };
  const current =
    inForce === '' ? undefined : await unlessForged(() => followedBy(parts, signedOf(store, inForce)));
  if (current !== undefined) return current;
  for (const { serial } of await store.history(PUSHES_MAX)) {
    if (serial === 0) continue;
    const followed = await unlessForged(() => followedBy(parts, signedBySerial(store, serial)));
    if (followed !== undefined) return followed;
  }
  return undefined;
}

/** The revision of a statement. Throws REVISION_UNTRUSTED if too few people have signed it. */
async function followedBy(
  parts: TrustParts,
  reading: Promise<Signed | undefined>,
): Promise<Followed | undefined> {
  const signed = await reading;
  if (signed === undefined) return undefined;
  const { revision } = readRevisionStatement(signed.statement);
  const document = await documentOf(parts.store, revision);
  const { serial } = requireEnough(await signersSoFar(parts, signed, document));
  return { serial, revision };
}

/** Undefined for what somebody may have written to the store to stop those who sign. */
export async function unlessForged<Read>(read: () => Promise<Read>): Promise<Read | undefined> {
  try {
    return await read();
  } catch (thrown) {
    if (isForged(thrown)) return undefined;
    throw thrown;
  }
}

const FORGED: ReadonlySet<ErrorCode> = new Set(['REVISION_UNTRUSTED', 'SIGNATURE_REFUSED', 'STORE_CORRUPT']);

/** Whether what was read can't be trusted: too few people have signed it, or somebody has changed it. */
const isForged = (thrown: unknown): thrown is CountersignError =>
  thrown instanceof CountersignError && FORGED.has(thrown.code);

/** Who signed the statement with a serial, for people: `42: ada, ben`; `unsigned` for 0. */
export async function signersText(parts: TrustParts, serial: number): Promise<string> {
  const signed = serial === 0 ? undefined : await signedBySerial(parts.store, serial);
  if (signed === undefined) return 'unsigned';
  try {
    const statement = readRevisionStatement(signed.statement);
    const document = await documentOf(parts.store, statement.revision);
    const { signers } = await judge(parts, { signed, statement, document }, 0);
    return `${serial}: ${signers.map(({ person }) => person).join(', ') || 'nobody who may sign'}`;
  } catch (thrown) {
    return `${serial}: ${messageOf(thrown)}`;
  }
}

interface Judged {
  readonly signed: Signed;
  readonly statement: RevisionStatement;
  readonly document: string;
}

async function judge(
  parts: TrustParts,
  { signed, statement, document }: Judged,
  depth: number,
): Promise<Trusted> {
  const { pinned, threshold, tighten } = parts.rules;
  const { serial, revision, previous } = statement;
  const signersAmong = async (people: People, needed: number): Promise<Trusted> => ({
    serial,
    revision,
    statement,
    needed,
    ...(await signersOf(signed, people, { role: 'operate', scope: parts.rules, where: WHO_MAY_SIGN })),
  });
  const ofSettings = await signersAmong(pinned, threshold);
  if (previous === undefined || ofSettings.signers.length >= threshold) return ofSettings;
  const before = await trustedDocument(parts, { previous, next: serial }, depth);
  // A revision that can't be trusted says nothing: neither who may sign, nor what is looser.
  if (before === undefined) return ofSettings;
  const mayTighten = tighten < threshold && (parts.followed !== undefined || parts.forPeople === true);
  const needed = mayTighten && onlyTightens(before, document) ? tighten : threshold;
  return signersAmong(bothPeople(pinned, peopleOf(before)), needed);
}

/** The document of the revision before, if it is trusted. Undefined if it was not signed by enough people. */
async function trustedDocument(
  parts: TrustParts,
  { previous, next }: { readonly previous: Followed; readonly next: number },
  depth: number,
): Promise<string | undefined> {
  const { store, rules, followed } = parts;
  const { serial, revision } = previous;
  if (serial >= next || depth >= SERIALS_AHEAD_MAX) return undefined;
  const document = await documentOf(store, revision);
  if (followed?.serial === serial) return followed.revision === revision ? document : undefined;
  if (followed !== undefined && serial < followed.serial) return undefined;
  const signed = await signedBySerial(store, serial);
  if (signed === undefined) return undefined;
  const statement = statementOf(signed, revision, rules);
  if (statement.serial !== serial) return undefined;
  const { signers, needed } = await judge(parts, { signed, statement, document }, depth + 1);
  return signers.length >= needed ? document : undefined;
}

function statementOf(
  { statement }: Signed,
  revision: string,
  { deployment }: SignerRules,
): RevisionStatement {
  const read = readRevisionStatement(statement);
  if (read.deployment !== deployment) {
    throw untrusted(
      revision,
      `its statement is for the deployment ${read.deployment}, and this one is ${deployment}`,
    );
  }
  if (read.revision !== revision) {
    throw untrusted(revision, `its statement is about revision ${shortRevision(read.revision)}`);
  }
  return read;
}

/** Whether a statement comes after all that was followed, and not too far after it. */
function checkPlace(
  { serial, revision, previous }: RevisionStatement,
  { rules: { minSerial }, followed }: TrustParts,
): void {
  const least = followed === undefined ? minSerial : Math.max(minSerial, followed.serial + 1);
  if (serial < least) {
    const why =
      followed === undefined ? `signers.minSerial is ${minSerial}` : `${followed.serial} was in force`;
    throw untrusted(
      revision,
      `its serial is ${serial}, and ${why}: it is older, or was signed for an older one`,
    );
  }
  if (serial >= least + SERIALS_AHEAD_MAX) {
    const most = least + SERIALS_AHEAD_MAX - 1;
    throw untrusted(
      revision,
      `its serial is ${serial}, too far above the last one (at most ${most}); raise signers.minSerial if it is right`,
    );
  }
  if (followed === undefined || (previous !== undefined && previous.serial >= followed.serial)) return;
  throw untrusted(
    revision,
    `it was made from ${previous === undefined ? 'no revision' : `serial ${previous.serial}`}, and ` +
      `${followed.serial} was in force since; push it again`,
  );
}

/** The document of a revision in the store. Throws REVISION_UNTRUSTED if it is missing or another one. */
async function documentOf(store: Pick<Store, 'document'>, revision: string): Promise<string> {
  const document = await store.document(revision);
  if (document !== undefined && sha256Hex(document) === revision) return document;
  throw untrusted(
    revision,
    `the store ${document === undefined ? 'does not have it' : 'has another text for it'}`,
  );
}

/** Nothing in it may approve what was refused before, and the people are the same. */
const onlyTightens = (before: string, after: string): boolean =>
  diffReleases(before, after).loosens.length === 0;

function untrusted(revision: string, because: string): CountersignError {
  return new CountersignError(
    'REVISION_UNTRUSTED',
    `revision ${shortRevision(revision)} is not followed: ${because}`,
    { revision },
  );
}

/** What a service remembers of what it followed. */
export interface FollowedMemory {
  readonly read: () => Followed | undefined;
  /** Throws if it can't be written: what was not remembered must not be followed. */
  readonly write: (followed: Followed) => void;
}

/** Follows signed revisions only. */
export interface RevisionTrust {
  /** Throws REVISION_UNTRUSTED, or SIGNATURE_REFUSED for a statement that can't be read. */
  readonly follow: (revision: string) => Promise<void>;
}

export function createRevisionTrust({
  store,
  rules,
  memory,
  clock,
}: Pick<TrustParts, 'store' | 'rules'> & {
  readonly memory?: FollowedMemory | undefined;
  readonly clock: Clock;
}): RevisionTrust {
  let followed = memory?.read();
  /** Whether what changes now is put in force now. The first one may have been for long. */
  let isRunning = false;
  return {
    async follow(revision) {
      const nowMs = isRunning ? clock() : undefined;
      const { serial } = await trustedRevision({ store, rules, followed, nowMs }, revision);
      if (serial !== followed?.serial) memory?.write({ serial, revision });
      followed = { serial, revision };
      isRunning = true;
    },
  };
}
