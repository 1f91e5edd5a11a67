import { lacksOf, unmatchedInStore } from '../../start/policies.ts';
import type { Release } from '../../policy/release.ts';
import { sizeText } from '../../release/check.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import { originOf, pushedText, staleFiles, staleText } from '../../release/origin.ts';
import { unmatchedText } from '../../release/lists.ts';
import { lastPush, readRevision, shortRevision } from '../../release/push.ts';
import type { Settings } from '../../settings/schema.ts';
import { exceptionText, freezeText } from '../../store/freezes.ts';
import type { Control, Store } from '../../store/store.ts';
import { trustedRevision } from '../../release/trust.ts';
import { signerRules } from '../../start/trust.ts';
import { counted, isoTime } from '../print.ts';
import { type Examined, type Found, attempt, fault, guarded, ok, warning } from './finding.ts';

/**
 * Checks the policy files, the revision in force, and whether it has policies for each source. Without a
 * store, checks only the files.
 */
export async function checkPolicies({ settings, store }: Examined): Promise<readonly Found[]> {
  const { directory } = settings.policies;
  const files = await attempt(() => readPolicyDirectory(directory));
  const found = files.ok
    ? ok(`${directory} holds ${sizeText(files.value)}, revision ${shortRevision(files.value.revision)}`)
    : files.fault;
  if (store === undefined) return [found];
  const release = files.ok ? files.value : undefined;
  return [found, ...(await guarded(() => checkInForce(settings, store, release)))];
}

async function checkInForce(
  settings: Settings,
  store: Store,
  files: Release | undefined,
): Promise<readonly Found[]> {
  const control = await store.control();
  if (control.revision === '') return [nothingInForce(settings), ...frozenFindings(control)];
  const release = await readRevision(store, control.revision);
  const push = await lastPush(store, control.revision);
  const because = `revision ${shortRevision(release.revision)} is in force, ${sizeText(release)}, ${pushedText(push)}`;
  return [
    ...(await filesFinding(settings, store, { files, inForce: release.revision, because })),
    ...(await signersFinding(settings, store, release.revision)),
    ...frozenFindings(control),
    ...(await lacksOf(settings, store, release)).map((lack) => warning(lack)),
    ...(await unmatchedInStore(settings, store, release)).map((each) => fault(unmatchedText(each))),
  ];
}

/** Who has signed what is in force, if the settings have signers. */
async function signersFinding(settings: Settings, store: Store, revision: string): Promise<readonly Found[]> {
  const rules = signerRules(settings);
  if (rules === undefined) return [];
  const trusted = await attempt(() => trustedRevision({ store, rules, forPeople: true }, revision));
  if (!trusted.ok) return [trusted.fault];
  const { serial, signers, needed } = trusted.value;
  const names = signers.map(({ person }) => person).join(', ');
  return [ok(`${names} signed it, as serial ${serial}; ${counted(needed, 'signature')} needed`)];
}

/** What is in force, and whether the policy files differ from it. */
async function filesFinding(
  settings: Settings,
  store: Store,
  { files, inForce, because }: { files: Release | undefined; inForce: string; because: string },
): Promise<readonly Found[]> {
  if (files === undefined || files.revision === inForce) return [ok(because)];
  const { directory } = settings.policies;
  const origin = originOf(settings.store, directory);
  const stale = await staleFiles(store, origin, { release: files, inForce });
  if (stale === undefined) {
    const hint = '`countersign policy diff` shows how, and `countersign policy push` puts them in force';
    return [ok(`${because}; the policy files differ; ${hint}`)];
  }
  const cure =
    '`countersign policy checkout DIRECTORY` writes what is in force to files, with comments and tests';
  return [ok(because), warning(`${staleText(stale)}, so a push of them would undo the push in force`, cure)];
}

function nothingInForce({ policies, signers }: Settings): Found {
  return policies.push === 'when-empty' && signers === undefined
    ? ok(`nothing is in force; the service puts the files of ${policies.directory} in force when it starts`)
    : fault(
        'nothing is in force, so every callback is refused',
        '`countersign policy push` puts policies in force',
      );
}

function frozenFindings({ frozen }: Control): readonly Found[] {
  return frozen.map((freeze) => {
    const since = `approvals are frozen since ${isoTime(freeze.atMs)} as ${freezeText(freeze)}`;
    return freeze.kind === 'loss'
      ? fault(since)
      : warning(
          since,
          `every answer${exceptionText(freeze, ',')} is FAILURE until \`countersign unfreeze ${freeze.id}\``,
        );
  });
}
