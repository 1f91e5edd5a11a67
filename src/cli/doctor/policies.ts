import type { Kind } from '../../callback/callback.ts';
import { policyWarnings, unmatchedInStore } from '../../start/policies.ts';
import { kindsOf } from '../../start/sources.ts';
import { SOURCE } from '../../policy/members.ts';
import type { CompiledRule, Release } from '../../policy/release.ts';
import { sizeText } from '../../release/check.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import { originOf, pushedText, staleFiles, staleText } from '../../release/origin.ts';
import { unmatchedText } from '../../release/lists.ts';
import { lastPush, readRevision, shortRevision } from '../../release/push.ts';
import type { Settings } from '../../settings/schema.ts';
import { freezeText } from '../../store/freezes.ts';
import type { Control, Store } from '../../store/store.ts';
import { closestMatch } from '../../values/closest-match.ts';
import { isoTime } from '../print.ts';
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
    ...frozenFindings(control),
    ...(await checkRelease(settings, store, release)),
    ...(await unmatchedInStore(settings, store, release)).map((each) => fault(unmatchedText(each))),
  ];
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

/**
 * The callbacks that a release, in force or not, refuses because the settings or the store lack something,
 * and what else is hardly meant under these settings.
 */
export async function checkRelease(
  settings: Settings,
  store: Store,
  release: Release,
): Promise<readonly Found[]> {
  return [
    ...unservedKinds(settings, release),
    ...unknownSources(settings, release),
    ...unknownPlugins(settings, release),
    ...policyWarnings(settings, release).map((because) => warning(because)),
    ...(await missingLists(settings, store, release)),
    ...(await oldPrices(store, release)),
  ];
}

function nothingInForce({ policies }: Settings): Found {
  return policies.push === 'when-empty'
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
      : warning(since, `every answer is FAILURE until \`countersign unfreeze ${freeze.id}\``);
  });
}

/** Kinds of callback that a source may send and for which no rule enforces. */
function unservedKinds(settings: Settings, release: Release): readonly Found[] {
  return settings.sources.flatMap((source) =>
    kindsOf(source).flatMap((kind) => {
      const policies = policiesOf(release, [kind], source.name);
      if (policies.some(({ rules }) => enforcing(rules).length > 0)) return [];
      const callback = `a ${kind} callback of ${source.name}`;
      const names = policies.map(({ name }) => name).join(', ');
      return names === ''
        ? warning(`no policy applies to ${callback}, so each is refused`, `write one with callback: ${kind}`)
        : warning(
            `all rules for ${callback} only observe, so each callback is refused`,
            `remove \`mode: observe\` from a rule of ${names}`,
          );
    }),
  );
}

/** Sources that only policies name. If the name is misspelt, the policy doesn't apply to the right source. */
function unknownSources(settings: Settings, release: Release): readonly Found[] {
  const known = settings.sources.map(({ name }) => name);
  return release.policies.flatMap((policy) =>
    [...(policy.when.texts.get(SOURCE) ?? [])]
      .filter((name) => !known.includes(name))
      .map((name) => {
        const because = `${policy.name} is for callbacks of ${name}, which is not a source of the settings`;
        return warning(because, `the sources are ${known.join(', ')}`);
      }),
  );
}

/** Plugins that enforcing rules ask and that are not in the settings. */
function unknownPlugins(settings: Settings, release: Release): readonly Found[] {
  const known = {
    service: settings.services.map(({ name }) => name),
    module: settings.modules.map(({ name }) => name),
  };
  return release.policies.flatMap((policy) => {
    const asked = enforcing(policy.rules).flatMap((rule) => rule.pluginQuestions ?? []);
    return (['service', 'module'] as const).flatMap((of) => {
      const names = new Set(asked.filter(({ type }) => type === of).map(({ name }) => name));
      const all = known[of].length === 0 ? `there are no ${of}s` : `the ${of}s are ${known[of].join(', ')}`;
      return [...names]
        .filter((name) => !known[of].includes(name))
        .map((name) => {
          const because = `${policy.name} calls the ${of} ${name}, which the settings do not name under ${of}s`;
          return warning(`${because}, so each callback it judges is refused`, all);
        });
    });
  });
}

async function missingLists(settings: Settings, store: Store, release: Release): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const source of settings.sources) {
    const there = (await store.lists(source.name)).map(({ list }) => list);
    for (const { name, rules } of policiesOf(release, kindsOf(source), source.name)) {
      const needed = new Set(enforcing(rules).flatMap(({ lists = [] }) => lists));
      for (const list of needed) {
        if (there.includes(list)) continue;
        const suggestion = closestMatch(list, there);
        const cure =
          suggestion === undefined
            ? `\`countersign list add ${list} --source ${source.name} --create\` makes an empty one`
            : `did you mean ${suggestion}? Then correct the policy; an empty list would match nothing`;
        const because = `${source.name} has no list ${list}, which ${name} looks into`;
        found.push(warning(`${because}, so each callback it judges is refused`, cure));
      }
    }
  }
  return found;
}

async function oldPrices(store: Store, { policies }: Release): Promise<readonly Found[]> {
  const needs = policies.flatMap(({ name, rules }) =>
    enforcing(rules).flatMap(({ maxPriceAge: age }) => (age === undefined ? [] : [{ policy: name, age }])),
  );
  const [first] = needs;
  if (first === undefined) return [];
  const { prices } = await store.prices();
  const fix = 'with `countersign prices set`';
  if (prices.size === 0) {
    const because = `${first.policy} needs prices, but the store has none`;
    return [warning(`${because}, so each callback it judges is refused`, `set some ${fix}`)];
  }
  const { nowMs } = await store.health();
  const strictest = needs.reduce((least, each) => (each.age.ms < least.age.ms ? each : least), first);
  return [...prices]
    .filter(([, { asOfMs }]) => nowMs - asOfMs > strictest.age.ms)
    .map(([asset, { asOfMs }]) => {
      const limit = `the ${strictest.age.text} of ${strictest.policy}`;
      const because = `the price of ${asset} is as of ${isoTime(asOfMs)}, older than ${limit}`;
      return warning(because, `set a new one ${fix}`);
    });
}

const enforcing = (rules: readonly CompiledRule[]): readonly CompiledRule[] =>
  rules.filter(({ mode }) => mode === 'enforce');

/** Policies that may apply to callbacks of these kinds from the source. */
function policiesOf({ policies }: Release, kinds: readonly Kind[], source: string): Release['policies'] {
  return policies.filter(
    ({ callback, when }) => kinds.includes(callback) && (when.texts.get(SOURCE)?.has(source) ?? true),
  );
}
