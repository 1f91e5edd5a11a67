import { z } from 'zod';
import {
  type AddressResult,
  CHAINS,
  type Chain,
  addressForm,
  needsPrefix,
  readAddress,
} from '../../values/address.ts';
import { type Json, isObject } from '../../values/canonical.ts';
import { closestMatch } from '../../values/closest-match.ts';
import { type Problem, fixFor, problemsOf, formatInput } from '../fault.ts';

/** The asset table. Every other YAML file of the directory has policies. */
export const ASSETS_FILE = 'assets.yaml';

export interface Asset {
  /** The text in `symbol` of callbacks. */
  readonly symbol: string;
  /** The chain, which determines the form of its addresses. */
  readonly chain: Chain;
  /** The prefix of its addresses, for `bech32` only. */
  readonly prefix?: string | undefined;
  /** For `text` only: whether each of its addresses has only one spelling. */
  readonly hasOneSpelling?: boolean;
  /** The digits after the point of its smallest unit. */
  readonly decimals: number;
  /** Whether a payment to an address needs a memo (a tag) to reach its owner. */
  readonly memo: boolean;
  /** The contracts of a token, in lower case, by the symbol of their network (`main_chain_symbol`). */
  readonly contracts: ReadonlyMap<string, string>;
}

/** By symbol. */
export type AssetTable = ReadonlyMap<string, Asset>;

const ONE_OF_CHAINS = `one of ${CHAINS.join(', ')}`;
const PREFIX =
  'what its addresses begin with, like cosmos: at most 32 lower-case letters and digits, a letter first';
const DECIMALS = 'a whole number from 0 to 36';
const SPELLINGS = 'one, or leave it out';
const MEMO = 'required, or leave it out';
const CONTRACTS = 'a network and the address of the contract a line, like ETH: 0xdAC17F95…';
const SYMBOL = /^[\x21-\x7e]{1,64}$/;
export const ASSETS_MAX = 10_000;
const UNKNOWN_MAX = 10;

const FORMS = CHAINS.map((chain) => `\`${chain}\`: ${addressForm(chain)}`);

