import { shown } from '../fault.ts';
import { readAssetAddress } from '../assets.ts';
import { entryParts } from './entry.ts';
import type { RuleContext } from './rule.ts';

const ADDRESSES: ReadonlySet<string> = new Set(['from', 'to']);
/** After that many the file as a whole is probably not what was meant. */
const FAULTS_MAX = 10;

/**
 * Whether the addresses in entries, as they are written, can be what they are meant to be: a fault for each
 * that no chain of the assets it is for reads as an address. Those are the symbol in the entry, else the
 * symbols under `when`; if there are none, or the asset table does not have all of them, nothing is known and
 * nothing is at fault.
 */
export function addressesStand(
  members: readonly string[],
  texts: readonly string[],
  path: readonly (string | number)[],
  context: RuleContext,
): boolean {
  if (context.assets.size === 0 || !members.some((member) => ADDRESSES.has(member))) return true;
  let faults = 0;
  for (const text of texts) {
    const wrong = wrongAddress(members, text, context);
    if (wrong === undefined) continue;
    context.fault(path, wrong, 'copy the address again from where it is known');
    if (++faults === FAULTS_MAX) break;
  }
  return faults === 0;
}

/** A sentence about the first address in an entry that no chain reads. */
function wrongAddress(members: readonly string[], text: string, context: RuleContext): string | undefined {
  const parts = entryParts(members, text) ?? [];
  const named = parts[members.indexOf('symbol')];
  const symbols = named === undefined ? [...(context.when.get('symbol') ?? [])] : [named];
  const assets = symbols.map((symbol) => context.assets.get(symbol)).filter((asset) => asset !== undefined);
  if (assets.length === 0 || assets.length < symbols.length) return undefined;
  for (const [index, member] of members.entries()) {
    if (!ADDRESSES.has(member)) continue;
    const address = parts[index] ?? '';
    const reads = assets.map((asset) => ({ asset, read: readAssetAddress(asset, address) }));
    if (reads.some(({ read }) => read.ok)) continue;
    const why = reads.map(({ asset, read }) => `of ${asset.symbol}: ${read.ok ? '' : read.because}`);
    return `${shown(address)} is no address ${why.join('; nor ')}`;
  }
  return undefined;
}
