import { z } from 'zod';
import {
  type AddressRead,
  CHAINS,
  type Chain,
  chainWrites,
  needsPrefix,
  readAddress,
} from '../values/address.ts';
import type { Json } from '../values/canonical.ts';
import { closestMatch } from '../values/closest-match.ts';
import { type Problem, cureFor, problemsOf, shown } from './fault.ts';

/** The one file beside the policies that is no policy. */
export const ASSETS_FILE = 'assets.yaml';

export interface Asset {
  /** As callbacks name it in `symbol`. */
  readonly symbol: string;
  /** How its addresses are written. */
  readonly chain: Chain;
  /** What its addresses begin with, where only the asset knows: for `bech32`. */
  readonly prefix?: string | undefined;
  /** Digits after the point of its smallest unit. */
  readonly decimals: number;
  /** Whether a payment to an address needs a memo (a tag) to reach its owner. */
  readonly memo: boolean;
}

/** The assets that policies know, by symbol. */
export type AssetTable = ReadonlyMap<string, Asset>;

const KNOWN = `one of ${CHAINS.join(', ')}`;
const PREFIX =
  'what its addresses begin with, like cosmos: at most 32 lower-case letters and digits, a letter first';
const DECIMALS = 'a whole number from 0 to 36';
const MEMO = 'required, or leave it out';
const SYMBOL = /^[\x21-\x7e]{1,64}$/;
export const ASSETS_MAX = 10_000;
const STRANGE_MAX = 10;

/** One asset of the table, as text. */
export const assetShape = z.strictObject({
  chain: z
    .enum(CHAINS, { error: ({ input }) => chainMeant(input) })
    .describe(
      `How the chain writes addresses. ${CHAINS.map((chain) => `\`${chain}\`: ${chainWrites(chain)}`).join('. ')}.`,
    ),
  prefix: z
    .string({ error: PREFIX })
    .regex(/^[a-z][a-z0-9]{0,31}$/, { error: PREFIX })
    .optional()
    .describe(
      'For `bech32`, and needed there: what its addresses begin with, before the `1`, like `cosmos`.',
    ),
  decimals: z
    .string({ error: DECIMALS })
    .regex(/^(?:[0-9]|[12][0-9]|3[0-6])$/, { error: DECIMALS })
    .transform(Number)
    .describe('Digits after the point of its smallest unit: 8 for bitcoin, 18 for ether.'),
  memo: z
    .literal('required', { error: MEMO })
    .optional()
    .describe('`required`: a payment needs a memo (a tag) to reach its owner.'),
});

/** The asset table from plain values: `assets`, a mapping of symbols. Faults go to `problems`. */
export function compileAssets(written: Json, problems: Problem[]): AssetTable {
  const assets = new Map<string, Asset>();
  const fault = (path: Problem['path'], of: Problem['of'], message: string, cure: string): void => {
    problems.push({ path, of, message, cure });
  };
  if (!isMapping(written) || !isMapping(written['assets'])) {
    fault([], 'value', 'it is no asset table', 'write `assets:` and below it a symbol a line');
    return assets;
  }
  for (const name of Object.keys(written)) {
    if (name !== 'assets')
      fault([name], 'name', `${shown(name)} is not known here`, cureFor(name, ['assets']));
  }
  const entries = Object.entries(written['assets']);
  if (entries.length > ASSETS_MAX) {
    fault(['assets'], 'value', `it has ${entries.length} assets`, `keep to ${ASSETS_MAX}`);
  }
  for (const [symbol, asset] of entries.slice(0, ASSETS_MAX)) {
    const path = ['assets', symbol];
    if (!SYMBOL.test(symbol)) {
      fault(
        path,
        'name',
        `no callback has the symbol ${shown(symbol)}`,
        'write it as callbacks do, like USDT1742',
      );
      continue;
    }
    const parsed = assetShape.safeParse(asset);
    if (!parsed.success) {
      problems.push(...problemsOf(parsed.error, asset, Object.keys(assetShape.shape), path));
      continue;
    }
    const { chain, prefix, decimals, memo } = parsed.data;
    if (needsPrefix(chain) !== (prefix !== undefined)) {
      const given = prefix === undefined ? 'needs a prefix' : 'has no prefix';
      const cure =
        prefix === undefined ? `add prefix: ${PREFIX}` : 'leave prefix out, or write chain: bech32';
      fault(prefix === undefined ? path : [...path, 'prefix'], 'value', `the chain ${chain} ${given}`, cure);
      continue;
    }
    assets.set(symbol, { symbol, chain, prefix, decimals, memo: memo === 'required' });
  }
  return assets;
}

/** An address as the chain of this asset reads it. */
export function readAssetAddress({ chain, prefix }: Asset, text: string): AddressRead {
  return readAddress(chain, text, prefix);
}

/**
 * The first symbols that the table does not have. Looking for what was meant takes its time, and nobody reads
 * hundreds.
 */
export function strangeSymbols(symbols: Iterable<string>, assets: AssetTable): readonly string[] {
  return [...symbols].filter((symbol) => !assets.has(symbol)).slice(0, STRANGE_MAX);
}

/** How to mend a symbol that the table does not have: by the one that was meant, or by a row for it. */
export function assetCure(symbol: string, assets: AssetTable): string {
  const meant = closestMatch(symbol, assets.keys());
  const add = `add ${symbol} to ${ASSETS_FILE}`;
  return meant === undefined ? add : `did you mean ${meant}? Otherwise ${add}`;
}

function chainMeant(written: unknown): string {
  const meant = typeof written === 'string' ? closestMatch(written, CHAINS) : undefined;
  return meant === undefined ? KNOWN : `${meant} (${KNOWN})`;
}

function isMapping(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