/** An asset in the file. */
export const assetShape = z.strictObject({
  chain: z
    .enum(CHAINS, { error: ({ input }) => chainFix(input) })
    .describe(`How the chain writes addresses. ${FORMS.join('. ')}.`),
  prefix: z
    .string({ error: PREFIX })
    .regex(/^[a-z][a-z0-9]{0,31}$/, { error: PREFIX })
    .optional()
    .describe(
      'For `bech32`, and needed there: what its addresses begin with, before the `1`, like `cosmos`.',
    ),
  spellings: z
    .literal('one', { error: SPELLINGS })
    .optional()
    .describe(
      'For `text`: `one` if each address of the asset has only one spelling. Without it, a deny-list, a limit ' +
        'or a condition on its addresses is a fault, because another spelling would get past it.',
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
  contracts: z
    .record(z.string(), z.string({ error: CONTRACTS }), { error: CONTRACTS })
    .optional()
    .describe(
      'The contracts of a token on `evm`, by the symbol of their network (`main_chain_symbol`). All have the ' +
        'same `decimals`: a token with others on another network is another asset.',
    ),
});

/** Compiles the asset table: `assets`, a mapping of symbols. Reports faults to `problems`. */
export function compileAssets(written: Json, problems: Problem[]): AssetTable {
  const assets = new Map<string, Asset>();
  const fault = (path: Problem['path'], of: Problem['of'], message: string, fix: string): void => {
    problems.push({ path, of, message, fix });
  };
  if (!isObject(written) || !isObject(written['assets'])) {
    fault([], 'value', 'it is not an asset table', 'write `assets:` and below it a symbol a line');
    return assets;
  }
  for (const name of Object.keys(written)) {
    if (name !== 'assets')
      fault([name], 'name', `${formatInput(name)} is not known here`, fixFor(name, ['assets']));
  }
  const entries = Object.entries(written['assets']);
  if (entries.length > ASSETS_MAX) {
    fault(
      ['assets'],
      'value',
      `it has ${entries.length} assets`,
      `remove some: at most ${ASSETS_MAX} are allowed`,
    );
  }
  for (const [symbol, asset] of entries.slice(0, ASSETS_MAX)) {
    const path = ['assets', symbol];
    if (!SYMBOL.test(symbol)) {
      fault(
        path,
        'name',
        `no callback has the symbol ${formatInput(symbol)}`,
        'write it as callbacks do, like USDT1742',
      );
      continue;
    }
    const parsed = assetShape.safeParse(asset);
    if (!parsed.success) {
      problems.push(...problemsOf(parsed.error, asset, Object.keys(assetShape.shape), path));
      continue;
    }
    const { chain, prefix, spellings, decimals, memo } = parsed.data;
    if (needsPrefix(chain) !== (prefix !== undefined)) {
      const state = prefix === undefined ? 'needs a prefix' : 'has no prefix';
      const fix = prefix === undefined ? `add prefix: ${PREFIX}` : 'leave prefix out, or write chain: bech32';
      fault(prefix === undefined ? path : [...path, 'prefix'], 'value', `the chain ${chain} ${state}`, fix);
      continue;
    }
    if (spellings !== undefined && chain !== 'text') {
      const message = `the forms of addresses of ${chain} are known`;
      fault([...path, 'spellings'], 'value', message, 'leave spellings out, or write chain: text');
      continue;
    }
    const contracts = readContracts(parsed.data, [...path, 'contracts'], problems);
    assets.set(symbol, {
      symbol,
      chain,
      prefix,
      hasOneSpelling: spellings === 'one',
      decimals,
      memo: memo === 'required',
      contracts,
    });
  }
  checkContracts(assets, fault);
  return assets;
}

function readContracts(
  { chain, contracts = {} }: z.output<typeof assetShape>,
  path: Problem['path'],
  problems: Problem[],
): Asset['contracts'] {
  const read = new Map<string, string>();
  const fault = (at: Problem['path'], message: string, fix: string): void => {
    problems.push({ path: [...path, ...at], of: 'value', message, fix });
  };
  if (chain !== 'evm' && Object.keys(contracts).length > 0) {
    fault([], `the chain ${chain} has no EVM contracts`, 'leave contracts out, or write chain: evm');
    return read;
  }
  for (const [network, written] of Object.entries(contracts)) {
    const address = readAddress('evm', written);
    if (address.ok) read.set(network, address.address);
    else
      fault([network], `${formatInput(written)} is not an EVM address: ${address.because}`, 'copy it again');
  }
  return read;
}

/** Reports contracts on unknown networks, and contracts that are named twice. */
function checkContracts(
  assets: AssetTable,
  fault: (path: Problem['path'], of: Problem['of'], message: string, fix: string) => void,
): void {
  const symbols = new Map<string, string>();
  for (const { symbol, contracts } of assets.values()) {
    for (const [network, contract] of contracts) {
      const path = ['assets', symbol, 'contracts', network];
      const chain = assets.get(network)?.chain;
      if (chain === undefined) {
        const fix = `${assetFix(network, assets)} as the coin of the network`;
        fault(path, 'name', `the asset table has no network ${formatInput(network)}`, fix);
      } else if (chain !== 'evm') {
        const message = `${network} is on the chain ${chain}, which is no EVM network`;
        fault(path, 'name', message, 'write the symbol of an EVM network');
      }
      const other = symbols.get(`${network} ${contract}`);
      if (other !== undefined) {
        fault(
          path,
          'value',
          `${contract} on ${network} is the contract of ${other} already`,
          'keep one of the two',
        );
      }
      symbols.set(`${network} ${contract}`, symbol);
    }
  }
}

const tokens = new WeakMap<AssetTable, ReadonlyMap<string, Asset>>();

/** The token that has this contract, in lower case, on a network; undefined for any other contract. */
export function tokenAt(assets: AssetTable, network: string, contract: string): Asset | undefined {
  const known = tokens.get(assets) ?? tokensByContract(assets);
  tokens.set(assets, known);
  return known.get(`${network} ${contract}`);
}

function tokensByContract(assets: AssetTable): ReadonlyMap<string, Asset> {
  return new Map(
    [...assets.values()].flatMap((asset) =>
      [...asset.contracts].map(([network, contract]): [string, Asset] => [`${network} ${contract}`, asset]),
    ),
  );
}

/** Whether all spellings of an address of the asset are known to be the same address. */
export const hasKnownSpellings = ({ chain, hasOneSpelling }: Asset): boolean =>
  chain !== 'text' || hasOneSpelling === true;

/** Reads an address of the asset's chain. */
export function readAssetAddress({ chain, prefix }: Asset, text: string): AddressResult {
  return readAddress(chain, text, prefix);
}

/**
 * The first symbols that the table doesn't have. More are not reported, since each needs a search for a
 * similar symbol.
 */
export function unknownSymbols(symbols: Iterable<string>, assets: AssetTable): readonly string[] {
  return [...symbols].filter((symbol) => !assets.has(symbol)).slice(0, UNKNOWN_MAX);
}

/** The fix for a symbol that the table doesn't have: a similar symbol, or a new row. */
export function assetFix(symbol: string, assets: AssetTable): string {
  const suggestion = closestMatch(symbol, assets.keys());
  const add = `add ${symbol} to ${ASSETS_FILE}`;
  return suggestion === undefined ? add : `did you mean ${suggestion}? Otherwise ${add}`;
}

function chainFix(written: unknown): string {
  const suggestion = typeof written === 'string' ? closestMatch(written, CHAINS) : undefined;
  return suggestion === undefined ? ONE_OF_CHAINS : `${suggestion} (${ONE_OF_CHAINS})`;
}
