import { bothPeople } from '../approvals/signers.ts';
import type { Kind } from '../callback/callback.ts';
import { SOURCE } from '../policy/language/members.ts';
import { PLUGIN_SHARE } from '../pipeline/decide.ts';
import { NO_PEOPLE, SIGNERS_NEEDED } from '../policy/people.ts';
import type { CompiledPolicy, CompiledRule, Release } from '../policy/release.ts';
import { type UnmatchedValues, unmatchedValues } from '../release/lists.ts';
import type { Settings } from '../settings/schema.ts';
import type { Store } from '../store/store.ts';
import { closestMatch } from '../values/closest-match.ts';
import { isoTime } from '../values/text.ts';
import { kindsOf } from './sources.ts';
import { signerRules } from './trust.ts';

const DAY_MS = 86_400_000;

/**
 * What is valid, but hardly meant, or refuses everything, under these settings: a sentence for each rule
 * without its full stop.
 */
export function policyWarnings(
  { store, sources, answerTimeoutMs }: Pick<Settings, 'store' | 'sources' | 'answerTimeoutMs'>,
  { policies }: Pick<Release, 'policies'>,
): readonly string[] {
  return policies.flatMap((policy) => [
    ...countsTooLong(policy, store.retention.subjectsDays),
    ...waitsTooLong(policy, answerTimeoutMs),
    ...lackGroups(policy, sources),
  ]);
}

/**
 * A rule that counts for longer than subjects are kept never counts too little: a callback that is repeated
 * after its subject was forgotten counts a second time.
 */
function countsTooLong({ name: policy, rules }: CompiledPolicy, subjectsDays: number): readonly string[] {
  return rules.flatMap(({ name, countsMs = 0 }) => {
    const days = Math.ceil(countsMs / DAY_MS);
    if (days <= subjectsDays) return [];
    return [
      `${policy}/${name} counts an approval for up to ${days} days, and store.retention.subjectsDays ` +
        `is ${subjectsDays}, so a callback that is repeated later counts a second time; ` +
        `set it to ${days} or more`,
    ];
  });
}

/** A callback is held open only until it can still be answered in time. */
function waitsTooLong({ name: policy, rules }: CompiledPolicy, answerTimeoutMs: number): readonly string[] {
  return rules
    .filter(({ approval }) => (approval?.waitMs ?? 0) > answerTimeoutMs * PLUGIN_SHARE)
    .map(
      ({ name, approval }) =>
        `${policy}/${name} waits up to ${(approval?.waitMs ?? 0) / 1000} s for people, but answerTimeoutMs is ` +
        `${answerTimeoutMs}, so the answer comes before; increase answerTimeoutMs and the time-outs of those who call`,
    );
}

/** A rule that counts across a group refuses sources that have none. */
function lackGroups(
  { name: policy, callback, when, rules }: CompiledPolicy,
  sources: Settings['sources'],
): readonly string[] {
  const without = sources
    .filter((source) => source.group === undefined && kindsOf(source).includes(callback))
    .map(({ name }) => name)
    .filter((name) => when.texts.get(SOURCE)?.has(name) ?? true);
  if (without.length === 0) return [];
  return rules
    .filter(({ acrossGroup }) => acrossGroup)
    .map(
      ({ name }) =>
        `${policy}/${name} counts across the sources of a group, so it refuses ${without.join(', ')}, which ` +
        'has no group in the settings; add `group` to the source',
    );
}

/**
 * The callbacks that a release, in force or not, refuses because the settings or the store lack something,
 * and what else is hardly meant under these settings: a sentence for each without its full stop.
 */
export async function lacksOf(
  settings: Settings,
  store: Store,
  release: Release,
): Promise<readonly string[]> {
  return [
    ...unservedKinds(settings, release),
    ...unknownSources(settings, release),
    ...unknownPlugins(settings, release),
    ...policyWarnings(settings, release),
    ...tooFewPeople(settings, release),
    ...(await missingLists(settings, store, release)),
    ...(await oldPrices(store, release)),
  ];
}

