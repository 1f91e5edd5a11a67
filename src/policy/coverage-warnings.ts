import type { Kind } from '../callback/callback.ts';
import { ASSETS_FILE, type AssetTable } from './assets.ts';
import { type Place, type PolicyFault, formatTexts } from './fault.ts';
import { ADDRESS_MEMBERS, SOURCE } from './members.ts';
import {
  type Extent,
  type NumberSet,
  type Range,
  type Region,
  type ValueSet,
  allowsText,
  amounts,
  amountsOf,
  complement,
  extentsOf,
  formatRange,
  intersect,
  isEmpty,
  numbers,
  numbersIn,
  regionsOf,
} from './region.ts';
import type { CompiledEntry, CompiledPolicy, Release } from './release.ts';
import { AMOUNT_SCALE } from '../values/amount.ts';
import { type Json, isObject } from '../values/canonical.ts';
import type { When } from './when.ts';

/*
 * Gaps and overlaps of policies that can be proven from their conditions. What can't be proven is not
 * reported.
 */

export interface CoverageWarning extends PolicyFault {
  readonly about: About;
}

/** What is proven, for programs. */
export type About =
  /** No callback meets the conditions of this policy or entry. */
  | { readonly type: 'never-met'; readonly name: string }
  /** An alternative that is never taken. */
  | { readonly type: 'never-taken'; readonly name: string }
  /** A value under `when` that no callback can have there. */
  | { readonly type: 'unused'; readonly name: string; readonly texts: readonly string[] }
  /** Callbacks that no policy covers. */
  | ({ readonly type: 'uncovered' } & Gap)
  /** Callbacks that no alternative of an `any` is for. */
  | ({ readonly type: 'no-alternative'; readonly name: string } & Gap)
  /** An amount between two tiers that belongs to neither, or to both. */
  | { readonly type: 'between' | 'twice'; readonly property: Measure; readonly at: bigint }
  | { readonly type: 'uncovered-symbols'; readonly symbols: readonly string[] };

export interface Gap {
  readonly callback: Kind;
  readonly property: Measure;
  readonly range: Range;
  readonly cells: readonly Cell[];
}

/** A source and a symbol; `undefined`: any that no policy names. */
export interface Cell {
  readonly source: string | undefined;
  readonly symbol: string | undefined;
}

const MEASURES = ['amount', 'value'] as const;
type Measure = (typeof MEASURES)[number];
const SYMBOL = 'symbol';

type Judged = Pick<Release, 'policies' | 'assets' | 'document'>;

/** A warning, with place and fix, for each proven gap and overlap. For policies that were read from files. */
export function coverageWarnings(release: Judged): readonly CoverageWarning[] {
  const kinds = [...new Set(release.policies.map(({ callback }) => callback))];
  const gaps = kinds.flatMap((kind) => uncoveredTiers(kind, release));
  return [
    ...release.policies.flatMap((policy) => neverMetIn(policy)),
    ...uncoveredSymbols(release, kinds),
    ...gaps,
    ...release.policies.flatMap((policy) => groupGaps(policy, release.assets, gaps)),
    ...kinds.flatMap((kind) => tierEdges(kind, release, gaps)),
  ];
}

/** A `when`, with those around it. */
interface Tier {
  /** `small/when`, `small/window-limit#2/when`. */
  readonly name: string;
  readonly when: When;
}

const tierOf = (policy: CompiledPolicy): Tier => ({ name: `${policy.name}/when`, when: policy.when });
const tierIn = ({ name }: CompiledPolicy, entry: CompiledEntry): Tier => ({
  name: `${name}/${entry.name}/when`,
  when: entry.when,
});

const extentsIn = (tiers: readonly Pick<Tier, 'when'>[]): readonly Extent[] =>
  tiers.flatMap(({ when }) => extentsOf(when));

const warning = (
  { name, when }: Tier,
  about: About,
  { message, fix }: Pick<PolicyFault, 'message' | 'fix'>,
): CoverageWarning => ({ ...whereOf(when.place), path: name, message, fix, about });

