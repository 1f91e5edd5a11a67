import { z } from 'zod';
import { readAddress } from '../../values/address.ts';
import { type Amount, parseAmount } from '../../values/amount.ts';
import { type Path, cureFor, shown } from '../fault.ts';
import { textsText } from '../rules/parameter.ts';
import type { RuleContext } from '../rules/rule.ts';
import { type Argument, argumentsNamed } from './argument.ts';
import { type Condition, conditionText } from './condition.ts';
import { readDecimals } from './decimals.ts';
import { compileArguments } from './entry-arguments.ts';
import type { Method } from './method.ts';
import { type MethodTable, methodsNamed } from './method-table.ts';

const VALUE = 'a mapping like { max: 1.5 }';
const PLAIN = 'a plain decimal, like 10000 or 0.5, with at most 36 digits before and after the point';

/** An entry under `calls`. Strange names are found when it is compiled. */
export const entryShape = z
  .looseObject({
    contract: textsText.describe('The contract that is called, or a list of them.'),
    method: textsText.describe(
      'The method by its signature, like transfer(address,uint256), or a list of them.',
    ),
    decimals: z
      .string({ error: 'a whole number from 0 to 36' })
      .optional()
      .describe('Of the token, for amounts.'),
    asset: z
      .string({ error: 'a symbol' })
      .optional()
      .describe('The token in the asset table, for its decimals.'),
    where: z
      .record(z.string(), conditionText, { error: 'a mapping of arguments' })
      .optional()
      .describe(
        'What each argument must be, by name, or by place counted from 1; any if it may be anything.',
      ),
    unlimited: z
      .literal('allowed', { error: 'allowed, or leave it out' })
      .optional()
      .describe('Unlimited amounts, and approvals of everything, pass as well.'),
    value: z
      .looseObject({ max: z.string({ error: PLAIN }) }, { error: VALUE })
      .meta({ additionalProperties: false })
      .optional()
      .describe('The native coins that may go along; none without it.'),
    recipient: z
      .string({ error: 'the name of an address argument' })
      .optional()
      .describe('The argument that the callback’s `to` may name in the place of the contract.'),
  })
  .meta({ additionalProperties: false });

type WrittenEntry = z.output<typeof entryShape>;

/** One (contract, method) pair that is allowed, or more of one kind, under conditions. */
export interface Entry {
  /** As it is written: the same for all its methods, whose native coins are added up together. */
  readonly key: object;
  readonly contracts: readonly string[];
  readonly method: Method;
  readonly conditions: readonly Condition[];
  /** Amounts, with their decimals where they are known. */
  readonly amounts: ReadonlyMap<Argument, number | undefined>;
  readonly unlimited: boolean;
  readonly nativeMax: Amount;
  readonly recipient: Argument | undefined;
}

const NAMES = Object.keys(entryShape.shape);
const LISTED_MAX = 200;

/** The entries that one under `calls` stands for, one a method; fewer, with faults, if it is miswritten. */
export function compileEntry(
  written: WrittenEntry,
  table: MethodTable,
  path: Path,
  context: RuleContext,
): readonly Entry[] {
  const strange = Object.keys(written).filter((name) => !NAMES.includes(name));
  for (const name of strange) {
    context.fault([...path, name], `${shown(name)} is not known here`, cureFor(name, NAMES));
  }
  if (strange.length > 0) return [];
  const contracts = readContracts(written.contract, [...path, 'contract'], context);
  const nativeMax = readNative(written.value, [...path, 'value'], context);
  const decimals = readDecimals(written, path, context);
  if (contracts === undefined || nativeMax === undefined || decimals === undefined) return [];
  if (written.method.length > LISTED_MAX) {
    context.fault([...path, 'method'], `it has ${written.method.length} methods`, `keep to ${LISTED_MAX}`);
    return [];
  }
  return written.method.flatMap((signature) => {
    const variants = methodsNamed(table, signature, [...path, 'method'], context);
    const method = bestNamed(variants, Object.keys(written.where ?? {}));
    if (method === undefined) return [];
    const judged = compileArguments(written, method, decimals.decimals, path, context);
    return judged === undefined ? [] : [{ key: written, contracts, method, nativeMax, ...judged }];
  });
}

function readContracts(
  written: readonly string[],
  path: Path,
  context: RuleContext,
): readonly string[] | undefined {
  if (written.length > LISTED_MAX) {
    return context.fault(path, `it has ${written.length} contracts`, `keep to ${LISTED_MAX}`);
  }
  const contracts = new Set<string>();
  for (const each of written) {
    const read = readAddress('evm', each);
    if (!read.ok) {
      return context.fault(path, `${shown(each)} is no contract: ${read.because}`, 'copy it anew');
    }
    contracts.add(read.address);
  }
  return [...contracts];
}

/** The native coins that may go along: none where nothing is said. */
export function readNative(
  written: { readonly max: string } | undefined,
  path: Path,
  context: RuleContext,
  known: readonly string[] = ['max'],
): Amount | undefined {
  if (written === undefined) return 0n;
  const strange = Object.keys(written).find((name) => !known.includes(name));
  if (strange !== undefined) {
    return context.fault([...path, strange], `${shown(strange)} is not known here`, cureFor(strange, known));
  }
  const max = /[eE]/.test(written.max) ? undefined : parseAmount(written.max);
  return max ?? context.fault([...path, 'max'], `${shown(written.max)} will not do`, `write ${PLAIN}`);
}

/**
 * Of several ABIs of one method the first that has all the names; so `tokenId` says that it is a token with
 * ids.
 */
function bestNamed(variants: readonly Method[], names: readonly string[]): Method | undefined {
  return (
    variants.find((method) => names.every((name) => argumentsNamed(method.arguments, name).length > 0)) ??
    variants[0]
  );
}
