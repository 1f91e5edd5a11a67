import { ASSETS_FILE, hasKnownSpellings } from './language/assets.ts';
import { type Place, type PolicyFault, formatTexts } from './fault.ts';
import { ADDRESS_MEMBERS } from './language/members.ts';
import { type Release, partsOf } from './release.ts';
import type { Check } from './rules/rule.ts';
import { type When, bothTexts, membersIn } from './language/conditions.ts';

type Judged = Pick<Release, 'policies' | 'assets'>;

/**
 * A fault for each rule and each `when` that another spelling of an address gets past, because the asset table
 * does not say how the chain of an asset spells addresses.
 */
export const spellingFaults = (release: Judged): readonly PolicyFault[] =>
  release.policies.flatMap(partsOf).flatMap(({ name, itself, around }) => {
    const { when } = itself;
    const texts = around
      .map((each) => each.itself.when.texts)
      .reduceRight((inner, outer) => bothTexts(outer, inner), when.texts);
    const faultsAt = (path: string, place: Place | undefined, compared: Check['compared']): PolicyFault[] => {
      const member = compared?.members.find((each) => ADDRESS_MEMBERS.has(each));
      if (compared?.effect === undefined || member === undefined) return [];
      const other = `another spelling of an address in ${member} ${compared.effect}`;
      const where = { file: '.', line: 0, column: 0, ...place, path };
      return faultsOf(release, texts, other).map((fault) => ({ ...where, ...fault }));
    };
    const compared = { members: membersIn(when.conditions), effect: 'does not match it' };
    const ofWhen = faultsAt(`${name}/when`, when.place, compared);
    return 'entries' in itself ? ofWhen : [...ofWhen, ...faultsAt(name, itself.place, itself.compared)];
  });

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
