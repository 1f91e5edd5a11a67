import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { CountersignError, messageOf } from '../errors.ts';
import { bothPeople } from '../approvals/signers.ts';
import { readPeople } from '../policy/compile.ts';
import { formatFault } from '../policy/fault.ts';
import { NO_PEOPLE, type People } from '../policy/people.ts';
import type { Followed } from '../release/signed.ts';
import { storedRelease } from '../release/stored.ts';
import {
  type FollowedMemory,
  type RevisionTrust,
  type SignerRules,
  createRevisionTrust,
  trustedRevision,
  unlessForged,
} from '../release/trust.ts';
import type { Settings } from '../settings/schema.ts';
import { thresholdsOf } from '../settings/signers.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { jsonOrText } from '../values/text.ts';
import { decodeUtf8 } from '../values/utf8.ts';
import { signingScope } from './people.ts';

/**
 * Who must sign revisions. Undefined without `signers`. Throws SETTINGS_INVALID if the file can't be read.
 */
export function signerRules(settings: Settings): SignerRules | undefined {
  const { signers } = settings;
  if (signers === undefined) return undefined;
  const { file, minSerial = 1 } = signers;
  const { threshold, tighten } = thresholdsOf(signers);
  const read = readPeople(textOf(file), file);
  if (!read.ok)
    throw invalid(
      `signers.file has faults:\n${read.faults.map((fault) => `  ${formatFault(fault)}`).join('\n')}`,
    );
  const { people: pinned } = read;
  const able = [...pinned.people.values()].filter(({ roles }) => roles.includes('operate'));
  if (able.length < threshold) {
    throw invalid(
      `signers.file ${file} has ${able.length} people with the role operate, and signers.threshold is ${threshold}: ` +
        'nobody could sign the first revision; add people',
    );
  }
  return { deployment: '', ...signingScope(settings), pinned, threshold, tighten, minSerial };
}

function textOf(file: string): string {
  try {
    return decodeUtf8(readFileSync(file));
  } catch (thrown) {
    throw invalid(`signers.file ${file} can't be read: ${messageOf(thrown)}`);
  }
}

const invalid = (because: string): CountersignError => new CountersignError('SETTINGS_INVALID', because);

/**
 * Those who may sign now: the people of the settings, and those of the revision in force. With signers, only
 * if enough people have signed that one.
 */
export async function peopleNow(
  settings: Settings,
  store: Pick<Store, 'control' | 'document'>,
): Promise<People> {
  const rules = signerRules(settings);
  const { revision } = await store.control();
  const ofRevision = async (): Promise<People> => (await storedRelease(store, revision))?.people ?? NO_PEOPLE;
  if (rules === undefined) return ofRevision();
  if (revision === '') return rules.pinned;
  const trusted = await unlessForged(() => trustedRevision({ store, rules, forPeople: true }, revision));
  if (trusted === undefined) return rules.pinned;
  return bothPeople(rules.pinned, await ofRevision());
}

interface TrustOpening {
  readonly store: Pick<Store, 'document'>;
  readonly clock: Clock;
  /** Whether this is the service, which keeps what it has followed. */
  readonly isService?: boolean;
}

/** Follows signed revisions only, if the settings say so. Throws SETTINGS_INVALID. */
export function openTrust(
  settings: Settings,
  { store, clock, isService = false }: TrustOpening,
): RevisionTrust | undefined {
  const rules = signerRules(settings);
  if (rules === undefined) return undefined;
  const file = settings.signers?.state;
  const memory = file === undefined ? undefined : memoryIn(file);
  const unchanged = memory && { ...memory, write: () => undefined };
  return createRevisionTrust({ store, rules, clock, memory: isService ? memory : unchanged });
}

const followedShape = z.strictObject({
  serial: z.int().positive(),
  revision: z.string().regex(/^[0-9a-f]{64}$/),
});

/** The file `signers.state`. */
function memoryIn(file: string): FollowedMemory {
  const readFile = (): Followed | undefined => {
    const text = readIfThere(file);
    if (text === undefined) return undefined;
    const read = followedShape.safeParse(jsonOrText(text));
    if (read.success) return read.data;
    throw invalid(
      `signers.state ${file} can't be read. Restore it, or delete it and raise signers.minSerial`,
    );
  };
  return {
    read: readFile,
    write(followed) {
      // Another service on this machine may be ahead.
      if ((readFile()?.serial ?? 0) >= followed.serial) return;
      mkdirSync(dirname(file), { recursive: true });
      const temporary = `${file}.${process.pid}`;
      const opened = openSync(temporary, 'w', 0o600);
      try {
        writeSync(opened, `${JSON.stringify(followed)}\n`);
        fsyncSync(opened);
      } finally {
        closeSync(opened);
      }
      renameSync(temporary, file);
    },
  };
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
    throw invalid(`signers.state ${file} can't be read: ${messageOf(thrown)}`);
  }
}
