import type { Control } from '../store.ts';
import type { SettleTables } from './settle.ts';

/** Tables that remember what is in force until `forget` is called: to be called whenever that may have changed. */
export function keepInForce<T extends Pick<SettleTables, 'releases'>>(
  tables: T,
): T & { readonly forget: () => void } {
  let control: Control | undefined;
  const releases = { ...tables.releases, control: () => (control ??= tables.releases.control()) };
  const forget = (): void => {
    control = undefined;
  };
  return { ...tables, releases, forget };
}
