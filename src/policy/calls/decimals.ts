import { type Path, cureFor, shown } from '../fault.ts';
import type { RuleContext } from '../rules/rule.ts';

const DECIMALS = /^(?:[0-9]|[12][0-9]|3[0-6])$/;

/**
 * The decimals that a condition or an entry gives, by themselves or by an asset, if it gives any; undefined,
 * with a fault, if it gives wrong ones.
 */
export function readDecimals(
  { decimals, asset }: { readonly decimals?: string | undefined; readonly asset?: string | undefined },
  path: Path,
  context: RuleContext,
): { readonly decimals: number | undefined } | undefined {
  if (decimals !== undefined && asset !== undefined) {
    return context.fault(path, 'it has both decimals and asset', 'keep one of the two');
  }
  if (decimals !== undefined) {
    if (DECIMALS.test(decimals)) return { decimals: Number(decimals) };
    return context.fault(
      [...path, 'decimals'],
      `${shown(decimals)} will not do`,
      'write a whole number from 0 to 36',
    );
  }
  if (asset === undefined) return { decimals: undefined };
  const found = context.assets.get(asset);
  if (found?.chain === 'evm') return { decimals: found.decimals };
  const at = [...path, 'asset'];
  return found === undefined
    ? context.fault(
        at,
        `the asset table has no ${shown(asset)}`,
        cureFor(asset, [...context.assets.keys()].slice(0, 20)),
      )
    : context.fault(
        at,
        `${asset} is on the chain ${found.chain}, where no EVM contract is`,
        'write decimals instead',
      );
}
