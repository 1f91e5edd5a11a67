import { ASSETS_FILE, hasKnownSpellings } from './language/assets.ts';
import { type Place, type PolicyFault, formatTexts } from './fault.ts';
import { ADDRESS_MEMBERS } from './language/members.ts';
import type { CompiledEntry, Release } from './release.ts';
import type { Check } from './rules/rule.ts';
import { type When, bothTexts } from './language/when.ts';

type Compared = NonNullable<Check['compared']>;
type Judged = Pick<Release, 'policies' | 'assets'>;

interface Comparing {
  /** `deny-list#1`, `when`, `deny-list#1/when`. */
  readonly name: string;
  readonly place: Place | undefined;
  readonly compared: Compared | undefined;
  /** The texts under its `when` and those around it. */
  readonly texts: When['texts'];
}

/**
 * A fault for each rule and each `when` that another spelling of an address gets past, because the asset table
 * does not say how the chain of an asset spells addresses.
 */
export function spellingFaults(release: Judged): readonly PolicyFault[] {
  return release.policies.flatMap((policy) => {
    const { when, entries } = policy;
    const comparing = [
      comparingUnder('when', when, when.texts),
      ...entries.flatMap((entry) => comparingIn(entry, when.texts)),
    ];
    return comparing.flatMap(({ name, place, compared, texts }) => {
      const member = compared?.members.find((each) => ADDRESS_MEMBERS.has(each));
      if (compared?.effect === undefined || member === undefined) return [];
      const where = { file: '.', line: 0, column: 0, ...place, path: `${policy.name}/${name}` };
      const other = `another spelling of an address in ${member} ${compared.effect}`;
      return faultsOf(release, texts, other).map((fault) => ({ ...where, ...fault }));
    });
  });
}

function comparingIn(entry: CompiledEntry, outer: When['texts']): readonly Comparing[] {
  const texts = bothTexts(outer, entry.when.texts);
  const under = comparingUnder(`${entry.name}/when`, entry.when, texts);
  if ('entries' in entry) return [under, ...entry.entries.flatMap((each) => comparingIn(each, texts))];
  const { name, place, compared } = entry;
  return [under, { name, place, compared, texts }];
}

function comparingUnder(name: string, when: When, texts: When['texts']): Comparing {
  const members = [...when.texts.keys(), ...when.conditions.flatMap((each) => each.members ?? [])];
  return { name, place: when.place, compared: { members, effect: 'does not match it' }, texts };
}

type Fault = Pick<PolicyFault, 'message' | 'fix'>;

function faultsOf({ assets }: Judged, texts: When['texts'], other: string): readonly Fault[] {
  const named = texts.get('symbol');
  const symbols = [...(named ?? assets.keys())].sort();
  const unspelled = symbols.filter((symbol) => {
    const asset = assets.get(symbol);
    return asset !== undefined && !hasKnownSpellings(asset);
  });
  const unknown = symbols.filter((symbol) => !assets.has(symbol));
  const found: Fault[] = [];
  if (unspelled.length > 0) {
    found.push({
      message: `${ASSETS_FILE} does not say how ${formatTexts(unspelled)} spells addresses (\`chain: text\`), so ${other}`,
      fix: `write its chain there, or \`spellings: one\` if each of its addresses has only one spelling`,
    });
  }
  if (unknown.length > 0) {
    found.push({
      message: `${ASSETS_FILE} does not name ${formatTexts(unknown)}, so ${other}`,
      fix: 'name it there with its chain',
    });
  }
  if (assets.size === 0 && named === undefined) {
    found.push({
      message: `there is no ${ASSETS_FILE}, so ${other}`,
      fix: 'write it, with the chain of each asset',
    });
  }
  return found;
}
