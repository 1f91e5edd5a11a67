import type { Kind } from '../callback/callback.ts';
import { AMOUNT_SCALE } from '../values/amount.ts';
import { canonicalJson, isObject, type Json } from '../values/canonical.ts';
import { type Place, type PolicyFault, formatTexts } from './fault.ts';
import { ASSETS_FILE, type AssetTable } from './language/assets.ts';
import {
  type Condition,
  type Region,
  amountsOfKind,
  isAboutAmount,
  isAlwaysKnown,
  regionsOf,
} from './language/conditions.ts';
import { SOURCE } from './language/members.ts';
import {
  type Range,
  allowsText,
  amounts,
  complement,
  formatRange,
  intersect,
  numbers,
  rangesOf,
} from './language/value-sets.ts';
import { type CompiledPolicy, type Part, type Release, partsOf } from './release.ts';

/*
 * What can be proven from the conditions of policies: conditions that no callback meets, alternatives that are
 * never taken, and callbacks that no policy covers. What can't be proven is not reported.
 */

export interface CoverageWarning extends PolicyFault {
  readonly about: About;
}

/** What is proven, for programs. */
export type About =
  | { readonly type: 'never-met' | 'never-taken'; readonly name: string }
  | { readonly type: 'uncovered-symbols'; readonly symbols: readonly string[] }
  /** `between`: the callbacks are in no tier, but other rules cover them, and may approve them. */
  | Gap;

interface Gap {
  readonly type: 'uncovered' | 'between';
  readonly callback: Kind;
  readonly range: Range;
  readonly cells: readonly Cell[];
}

/** A source and a symbol; `undefined`: any that no policy names. */
interface Cell {
  readonly source: string | undefined;
  readonly symbol: string | undefined;
}

const SYMBOL = 'symbol';

type Judged = Pick<Release, 'policies' | 'assets' | 'document'>;

/** The warnings, with place and fix. For policies that were read from files. */
export function coverageWarnings(release: Judged): readonly CoverageWarning[] {
  const parts = release.policies.flatMap(partsOf);
  const coverings = parts.filter(mayCover).map((part) => ({
    part,
    kind: part.policy.callback,
    regions: regionsOf(part.policy.callback, conditionsOf(part)),
  }));
  const kinds = [...new Set(release.policies.map(({ callback }) => callback))];
  return [
    ...parts.flatMap(unreachable),
    ...release.policies.flatMap((policy) => uncoveredSymbols(policy, coverings)),
    ...uncoveredAssets(release, coverings),
    ...kinds.flatMap((kind) => uncoveredAmounts(kind, coverings, release.assets)),
  ];
}

const NOWHERE: Place = { file: '.', line: 0, column: 0 };

const warning = (
  { itself: { when } }: Pick<Part, 'itself'>,
  path: string,
  about: About,
  [message, fix]: readonly [message: string, fix: string],
): CoverageWarning => ({ ...(when.place ?? NOWHERE), path, message, fix, about });

const conditionsIn = (parts: readonly Part[]): readonly Condition[] =>
  parts.flatMap(({ itself }) => itself.when.conditions);

/** The conditions of a part, with those around it. */
const conditionsOf = (part: Part): readonly Condition[] => conditionsIn([...part.around, part]);

const isImpossible = ({ policy }: Part, conditions: readonly Condition[]): boolean =>
  regionsOf(policy.callback, conditions).length === 0;

// ---- conditions that are never met, alternatives that are never taken ----

/** Nothing is said of what is in a part that is never met. */
function unreachable(part: Part): readonly CoverageWarning[] {
  const { name, itself, around } = part;
  if (isImpossible(part, conditionsIn(around))) return [];
  if (!isImpossible(part, conditionsOf(part))) {
    return 'group' in itself && itself.group === 'any' ? neverTaken(part, itself.entries) : [];
  }
  const path = `${name}/when`;
  const together = around.length > 0 ? ' together with those around them' : '';
  const text = [`no callback meets these conditions${together}`, 'correct them, or leave it out'] as const;
  return [warning(part, path, { type: 'never-met', name: path }, text)];
}

