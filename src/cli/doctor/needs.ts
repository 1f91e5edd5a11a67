import { z } from 'zod';
import { kindsOf } from '../../compose/sources.ts';
import { SOURCE } from '../../policy/members.ts';
import type { Release } from '../../policy/release.ts';
import { durationMs } from '../../policy/rules/duration.ts';
import type { Settings } from '../../settings/schema.ts';
import type { Store } from '../../store/store.ts';
import { closestMatch } from '../../values/closest-match.ts';
import { isoTime, jsonOrText } from '../print.ts';
import type { Finding } from './finding.ts';

const documentShape = z.object({
  policies: z.array(z.object({ policy: z.string(), rules: z.array(z.record(z.string(), z.unknown())) })),
});
/** Names of parameters, at any depth, that name a list of the store. */
const LIST_NAMES: ReadonlySet<string> = new Set(['list', 'not-list']);

/**
 * What rules in force that enforce need of the store and do not find there: each callback that needs it is
 * refused.
 */
export async function checkNeeds(
  settings: Settings,
  store: Store,
  release: Release,
): Promise<readonly Finding[]> {
  const written = documentShape.safeParse(jsonOrText(release.document)).data?.policies ?? [];
  const rulesOf = new Map(
    written.map(({ policy, rules }) => [policy, rules.filter(({ mode }) => mode !== 'observe')]),
  );
  return [...(await missingLists(settings, store, release, rulesOf)), ...(await oldPrices(store, rulesOf))];
}

type RulesOf = ReadonlyMap<string, readonly Readonly<Record<string, unknown>>[]>;

async function missingLists(
  settings: Settings,
  store: Store,
  { policies }: Release,
  rulesOf: RulesOf,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const source of settings.sources) {
    const kinds = kindsOf(source);
    const there = new Set((await store.lists(source.name)).map(({ list }) => list));
    for (const { name, callback, when } of policies) {
      const applies = kinds.includes(callback) && (when.get(SOURCE)?.has(source.name) ?? true);
      for (const list of applies ? new Set(listsIn(rulesOf.get(name))) : []) {
        if (there.has(list)) continue;
        const meant = closestMatch(list, [...there]);
        const cure =
          meant === undefined
            ? `\`countersign list add ${list} --source ${source.name}\` makes an empty one`
            : `did you mean ${meant}? Then mend the policy; an empty list would hold nobody`;
        findings.push(
          warning(
            `${source.name} has no list ${list}, which ${name} looks into, so each callback it judges is refused; ${cure}`,
          ),
        );
      }
    }
  }
  return findings;
}

/** Whether any rule in force, for whichever source, looks into a list of this name. */
export function looksInto({ document }: Pick<Release, 'document'>, list: string): boolean {
  return listsIn(jsonOrText(document)).includes(list);
}

/** The names of lists anywhere in what rules are given. */
function listsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(listsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, below]) =>
    LIST_NAMES.has(name) && typeof below === 'string' ? [below] : listsIn(below),
  );
}

const valueLimit = z.object({ 'value-limit': z.object({ maxAge: z.string() }) });

async function oldPrices(store: Store, rulesOf: RulesOf): Promise<readonly Finding[]> {
  const ages = [...rulesOf].flatMap(([policy, rules]) =>
    rules.flatMap((rule) => {
      const maxAge = valueLimit.safeParse(rule).data?.['value-limit'].maxAge;
      return maxAge === undefined ? [] : [{ policy, maxAge, ms: durationMs(maxAge) ?? 0 }];
    }),
  );
  const [first] = ages;
  if (first === undefined) return [];
  const { prices } = await store.prices();
  if (prices.size === 0) {
    return [
      warning(
        `${first.policy} reckons by prices, and there are none, so each callback it judges is refused; set them with \`countersign prices set\``,
      ),
    ];
  }
  const { nowMs } = await store.health();
  const strictest = ages.reduce((least, each) => (each.ms < least.ms ? each : least), first);
  return [...prices]
    .filter(([, { asOfMs }]) => nowMs - asOfMs > strictest.ms)
    .map(([asset, { asOfMs }]) =>
      warning(
        `the price of ${asset} is as of ${isoTime(asOfMs)}, older than the ${strictest.maxAge} of ${strictest.policy}; set it anew with \`countersign prices set\``,
      ),
    );
}

const warning = (because: string): Finding => ({ check: 'policies', state: 'warning', because });
