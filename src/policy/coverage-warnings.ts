import type { Kind } from '../callback/callback.ts';
import { AMOUNT_SCALE } from '../values/amount.ts';
import { canonicalJson, isObject, type Json } from '../values/canonical.ts';
import { ASSETS_FILE, type AssetTable } from './language/assets.ts';
import { type Place, type PolicyFault, formatTexts } from './fault.ts';
import { SOURCE } from './language/members.ts';
import {
  type Extent,
  type Range,
  type Region,
  allowsText,
  amountsIn,
  amountsOf,
  formatRange,
  numbers,
  regionsOf,
  restOf,
  textExtent,
} from './language/region.ts';
import type { CompiledEntry, CompiledPolicy, Release } from './release.ts';
import type { When } from './language/when.ts';

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
  | ({ readonly type: 'uncovered' | 'between' } & Gap);

interface Gap {
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
  const coverings = release.policies.flatMap(coveringsOf);
  const kinds = [...new Set(release.policies.map(({ callback }) => callback))];
  return [
    ...release.policies.flatMap((policy) => neverMet(policy, policy, [])),
    ...release.policies.flatMap((policy) => uncoveredSymbols(policy, coverings)),
    ...uncoveredAssets(release, coverings),
    ...kinds.flatMap((kind) => uncoveredTiers(kind, coverings, release.assets)),
  ];
}

/** The `when` of a policy, or of an entry. */
interface Tier {
  /** `small/when`, `small/window-limit#2/when`. */
  readonly name: string;
  readonly when: When;
}

function tierOf(policy: CompiledPolicy, { name, when }: CompiledPolicy | CompiledEntry = policy): Tier {
  return { name: name === policy.name ? `${name}/when` : `${policy.name}/${name}/when`, when };
}

function extentsOf({ texts, conditions }: When): readonly Extent[] {
  return [
    ...[...texts].map(([member, allowed]) => textExtent(member, allowed)),
    ...conditions.map(({ extent = 'anything' }) => extent),
  ];
}

const extentsIn = (tiers: readonly Tier[]): readonly Extent[] => tiers.flatMap(({ when }) => extentsOf(when));

const NOWHERE: Place = { file: '.', line: 0, column: 0 };

const warning = (
  { name, when }: Tier,
  about: About,
  { message, fix }: Pick<PolicyFault, 'message' | 'fix'>,
): CoverageWarning => ({ ...(when.place ?? NOWHERE), path: name, message, fix, about });

// ---- conditions that are never met, alternatives that are never taken ----

function neverMet(
  policy: CompiledPolicy,
  part: CompiledPolicy | CompiledEntry,
  outer: readonly Tier[],
): readonly CoverageWarning[] {
  const tier = tierOf(policy, part);
  const around = [...outer, tier];
  if (regionsOf(policy.callback, extentsIn(around)).length === 0) {
    const message = `no callback meets these conditions${outer.length > 0 ? ' together with those around them' : ''}`;
    const about = { type: 'never-met', name: tier.name } as const;
    return [warning(tier, about, { message, fix: 'correct them, or leave it out' })];
  }
  if (!('entries' in part)) return [];
  return [
    ...part.entries.flatMap((each) => neverMet(policy, each, around)),
    ...('group' in part && part.group === 'any' ? neverTaken(policy, part.entries, around) : []),
  ];
}

/**
 * Whether every callback has the members, so that the condition is met or not, and never unknown. An entry is
 * also judged if it is unknown whether the conditions around it are met.
 */
const isAlwaysKnown = (extent: Extent): boolean =>
  extent !== 'anything' &&
  ('not' in extent
    ? extent.not.every(isAlwaysKnown)
    : ['amount', SYMBOL, SOURCE].includes(extent.of) || extent.of.startsWith('during'));

/** Alternatives that earlier ones, which always pass, leave nothing for. */
function neverTaken(
  policy: CompiledPolicy,
  entries: readonly CompiledEntry[],
  outer: readonly Tier[],
): readonly CoverageWarning[] {
  const earlier: { readonly name: string; readonly extents: readonly Extent[] }[] = [];
  return entries.flatMap((entry) => {
    const extents = extentsOf(entry.when);
    const own = [...extentsIn(outer).filter(isAlwaysKnown), ...extents];
    const left = [...own, ...earlier.map((each): Extent => ({ not: each.extents }))];
    const isEmpty = (all: readonly Extent[]): boolean => regionsOf(policy.callback, all).length === 0;
    const because = earlier.map(({ name }) => name).join(' and ');
    if ('alwaysPasses' in entry && entry.alwaysPasses && extents.every(isAlwaysKnown)) {
      earlier.push({ name: entry.name, extents });
    }
    if (isEmpty(own) || !isEmpty(left)) return [];
    const tier = { name: `${policy.name}/${entry.name}`, when: entry.when };
    const message = `this alternative is never taken: ${because} before it always passes`;
    const fix = 'move it to an earlier place, or leave it out';
    return [warning(tier, { type: 'never-taken', name: tier.name }, { message, fix })];
  });
}

// ---- symbols that no policy covers ----

/** What a rule or an alternative may cover: a callback that meets its conditions and those around it. */
interface Covering {
  readonly kind: Kind;
  readonly tiers: readonly Tier[];
  readonly isAlternative: boolean;
  readonly regions: readonly Region[];
}