/** Alternatives that earlier ones, which always pass, leave nothing for. */
function neverTaken(any: Part, entries: CompiledPolicy['entries']): readonly CoverageWarning[] {
  const earlier: { readonly name: string; readonly not: Condition }[] = [];
  const around = conditionsOf(any).filter(isAlwaysKnown);
  return entries.flatMap((itself) => {
    const { conditions } = itself.when;
    const left = [...around, ...conditions, ...earlier.map(({ not }) => not)];
    const because = earlier.map(({ name }) => name).join(' and ');
    if ('alwaysPasses' in itself && itself.alwaysPasses && conditions.every(isAlwaysKnown)) {
      earlier.push({ name: itself.name, not: { is: 'not', all: conditions } });
    }
    if (isImpossible(any, [...around, ...conditions]) || !isImpossible(any, left)) return [];
    const name = `${any.policy.name}/${itself.name}`;
    const message = `this alternative is never taken: ${because} before it always passes`;
    const fix = 'move it to an earlier place, or leave it out';
    return [warning({ itself }, name, { type: 'never-taken', name }, [message, fix])];
  });
}

// ---- callbacks that no policy covers ----

/** A rule, and the callbacks that it may cover. */
interface Covering {
  readonly part: Part;
  readonly kind: Kind;
  readonly regions: readonly Region[];
}

const mayCover = ({ itself }: Part): boolean =>
  'covers' in itself && itself.covers && itself.mode === 'enforce';

/** Whether a region has callbacks of the cell. `''` is neither a source nor a symbol. */
const isOf = (region: Region, { source = '', symbol = '' }: Cell): boolean =>
  allowsText(region.get(SOURCE), source) && allowsText(region.get(SYMBOL), symbol);

/** The symbols under `when` that no rule covers. If no callback meets the conditions, that is said instead. */
function uncoveredSymbols(
  policy: CompiledPolicy,
  coverings: readonly Covering[],
): readonly CoverageWarning[] {
  const { name, callback, when } = policy;
  if (regionsOf(callback, when.conditions).length === 0) return [];
  const regions = coverings.filter(({ kind }) => kind === callback).flatMap((each) => each.regions);
  const sources = [...(when.texts.get(SOURCE) ?? [undefined])];
  const symbols = [...(when.texts.get(SYMBOL) ?? [])].filter(
    (symbol) => !sources.some((source) => regions.some((region) => isOf(region, { source, symbol }))),
  );
  if (symbols.length === 0) return [];
  const message = `no enforcing rule is for a ${callback} of ${formatTexts(symbols)}, so each is refused`;
  const fix = 'write a rule without `mode: observe` whose conditions it meets, or leave it out';
  const about = { type: 'uncovered-symbols', symbols } as const;
  return [warning({ itself: policy }, `${name}/when`, about, [message, fix])];
}

/** The symbols of the asset table that no policy names or covers. */
function uncoveredAssets(
  { policies, assets, document }: Judged,
  coverings: readonly Covering[],
): readonly CoverageWarning[] {
  const release: Json = JSON.parse(document);
  // A rule may need an asset for its decimals only.
  const written = canonicalJson(isObject(release) ? (release['policies'] ?? []) : []);
  // No callback is of these tokens, but call data moves them.
  const seesTokens = policies.some(({ movements }) => movements !== undefined);
  const regions = coverings.flatMap((each) => each.regions);
  const symbols = [...assets.values()]
    .filter(({ contracts }) => !seesTokens || contracts.size === 0)
    .map(({ symbol }) => symbol)
    .filter((symbol) => !written.includes(JSON.stringify(symbol)))
    .filter((symbol) => !regions.some((region) => allowsText(region.get(SYMBOL), symbol)));
  if (symbols.length === 0) return [];
  const message = `no policy covers a callback of ${formatTexts(symbols)}, so each is refused`;
  const fix = 'name the symbol under `when` of a policy, or leave it out of the table';
  const about = { type: 'uncovered-symbols', symbols } as const;
  return [{ ...NOWHERE, file: ASSETS_FILE, path: '', message, fix, about }];
}