const whereOf = (place: Place | undefined): Place => place ?? { file: '.', line: 0, column: 0 };

// ---- conditions that are never met, alternatives that are never taken ----

function neverMetIn(policy: CompiledPolicy): readonly CoverageWarning[] {
  const tier = tierOf(policy);
  const own = neverMet(policy.callback, [], tier);
  if (own.length > 0) return own;
  return policy.entries.flatMap((entry) => neverMetUnder(policy, entry, [tier]));
}

function neverMetUnder(
  policy: CompiledPolicy,
  entry: CompiledEntry,
  outer: readonly Tier[],
): readonly CoverageWarning[] {
  const tier = tierIn(policy, entry);
  const own = neverMet(policy.callback, outer, tier);
  if (own.length > 0) return own;
  const unused = unusedTexts(policy.callback, outer, tier);
  if (!('group' in entry)) return unused;
  const around = [...outer, tier];
  return [
    ...unused,
    ...entry.entries.flatMap((each) => neverMetUnder(policy, each, around)),
    ...(entry.group === 'any' ? neverTaken(policy, entry.entries, around) : []),
  ];
}

function neverMet(kind: Kind, outer: readonly Tier[], tier: Tier): readonly CoverageWarning[] {
  const extents = extentsIn([...outer, tier]);
  if (regionsOf(kind, extents).length > 0) return [];
  const why = contradictionOf(kind, extents);
  const message = `no callback meets these conditions${outer.length > 0 ? ' together with those around them' : ''}`;
  return [
    warning(
      tier,
      { type: 'never-met', name: tier.name },
      { message: `${message}${why === undefined ? '' : `: ${why}`}`, fix: 'correct them, or leave it out' },
    ),
  ];
}

/** The first property for which nothing is left. */
function contradictionOf(kind: Kind, extents: readonly Extent[]): string | undefined {
  const known = new Map<string, ValueSet>([['amount', amountsOf(kind)]]);
  for (const extent of extents) {
    const literal = literalOf(extent);
    if (literal === undefined) continue;
    const { of, allows } = literal;
    const before = known.get(of);
    const both = before === undefined ? allows : intersect(before, allows);
    if (isEmpty(both) && before !== undefined) {
      return of.startsWith('during')
        ? 'the hours do not overlap'
        : `${of} can't be both ${formatSet(before)} and ${formatSet(allows)}`;
    }
    known.set(of, both);
  }
  return undefined;
}

function literalOf(extent: Extent): { readonly of: string; readonly allows: ValueSet } | undefined {
  if (extent === 'anything') return undefined;
  if ('of' in extent) return extent;
  const [only, ...others] = extent.not;
  if (only === undefined || others.length > 0 || only === 'anything' || !('of' in only) || !only.isExact) {
    return undefined;
  }
  return { of: only.of, allows: complement(only.allows) };
}

