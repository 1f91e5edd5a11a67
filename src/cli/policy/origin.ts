import type { Origin } from '../../release/origin.ts';
import type { Settings } from '../../settings/schema.ts';

/** Where policy files are, and the store that they are pushed to. */
export function originOf(
  { settings }: { readonly settings: () => Pick<Settings, 'store'> },
  directory: string,
): Origin {
  const { url, prefix } = settings().store;
  return { directory, address: `${url} ${prefix}` };
}