/** For each source and symbol that has tiers of amounts, the amounts that are in none. */
function uncoveredAmounts(
  kind: Kind,
  all: readonly Covering[],
  assets: AssetTable,
): readonly CoverageWarning[] {
  const coverings = all.filter((each) => each.kind === kind);
  const isTiered = ({ part }: Covering): boolean => conditionsOf(part).some(isAboutAmount);
  const tiers = coverings.filter(isTiered);
  const others = coverings.filter((each) => !isTiered(each)).flatMap(({ regions }) => regions);
  const gaps = new Map<string, { readonly tier: Part; readonly about: Gap }>();
  for (const cell of cellsOf(coverings)) {
    const type = others.some((region) => isOf(region, cell)) ? 'between' : 'uncovered';
    const covered = tiers.flatMap(({ part, regions }) =>
      regions
        .filter((region) => isOf(region, cell))
        .flatMap((region) => rangesOf(region.get('amount') ?? amounts(0n)))
        .map((range) => ({ part, range })),
    );
    const rest = intersect(complement(numbers(covered.map(({ range }) => range))), amountsOfKind(kind));
    for (const range of rangesOf(rest)) {
      // A tier has several amounts. Gaps between single ones are meant.
      const low = covered.find(({ range: [from, to] }) => from < to && to === range[0] - 1n);
      const high = covered.find(({ range: [from, to] }) => from < to && from === range[1] + 1n);
      // Wider gaps may be meant for the other rules. What is in no alternative, its `any` refuses.
      const isSlip = range[0] === range[1] && [low, high].every((each) => each && !isAlternative(each.part));
      const part = (low ?? high)?.part;
      const tier = part && [...part.around, part].findLast((each) => isTier(each));
      if (tier === undefined || (type === 'between' && !isSlip) || !isPossible(range, cell, assets)) continue;
      const key = [type, ...range, tier.name].join(' ');
      const cells = [...(gaps.get(key)?.about.cells ?? []), cell];
      gaps.set(key, { tier, about: { type, callback: kind, range, cells } });
    }
  }
  return [...gaps.values()].map(({ tier, about }) =>
    warning(tier, `${tier.name}/when`, about, gapText(about)),
  );
}

const isTier = ({ itself }: Part): boolean => itself.when.conditions.some(isAboutAmount);

const isAlternative = ({ around }: Part): boolean =>
  around.some(({ itself }) => 'group' in itself && itself.group === 'any');

/** Each source and symbol that a covering names, and one that none names. */
function cellsOf(coverings: readonly Covering[]): readonly Cell[] {
  const textsOf = (member: string): readonly (string | undefined)[] => {
    const sets = coverings.flatMap(({ regions }) => regions.map((region) => region.get(member)));
    const texts = sets.flatMap((set) => (set === undefined || 'ranges' in set ? [] : [...set.texts]));
    return [...new Set(texts), undefined];
  };
  const symbols = textsOf(SYMBOL);
  return textsOf(SOURCE).flatMap((source) => symbols.map((symbol) => ({ source, symbol })));
}

/** Whether the range has an amount of the asset: a multiple of its smallest unit. */
function isPossible([from, to]: Range, { symbol = '' }: Cell, assets: AssetTable): boolean {
  const decimals = assets.get(symbol)?.decimals;
  if (decimals === undefined) return true;
  const unit = 10n ** BigInt(AMOUNT_SCALE - decimals);
  return ((from + unit - 1n) / unit) * unit <= to;
}

function gapText({ type, callback, range, cells }: Gap): readonly [message: string, fix: string] {
  const those = `a ${callback} whose amount is ${formatRange(range)}${formatCells(cells)}`;
  return type === 'uncovered'
    ? [
        `no policy covers ${those}, so it is refused`,
        'write a rule for it; if it is to be refused, amount-limit gives a reason',
      ]
    : [
        `${those} is in no tier, and other rules may approve it`,
        'write atMost or atLeast in one of the two tiers',
      ];
}

/** ` (source shop, symbol BTC and ETH)`; nothing if no policy names a source or symbol. */
function formatCells(cells: readonly Cell[]): string {
  const parts = (['source', 'symbol'] as const).flatMap((member) => {
    const texts = [...new Set(cells.map((cell) => cell[member]))];
    const named = texts.filter((text) => text !== undefined);
    if (named.length === 0) return [];
    return [`${member} ${formatTexts([...named, ...(named.length < texts.length ? ['others'] : [])])}`];
  });
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}
