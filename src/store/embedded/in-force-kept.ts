import type { InForce } from './releases.ts';
import type { SettleTables } from './settle.ts';

/**
 * Tables that remember what is in force until `forget` is called: to be called whenever that may have
 * changed.
 */
export function keepInForce<T extends Pick<SettleTables, 'releases'>>(
  tables: T,
): T & { readonly forget: () => void } {
  let kept: InForce | undefined;
  const releases = { ...tables.releases, inForce: () => (kept ??= tables.releases.inForce()) };
  const forget = (): void => {
    kept = undefined;
  };
  return { ...tables, releases, forget };
}