/** Whether nobody could complete what waits for a second person. */
function tooFewPeople(settings: Settings, release: Release): readonly string[] {
  if (settings.fourEyes.length === 0) return [];
  const { people } = bothPeople(signerRules(settings)?.pinned ?? NO_PEOPLE, release.people);
  const able = [...people.values()].filter(
    (each) => each.roles.includes('operate') && each.sshKeys.length > 0,
  );
  if (able.length >= SIGNERS_NEEDED) return [];
  const because = `fourEyes needs ${SIGNERS_NEEDED} people with the role operate and an SSH key, and there are ${able.length}`;
  return [`${because}, so what waits for them is never done; add people to people.yaml`];
}

/** Kinds of callback that a source may send and for which no rule enforces. */
function unservedKinds(settings: Settings, release: Release): readonly string[] {
  return settings.sources.flatMap((source) =>
    kindsOf(source).flatMap((kind) => {
      const policies = policiesOf(release, [kind], source.name);
      if (policies.some(({ rules }) => enforcing(rules).length > 0)) return [];
      const callback = `a ${kind} callback of ${source.name}`;
      const names = policies.map(({ name }) => name).join(', ');
      return names === ''
        ? `no policy applies to ${callback}, so each is refused; write one with callback: ${kind}`
        : `all rules for ${callback} only observe, so each callback is refused; remove \`mode: observe\` ` +
            `from a rule of ${names}`;
    }),
  );
}

/** Sources that only policies name. If the name is misspelt, the policy doesn't apply to the right source. */
function unknownSources(settings: Settings, release: Release): readonly string[] {
  const known = settings.sources.map(({ name }) => name);
  return release.policies.flatMap((policy) =>
    [...(policy.when.texts.get(SOURCE) ?? [])]
      .filter((name) => !known.includes(name))
      .map((name) => {
        const because = `${policy.name} is for callbacks of ${name}, which is not a source of the settings`;
        return `${because}; the sources are ${known.join(', ')}`;
      }),
  );
}

/** Plugins that enforcing rules ask and that are not in the settings. */
function unknownPlugins(settings: Settings, release: Release): readonly string[] {
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
          return `${because}, so each callback it judges is refused; ${all}`;
        });
    });
  });
}

async function missingLists(settings: Settings, store: Store, release: Release): Promise<readonly string[]> {
  const lacks: string[] = [];
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
        lacks.push(`${because}, so each callback it judges is refused; ${cure}`);
      }
    }
  }
  return lacks;
}

async function oldPrices(store: Store, { policies }: Release): Promise<readonly string[]> {
  const needs = policies.flatMap(({ name, rules }) =>
    enforcing(rules).flatMap(({ maxPriceAge: age }) => (age === undefined ? [] : [{ policy: name, age }])),
  );
  const [first] = needs;
  if (first === undefined) return [];
  const { prices } = await store.prices();
  const fix = 'with `countersign prices set`';
  if (prices.size === 0) {
    const because = `${first.policy} needs prices, but the store has none`;
    return [`${because}, so each callback it judges is refused; set some ${fix}`];
  }
  const { nowMs } = await store.health();
  const strictest = needs.reduce((least, each) => (each.age.ms < least.age.ms ? each : least), first);
  return [...prices]
    .filter(([, { asOfMs }]) => nowMs - asOfMs > strictest.age.ms)
    .map(([asset, { asOfMs }]) => {
      const limit = `the ${strictest.age.text} of ${strictest.policy}`;
      const because = `the price of ${asset} is as of ${isoTime(asOfMs)}, older than ${limit}`;
      return `${because}; set a new one ${fix}`;
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

/** The values of lists in the store that nothing can match under a release, in force or not. */
export const unmatchedInStore = (
  { sources }: Pick<Settings, 'sources'>,
  store: Pick<Store, 'lists' | 'listEntries'>,
  release: Pick<Release, 'policies'>,
): Promise<readonly UnmatchedValues[]> =>
  unmatchedValues(
    store,
    release,
    sources.map((source) => ({ name: source.name, kinds: kindsOf(source) })),
  );