function coveringsOf(policy: CompiledPolicy): readonly Covering[] {
  const coveringsIn = (
    entry: CompiledEntry,
    outer: readonly Tier[],
    isAlternative: boolean,
  ): readonly Covering[] => {
    const tiers = [...outer, tierOf(policy, entry)];
    if ('group' in entry) {
      const isAny = isAlternative || entry.group === 'any';
      return entry.entries.flatMap((each) => coveringsIn(each, tiers, isAny));
    }
    const kind = policy.callback;
    return entry.covers ? [{ kind, tiers, isAlternative, regions: regionsOf(kind, extentsIn(tiers)) }] : [];
  };
  return policy.entries
    .filter(({ mode }) => mode === 'enforce')
    .flatMap((entry) => coveringsIn(entry, [tierOf(policy)], false));
}

/** `''` is neither a source nor a symbol. */
const isOf = (region: Region, { source = '', symbol = '' }: Cell): boolean =>
  allowsText(region, SOURCE, source) && allowsText(region, SYMBOL, symbol);

/** The symbols under `when` that no rule covers. If no callback meets the conditions, that is said instead. */
function uncoveredSymbols(
  policy: CompiledPolicy,
  coverings: readonly Covering[],
): readonly CoverageWarning[] {
  const { callback, when } = policy;
  if (regionsOf(callback, extentsOf(when)).length === 0) return [];
  const regions = coverings.filter(({ kind }) => kind === callback).flatMap((each) => each.regions);
  const sources: Iterable<string | undefined> = when.texts.get(SOURCE) ?? [undefined];
  const symbols = [...(when.texts.get(SYMBOL) ?? [])].filter(
    (symbol) => ![...sources].some((source) => regions.some((region) => isOf(region, { source, symbol }))),
  );
  if (symbols.length === 0) return [];
  const message = `no enforcing rule is for a ${callback} of ${formatTexts(symbols)}, so each is refused`;
  const fix = 'write a rule without `mode: observe` whose conditions it meets, or leave it out';
  return [warning(tierOf(policy), { type: 'uncovered-symbols', symbols }, { message, fix })];
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
    .filter((symbol) => !regions.some((region) => allowsText(region, SYMBOL, symbol)));
  if (symbols.length === 0) return [];
  const message = `no policy covers a callback of ${formatTexts(symbols)}, so each is refused`;
  const fix = 'name the symbol under `when` of a policy, or leave it out of the table';
  const about = { type: 'uncovered-symbols', symbols } as const;
  return [{ ...NOWHERE, file: ASSETS_FILE, path: '', message, fix, about }];
}

// ---- amounts that no policy covers ----

function uncoveredTiers(
  kind: Kind,
  coverings: readonly Covering[],
  assets: AssetTable,
): readonly CoverageWarning[] {
  const own = coverings.filter((each) => each.kind === kind);
  return gapsIn(kind, own, assets).map(({ tier, about }) => {
    const those = `a ${kind} whose amount is ${formatRange(about.range)}${formatCells(about.cells)}`;
    return warning(
      tier,
      about,
      about.type === 'uncovered'
        ? {
            message: `no policy covers ${those}, so it is refused`,
            fix: 'write a rule for it; if it is to be refused, amount-limit gives a reason',
          }
        : {
            message: `${those} is in no tier, and other rules may approve it`,
            fix: 'write atMost or atLeast in one of the two tiers',
          },
    );
  });
}

interface FoundGap {
  /** One that ends or begins there. */
  readonly tier: Tier;
  readonly about: Extract<About, Gap>;
}

/** For each source and symbol that has tiers of amounts, the amounts that are in none. */
function gapsIn(kind: Kind, coverings: readonly Covering[], assets: AssetTable): readonly FoundGap[] {
  const isTiered = ({ tiers }: Covering): boolean => mentionAmount(extentsIn(tiers));
  const tiered = coverings.filter(isTiered);
  const others = coverings.filter((each) => !isTiered(each)).flatMap(({ regions }) => regions);
  const domain = amountsOf(kind);
  const gaps = new Map<string, FoundGap>();
  for (const cell of cellsOf(coverings)) {
    const type = others.some((region) => isOf(region, cell)) ? 'between' : 'uncovered';
    const parts = tiered.flatMap(({ regions, ...of }) =>
      regions
        .filter((region) => isOf(region, cell))
        .flatMap(amountsIn)
        .map((range) => ({ ...of, range })),
    );
    const ranges = parts.map(({ range }) => range);
    for (const range of restOf(numbers(ranges, domain.top), domain)) {
      // A tier has several amounts. Gaps between single ones are meant.
      const low = parts.find(({ range: [from, to] }) => from < to && to === range[0] - 1n);
      const high = parts.find(({ range: [from, to] }) => from < to && from === range[1] + 1n);
      if (type === 'between') {
        // Wider gaps may be meant for the other rules. What is in no alternative, its `any` refuses.
        const isSlip = range[0] === range[1] && low?.isAlternative === false && high?.isAlternative === false;
        if (!isSlip) continue;
      }
      const tier = (low ?? high)?.tiers.findLast(({ when }) => mentionAmount(extentsOf(when)));
      if (tier === undefined || !isPossible(range, cell, assets)) continue;
      const key = [type, ...range, tier.name].join(' ');
      const cells = [...(gaps.get(key)?.about.cells ?? []), cell];
      gaps.set(key, { tier, about: { type, callback: kind, range, cells } });
    }
  }
  return [...gaps.values()];
}

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

const mentionAmount = (extents: readonly Extent[]): boolean =>
  extents.some(
    (extent) =>
      extent !== 'anything' && ('not' in extent ? mentionAmount(extent.not) : extent.of === 'amount'),
  );

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