/** Texts of a `when` that those around it do not allow. Addresses have several forms, so these are left out. */
function unusedTexts(kind: Kind, outer: readonly Tier[], tier: Tier): readonly CoverageWarning[] {
  const regions = regionsOf(kind, extentsIn(outer));
  return [...tier.when.texts].flatMap(([member, texts]) => {
    if (ADDRESS_MEMBERS.has(member)) return [];
    const unused = [...texts].filter((text) => !regions.some((region) => allowsText(region, member, text)));
    if (unused.length === 0) return [];
    return [
      warning(
        tier,
        { type: 'unused', name: tier.name, texts: unused },
        {
          message: `the conditions around these never allow ${member} ${formatTexts(unused)}`,
          fix: 'leave it out, or allow it there as well',
        },
      ),
    ];
  });
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

const dependsOnPrices = (extent: Extent): boolean =>
  extent !== 'anything' && ('not' in extent ? extent.not.some(dependsOnPrices) : extent.of === 'value');

/** Alternatives that an earlier one, which always passes, leaves nothing for. */
function neverTaken(
  policy: CompiledPolicy,
  entries: readonly CompiledEntry[],
  outer: readonly Tier[],
): readonly CoverageWarning[] {
  const kind = policy.callback;
  const earlier: { readonly name: string; readonly extents: readonly Extent[] }[] = [];
  return entries.flatMap((entry) => {
    const tier = tierIn(policy, entry);
    const own = [...extentsIn(outer).filter(isAlwaysKnown), ...extentsIn([tier])];
    const without = (taken: readonly (typeof earlier)[number][]): boolean =>
      taken.length > 0 &&
      regionsOf(kind, [...own, ...taken.map(({ extents }) => ({ not: extents }))]).length === 0;
    const known = earlier.filter(({ extents }) => extents.every(isAlwaysKnown));
    const leftBy = earlier.find((each) => without([each]));
    const isNever = regionsOf(kind, own).length > 0 && (leftBy !== undefined || without(known));
    if (!('group' in entry) && entry.alwaysPasses === true) {
      const extents = extentsOf(entry.when);
      if (!extents.some(dependsOnPrices)) earlier.push({ name: entry.name, extents });
    }
    if (!isNever) return [];
    const name = `${policy.name}/${entry.name}`;
    const because = leftBy?.name ?? known.map((each) => each.name).join(' and ');
    return [
      warning(
        { ...tier, name },
        { type: 'never-taken', name },
        {
          message: `this alternative is never taken, because ${because} always passes before it`,
          fix: 'move it to an earlier place, or leave it out',
        },
      ),
    ];
  });
}

// ---- symbols that no policy covers ----

/** What a rule or an alternative may cover: a callback that meets its conditions and those around it. */
interface Covering {
  readonly tiers: readonly Tier[];
  readonly regions: readonly Region[];
}

function coveringsOf(policies: readonly CompiledPolicy[], kind: Kind): readonly Covering[] {
  return policies
    .filter(({ callback }) => callback === kind)
    .flatMap((policy) =>
      policy.entries
        .filter(({ mode }) => mode === 'enforce')
        .flatMap((entry) => coveringsIn(policy, entry, [tierOf(policy)])),
    );
}

function coveringsIn(
  policy: CompiledPolicy,
  entry: CompiledEntry,
  tiers: readonly Tier[],
  /** The conditions around it. */
  extents: readonly Extent[] = extentsIn(tiers),
): readonly Covering[] {
  const own = tierIn(policy, entry);
  const inner = [
    [...tiers, own],
    [...extents, ...extentsOf(own.when)],
  ] as const;
  if ('group' in entry) return entry.entries.flatMap((each) => coveringsIn(policy, each, ...inner));
  if (!entry.covers) return [];
  return [{ tiers: inner[0], regions: regionsOf(policy.callback, inner[1]) }];
}

function isCovered(coverings: readonly Covering[], cell: Cell): boolean {
  return coverings.some(({ regions }) => regions.some((region) => isOf(region, cell)));
}

/** `''` is neither a source nor a symbol. */
const isOf = (region: Region, { source = '', symbol = '' }: Cell): boolean =>
  allowsText(region, SOURCE, source) && allowsText(region, SYMBOL, symbol);

/** The texts and names in the policies: a rule may need an asset for its decimals only. */
function textsIn(json: Json | undefined): readonly string[] {
  if (typeof json === 'string') return [json];
  if (Array.isArray(json)) return (json as readonly Json[]).flatMap(textsIn);
  return isObject(json) ? Object.entries(json).flatMap(([name, value]) => [name, ...textsIn(value)]) : [];
}

/** The symbols of the asset table that no policy names or covers, and those under `when` that none covers. */
function uncoveredSymbols(
  { policies, assets, document }: Judged,
  kinds: readonly Kind[],
): readonly CoverageWarning[] {
  const all = new Map(kinds.map((kind) => [kind, coveringsOf(policies, kind)]));
  const named = policies.flatMap((policy) => {
    const coverings = all.get(policy.callback) ?? [];
    const { texts } = policy.when;
    const sources: Iterable<string | undefined> = texts.get(SOURCE) ?? [undefined];
    const symbols = [...(texts.get(SYMBOL) ?? [])].filter(
      (symbol) => ![...sources].some((source) => isCovered(coverings, { source, symbol })),
    );
    // If no callback meets the conditions, that is said instead.
    if (symbols.length === 0 || neverMet(policy.callback, [], tierOf(policy)).length > 0) return [];
    return [
      warning(
        tierOf(policy),
        { type: 'uncovered-symbols', symbols },
        {
          message: `no enforcing rule is for a ${policy.callback} of ${formatTexts(symbols)}, so each is refused`,
          fix: 'write a rule without `mode: observe` whose conditions it meets, or leave it out',
        },
      ),
    ];
  });
  const release: Json = JSON.parse(document);
  const inPolicies = new Set(isObject(release) ? textsIn(release['policies']) : []);
  const sources = [
    undefined,
    ...new Set(policies.flatMap(({ when }) => [...(when.texts.get(SOURCE) ?? [])])),
  ];
  // No callback is of these tokens, but call data moves them.
  const seesTokens = policies.some(({ movements }) => movements !== undefined);
  const symbols = [...assets.keys()].filter(
    (symbol) =>
      !inPolicies.has(symbol) &&
      !(seesTokens && (assets.get(symbol)?.contracts.size ?? 0) > 0) &&
      ![...all.values()].some((coverings) =>
        sources.some((source) => isCovered(coverings, { source, symbol })),
      ),
  );
  if (symbols.length === 0) return named;
  return [
    ...named,
    {
      ...whereOf({ file: ASSETS_FILE, line: 0, column: 0 }),
      path: '',
      message: `no policy covers a callback of ${formatTexts(symbols)}, so each is refused`,
      fix: 'name the symbol under `when` of a policy, or leave it out of the table',
      about: { type: 'uncovered-symbols', symbols },
    },
  ];
}

// ---- gaps between tiers ----

function uncoveredTiers(kind: Kind, { policies, assets }: Judged): readonly CoverageWarning[] {
  return gapsIn(kind, coveringsOf(policies, kind), assets).map((gap) => {
    const isBetween = gap.low !== undefined && gap.high !== undefined;
    return warning(
      gap.low ?? gap.high ?? gap.tier,
      { type: 'uncovered', ...gap.about },
      {
        message:
          `no policy covers a ${kind} whose ${gap.about.property} is ${formatRange(gap.about.range)}` +
          `${formatCells(gap.about.cells)}, so it is refused`,
        fix: isBetween
          ? `let ${gap.low.name} or ${gap.high.name} include it`
          : 'write a rule for it; if it is to be refused, amount-limit and value-limit give a reason',
      },
    );
  });
}

/** Amounts for which an `any` has no alternative, although it has some for smaller and for greater ones. */
function groupGaps(
  policy: CompiledPolicy,
  assets: AssetTable,
  known: readonly CoverageWarning[],
): readonly CoverageWarning[] {
  const within = (entry: CompiledEntry, outer: readonly Tier[]): readonly CoverageWarning[] => {
    if (!('group' in entry)) return [];
    const tiers = [...outer, tierIn(policy, entry)];
    const inner = entry.entries.flatMap((each) => within(each, tiers));
    if (entry.group === 'all') return inner;
    const around = extentsIn(tiers).filter(isAlwaysKnown);
    const coverings = entry.entries.flatMap((each) => coveringsIn(policy, each, tiers, around));
    const own = gapsIn(policy.callback, coverings, assets).flatMap(({ low, high, about }) => {
      if (low === undefined || high === undefined || isKnown(known, about)) return [];
      return [
        warning(
          low,
          { type: 'no-alternative', name: `${policy.name}/${entry.name}`, ...about },
          {
            message:
              `no alternative of ${entry.name} is for a ${policy.callback} whose ${about.property} is ` +
              `${formatRange(about.range)}${formatCells(about.cells)}, so it is refused`,
            fix: `let ${low.name} or ${high.name} include it`,
          },
        ),
      ];
    });
    return [...inner, ...own];
  };
  return policy.entries.flatMap((entry) => within(entry, [tierOf(policy)]));
}

const isKnown = (
  known: readonly CoverageWarning[],
  { callback, property, range }: Omit<Gap, 'cells'>,
): boolean =>
  known.some(
    ({ about }) =>
      about.type === 'uncovered' &&
      about.callback === callback &&
      about.property === property &&
      about.range[0] <= range[0] &&
      about.range[1] >= range[1],
  );

interface FoundGap {
  readonly about: Gap;
  /** The tiers that end below it and begin above it. */
  readonly low: Tier | undefined;
  readonly high: Tier | undefined;
  readonly tier: Tier;
}

/** For each source and symbol that is covered at all, the amounts and values that are not. */
function gapsIn(kind: Kind, coverings: readonly Covering[], assets: AssetTable): readonly FoundGap[] {
  const found = new Map<string, { gap: FoundGap; cells: Cell[] }>();
  for (const property of MEASURES) {
    const domain = property === 'amount' ? amountsOf(kind) : amounts(0n);
    const limited = coverings.filter(({ regions }) => regions.some((region) => region.has(property)));
    for (const cell of cellsOf(limited)) {
      const here = coverings.filter(({ regions }) => regions.some((region) => isOf(region, cell)));
      const rangesOf = ({ regions }: Covering): readonly Range[] =>
        regions
          .filter((region) => isOf(region, cell))
          .flatMap((region) => numbersIn(region, property).ranges);
      const covered = numbers(here.flatMap(rangesOf), domain.top);
      // A tier has several amounts. Gaps between single ones are meant.
      const tierWith = (at: bigint): Tier | undefined => {
        const covering = here.find((each) =>
          rangesOf(each).some(([from, to]) => from < to && from <= at && at <= to),
        );
        return covering?.tiers.findLast(({ when }) => mentions(extentsOf(when), property));
      };
      for (const range of restOf(covered, domain)) {
        if (property === 'amount' && !isPossible(range, cell, assets)) continue;
        const [low, high] = [tierWith(range[0] - 1n), tierWith(range[1] + 1n)];
        const tier = low ?? high;
        if (tier === undefined) continue;
        const key = JSON.stringify([property, range.map(String), tier.name]);
        const known = found.get(key);
        const cells = known?.cells ?? [];
        cells.push(cell);
        found.set(key, {
          cells,
          gap: { about: { callback: kind, property, range, cells }, low, high, tier },
        });
      }
    }
  }
  return [...found.values()].map(({ gap }) => gap);
}

const restOf = (covered: NumberSet, domain: NumberSet): readonly Range[] => {
  const rest = intersect(complement(covered), domain);
  return 'ranges' in rest ? rest.ranges : [];
};

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

const mentions = (extents: readonly Extent[], property: string): boolean =>
  extents.some(
    (extent) =>
      extent !== 'anything' && ('not' in extent ? mentions(extent.not, property) : extent.of === property),
  );

// ---- the edges of tiers ----

/** Tiers that stand beside each other: policies of a kind, or the entries of a list. */
function tierEdges(
  kind: Kind,
  { policies }: Judged,
  known: readonly CoverageWarning[],
): readonly CoverageWarning[] {
  const own = policies.filter(({ callback }) => callback === kind);
  const enforcing = own.filter(({ rules }) => rules.some(({ mode }) => mode === 'enforce'));
  const within = (
    policy: CompiledPolicy,
    entries: readonly CompiledEntry[],
    outer: readonly Tier[],
    isChoice: boolean,
  ): readonly CoverageWarning[] => [
    ...['enforce', 'observe'].flatMap((mode) =>
      edgesOf(
        kind,
        outer,
        entries.filter((entry) => entry.mode === mode).map((entry) => tierIn(policy, entry)),
        { known, isChoice },
      ),
    ),
    ...entries.flatMap((entry) =>
      'group' in entry
        ? within(policy, entry.entries, [...outer, tierIn(policy, entry)], entry.group === 'any')
        : [],
    ),
  ];
  return [
    ...edgesOf(kind, [], enforcing.map(tierOf), { known, isChoice: false }),
    ...own.flatMap((policy) => within(policy, policy.entries, [tierOf(policy)], false)),
  ];
}

/** Pairs of tiers of which one ends where the other begins, both with that amount, or neither. */
function edgesOf(
  kind: Kind,
  outer: readonly Tier[],
  tiers: readonly Tier[],
  { known, isChoice }: { readonly known: readonly CoverageWarning[]; readonly isChoice: boolean },
): readonly CoverageWarning[] {
  return MEASURES.flatMap((property) => {
    const ranged = tiers.flatMap((tier) => {
      const range = ownRange(tier, property);
      return range === undefined ? [] : [{ tier, range }];
    });
    const byStart = Map.groupBy(ranged, ({ range: [from] }) => from);
    return ranged.flatMap(({ tier: low, range: [begin, end] }) =>
      (
        [
          ['between', 1n],
          ['twice', 0n],
        ] as const
      ).flatMap(([type, distance]) =>
        (byStart.get(end + 2n * distance) ?? []).flatMap(({ tier: high, range: [, top] }) => {
          const at = end + distance;
          const isPoint = begin === end || top === end + 2n * distance;
          const pair = [...outer, low, high];
          if (low === high || isPoint || !meet(kind, pair, property)) return [];
          if (type === 'twice' && isChoice) return [];
          const isTaken = ranged.some(
            ({ tier, range: [from, to] }) => from <= at && at <= to && meet(kind, [...pair, tier], property),
          );
          const gap = { callback: kind, property, range: [at, at] } as const;
          if (type === 'between' && (isTaken || isChoice || isKnown(known, gap))) return [];
          return [edgeWarning(type, { low, high, property, at })];
        }),
      ),
    );
  });
}

function edgeWarning(
  type: 'between' | 'twice',
  {
    low,
    high,
    property,
    at,
  }: { readonly low: Tier; readonly high: Tier; readonly property: Measure; readonly at: bigint },
): CoverageWarning {
  const exactly = `${property} of ${formatRange([at, at])}`;
  return warning(
    high,
    { type, property, at },
    type === 'twice'
      ? {
          message: `${low.name} also holds for an ${exactly}, so both apply to it`,
          fix: 'write above, or below there, unless you mean both',
        }
      : {
          message: `neither this nor ${low.name} holds for an ${exactly}, so neither applies to it`,
          fix: 'write atLeast, or atMost there',
        },
  );
}

/** The one range of amounts or values that the conditions name. */
function ownRange({ when }: Tier, property: Measure): Range | undefined {
  const [extent, ...others] = extentsOf(when).filter((each) => mentions([each], property));
  if (extent === undefined || others.length > 0 || extent === 'anything' || !('of' in extent))
    return undefined;
  const { allows } = extent;
  return 'ranges' in allows && allows.ranges.length === 1 ? allows.ranges[0] : undefined;
}

/** Whether a callback may meet all the other conditions of the tiers. */
const meet = (kind: Kind, tiers: readonly Tier[], property: Measure): boolean =>
  regionsOf(
    kind,
    extentsIn(tiers).filter((extent) => !mentions([extent], property)),
  ).length > 0;

// ---- texts ----

function formatSet(values: ValueSet): string {
  if ('ranges' in values) return values.ranges.map(formatRange).join(' or ');
  const texts = formatTexts([...values.texts]);
  return values.others ? `other than ${texts}` : texts;
}

/** ` (source shop, symbol BTC and ETH)`; nothing if no policy names a source or symbol. */
function formatCells(cells: readonly Cell[]): string {
  const parts = ([SOURCE, SYMBOL] as const).flatMap((member) => {
    const texts = [...new Set(cells.map((cell) => cell[member === SOURCE ? 'source' : 'symbol']))];
    const named = texts.filter((text) => text !== undefined);
    if (named.length === 0) return [];
    return [`${member} ${formatTexts([...named, ...(named.length < texts.length ? ['others'] : [])])}`];
  });
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}
