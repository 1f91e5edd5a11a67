import { type Place, type PolicyFault, formatFault, formatTexts } from './fault.ts';
import { ADDRESS_MEMBERS } from './members.ts';
import { type CompiledEntry, type CompiledPolicy, type Release, appliesWherever } from './release.ts';
import type { Check } from './rules/rule.ts';
import { type When, bothTexts } from './when.ts';

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
 * A sentence, with place and fix, for each rule and each `when` that compares addresses of an asset whose chain
 * is not known: another spelling of an address is another value there.
 */
export function spellingWarnings(release: Judged): readonly string[] {
  return release.policies.flatMap((policy) => {
    const { when, entries } = policy;
    const comparing = [
      comparingUnder('when', when, when.texts),
      ...entries.flatMap((entry) => comparingIn(entry, when.texts)),
    ];
    return comparing.flatMap(({ name, place, compared, texts }) => {
      const member = compared?.members.find((each) => ADDRESS_MEMBERS.has(each));
      if (compared === undefined || member === undefined) return [];
      const other = (hint: string): string =>
        `another spelling of an address${hint} in ${member} ${compared.effect}`;
      const where = { file: '.', line: 0, column: 0, ...place, path: `${policy.name}/${name}` };
      return warningsOf(release, { callback: policy.callback, texts }, other).map((warning) =>
        formatFault({ ...where, ...warning }),
      );
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

/** The callbacks that are compared. */
interface Scope extends Pick<CompiledPolicy, 'callback'>, Pick<When, 'texts'> {}

type Warning = Pick<PolicyFault, 'message' | 'fix'>;

function warningsOf(release: Judged, scope: Scope, other: (hint: string) => string): readonly Warning[] {
  const { assets } = release;
  const named = scope.texts.get('symbol');
  const symbols = [...(named ?? assets.keys())].sort();
  const texts = symbols.filter((symbol) => assets.get(symbol)?.chain === 'text');
  const unknown = symbols.filter((symbol) => !assets.has(symbol));
  const warnings: Warning[] = [];
  if (texts.length > 0) {
    const whose = texts.length === 1 ? 'its' : 'their';
    warnings.push({
      message:
        `assets.yaml sets \`chain: text\` for ${formatTexts(texts)}, so ${whose} addresses are not validated ` +
        `and are compared as exact text: ${other(' (without 0x, with leading zeros, in another form)')}`,
      fix:
        'also deny or limit by another member, or, if assets.yaml can name the asset’s chain, write that ' +
        'chain',
    });
  }
  if (unknown.length > 0) {
    warnings.push({
      message: `the chain of ${formatTexts(unknown)} is not known, so ${other('')}`,
      fix: 'name it in assets.yaml',
    });
  }
  if (named === undefined && !refusesUnknownAssets(release, scope)) {
    warnings.push({
      message: `the policy applies to assets that assets.yaml does not name; of these, ${other('')}`,
      fix: 'name the assets under when, or put the rule address into the policy',
    });
  }
  return warnings;
}

/** Whether an enforcing rule refuses unknown assets in every callback of the scope. */
function refusesUnknownAssets({ policies }: Judged, { callback, texts: ours }: Scope): boolean {
  return policies.some(
    (other) =>
      appliesWherever(other, callback, ours) &&
      other.rules.some(
        ({ mode, always, refusesUnknownAssets: refuses }) => mode === 'enforce' && always && refuses,
      ),
  );
}
