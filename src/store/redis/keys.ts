import { groupOfKey } from '../../claims/window.ts';

/**
 * The names of keys. All keys that one `settle` uses carry the hash tag of their source, so they are in one
 * slot of a Cluster. If the source is in the slot of a group (see places.ts), the first tag is that of the
 * group. Counters of a group always have its tag. Keys that hold for all sources carry the tag `global`. No
 * key of a source equals one of the global keys, so a source may be called `global`.
 */
export interface Keys {
  readonly inForce: string;
  readonly history: string;
  readonly documents: string;
  readonly prices: string;
  readonly priceHistory: string;
  readonly sources: string;
  readonly services: string;
  readonly access: (id: string) => string;
  /** The approval requests for all sources; they differ from those of a source that is called `global`. */
  readonly sharedRequest: (id: string) => string;
  readonly sharedRequests: string;
  /** Written before each `WAIT`, which waits only for writes: see replication.ts. */
  readonly barrier: string;
  /** A channel, not a key: it carries a message for each change of what is in force. */
  readonly changed: string;
  readonly of: (source: string) => SourceKeys;
}

export interface SourceKeys {
  readonly control: string;
  readonly barrier: string;
  readonly lists: string;
  readonly journal: string;
  readonly subject: (subject: string) => string;
  readonly counter: (key: string) => string;
  readonly distinct: (key: string) => string;
  readonly list: (list: string) => string;
  readonly mark: (key: string) => string;
  readonly order: (subject: string) => string;
  readonly refusals: (key: string) => string;
  readonly lockouts: string;
  readonly request: (id: string) => string;
  /** The approval requests that are open. */
  readonly requests: string;
}

/**
 * The most sources whose keys are kept. Settings have far fewer, but reads may name sources that don't exist.
 */
const KEPT_MAX = 10_000;

/** `groupOf`: the group in whose slot the keys of a source are, if it has no slot of its own. */
export function createKeys(
  prefix: string,
  groupOf: (source: string) => string | undefined = () => undefined,
): Keys {
  const start = escaped(prefix);
  const global = `${start}:{global}`;
  const kept = new Map<string, { readonly group: string | undefined; readonly keys: SourceKeys }>();
  return {
    inForce: `${global}:in-force`,
    history: `${global}:history`,
    documents: `${global}:documents`,
    prices: `${global}:prices`,
    priceHistory: `${global}:price-history`,
    sources: `${global}:sources`,
    services: `${global}:services`,
    access: (id) => `${global}:access:${id}`,
    sharedRequest: (id) => `${global}:shared-request:${id}`,
    sharedRequests: `${global}:shared-requests`,
    barrier: `${global}:barrier`,
    changed: `${global}:changed`,
    of(source) {
      const group = groupOf(source);
      const found = kept.get(source);
      if (found !== undefined && found.group === group) return found.keys;
      const own = `${start}:${group === undefined ? '' : groupTag(group)}{${escaped(source)}}`;
      const countedIn = (key: string): string => {
        const counting = groupOfKey(key);
        return counting === undefined ? own : `${start}:${groupTag(counting)}`;
      };
      const keys: SourceKeys = {
        control: `${own}:control`,
        barrier: `${own}:barrier`,
        lists: `${own}:lists`,
        journal: `${own}:journal`,
        subject: (subject) => `${own}:subject:${subject}`,
        counter: (key) => `${countedIn(key)}:window:${key}`,
        distinct: (key) => `${countedIn(key)}:distinct:${key}`,
        list: (list) => `${own}:list:${list}`,
        mark: (key) => `${countedIn(key)}:mark:${key}`,
        order: (subject) => `${own}:order:${subject}`,
        refusals: (key) => `${own}:refusals:${key}`,
        lockouts: `${own}:lockouts`,
        request: (id) => `${own}:request:${id}`,
        requests: `${own}:requests`,
      };
      if (kept.size < KEPT_MAX) kept.set(source, { group, keys });
      return keys;
    },
  };
}

/** The keys of the approval requests of a source, or with the empty text of those for all sources. */
export function requestKeys(
  { inForce, sharedRequest, sharedRequests, of }: Keys,
  scope: string,
): Pick<SourceKeys, 'control' | 'request' | 'requests'> {
  return scope === '' ? { control: inForce, request: sharedRequest, requests: sharedRequests } : of(scope);
}

/** No source has this tag: names in the settings have no `@`. */
const groupTag = (group: string): string => `{@${escaped(group)}}`;

/**
 * Escapes braces, which delimit hash tags, and the empty name, because an empty tag does not count as one.
 */
function escaped(name: string): string {
  return name === '' ? '%' : name.replaceAll(/[%{}]/g, (character) => encodeURIComponent(character));
}
