import type { Kind } from '../../callback/callback.ts';
import { kindsOf } from '../../compose/sources.ts';
import { SOURCE } from '../../policy/members.ts';
import type { Release } from '../../policy/release.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import { named, readRevision } from '../../release/push.ts';
import type { Settings } from '../../settings/schema.ts';
import { freezeText } from '../../store/freezes.ts';
import type { Control, Store } from '../../store/store.ts';
import { unknownAsked } from './plugins.ts';
import { checkNeeds } from './needs.ts';
import { type Finding, attempt, guarded } from './finding.ts';
import { sizeText } from '../policy/validate.ts';
import { isoTime } from '../print.ts';

/** The files, what is in force, and whether each source is served by it. Without a store, only the files. */
export async function checkPolicies(
  settings: Settings,
  store: Store | undefined,
): Promise<readonly Finding[]> {
  const { directory } = settings.policies;
  const files = await attempt('policies', () => readPolicyDirectory(directory));
  const found = files.ok
    ? ok(`${directory} holds ${sizeText(files.value)}, revision ${named(files.value.revision)}`)
    : files.fault;
  if (store === undefined) return [found];
  const release = files.ok ? files.value : undefined;
  return [found, ...(await guarded('policies', () => checkInForce(settings, store, release)))];
}

async function checkInForce(
  settings: Settings,
  store: Store,
  files: Release | undefined,
): Promise<readonly Finding[]> {
  const control = await store.control();
  if (control.revision === '') return [nothingInForce(settings), ...frozenFindings(control)];
  const release = await readRevision(store, control.revision);
  const differs = files !== undefined && files.revision !== release.revision;
  const because = `revision ${named(release.revision)} is in force, ${sizeText(release)}`;
  const hint = differs ? '; the files differ from it: `countersign policy push` puts them in force' : '';
  return [
    { check: 'policies', state: 'ok', because: `${because}${hint}` },
    ...frozenFindings(control),
    ...(await checkRelease(settings, store, release)),
  ];
}

/**
 * What a release would refuse for want of something in the settings or the store; also before it is in force.
 */
export async function checkRelease(
  settings: Settings,
  store: Store,
  release: Release,
): Promise<readonly Finding[]> {
  return [
    ...unserved(settings, release),
    ...strangers(settings, release),
    ...unknownAsked(settings, release),
    ...(await checkNeeds(settings, store, release)),
  ];
}

function nothingInForce({ policies }: Settings): Finding {
  return policies.push === 'when-empty'
    ? ok(`nothing is in force; the service puts the files of ${policies.directory} in force at its start`)
    : {
        check: 'policies',
        state: 'fault',
        because:
          'nothing is in force, so every callback is refused; `countersign policy push` puts policies in force',
      };
}

function frozenFindings({ frozen }: Control): readonly Finding[] {
  return frozen.map((freeze) => {
    const since = `all is frozen since ${isoTime(freeze.atMs)} as ${freezeText(freeze)}`;
    return freeze.kind === 'loss'
      ? { check: 'policies', state: 'fault', because: since }
      : warning(`${since}; every answer is FAILURE until \`countersign unfreeze ${freeze.id}\``);
  });
}

/** Kinds of callback that a source may send, and that no policy applies to. */
function unserved(settings: Settings, release: Release): readonly Finding[] {
  return settings.sources.flatMap((source) =>
    kindsOf(source)
      .filter((kind) => policiesOf(release, kind, source.name).length === 0)
      .map((kind) =>
        warning(
          `no policy applies to a ${kind} callback of ${source.name}, so each is refused; write one with callback: ${kind}`,
        ),
      ),
  );
}

/**
 * Policies for a source that is not there: where the name is misspelt, they do not hold for the source that
 * is meant.
 */
function strangers(settings: Settings, release: Release): readonly Finding[] {
  const known = settings.sources.map(({ name }) => name);
  return release.policies.flatMap((policy) =>
    [...(policy.when.get(SOURCE) ?? [])]
      .filter((name) => !known.includes(name))
      .map((name) =>
        warning(
          `${policy.name} is for callbacks of ${name}, which the settings do not name; known are ${known.join(', ')}`,
        ),
      ),
  );
}

/** Policies that may apply to some callback of this kind and source. */
function policiesOf({ policies }: Release, kind: Kind, source: string): Release['policies'] {
  return policies.filter(
    ({ callback, when }) => callback === kind && (when.get(SOURCE)?.has(source) ?? true),
  );
}

const ok = (because: string): Finding => ({ check: 'policies', state: 'ok', because });
const warning = (because: string): Finding => ({ check: 'policies', state: 'warning', because });
