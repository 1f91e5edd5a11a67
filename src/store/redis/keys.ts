/**
 * Names of keys. Everything that one settle touches carries its source's hash tag, and so lies in one slot of
 * a Cluster; what holds for all sources carries a tag of its own. No two kinds share a name, so a source may
 * be called `global`.
 */
export interface Keys {
  readonly inForce: string;
  readonly history: string;
  readonly documents: string;
  readonly prices: string;
  readonly priceHistory: string;
  readonly sources: string;
  /** The services that run. */
  readonly services: string;
  /** What a barrier writes, so that there is something to wait for. */
  readonly barrier: string;
  /** Not a key: the channel on which a change of what is in force is told. */
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
  readonly list: (list: string) => string;
  readonly mark: (key: string) => string;
  /** The order that was announced for a subject. */
  readonly order: (subject: string) => string;
}

export function createKeys(prefix: string): Keys {
  const begin = escaped(prefix);
  const global = `${begin}:{global}`;
  return {
    inForce: `${global}:in-force`,
    history: `${global}:history`,
    documents: `${global}:documents`,
    prices: `${global}:prices`,
    priceHistory: `${global}:price-history`,
    sources: `${global}:sources`,
    services: `${global}:services`,
    barrier: `${global}:barrier`,
    changed: `${global}:changed`,
    of(source) {
      const own = `${begin}:{${escaped(source)}}`;
      return {
        control: `${own}:control`,
        barrier: `${own}:barrier`,
        lists: `${own}:lists`,
        journal: `${own}:journal`,
        subject: (subject) => `${own}:subject:${subject}`,
        counter: (key) => `${own}:window:${key}`,
        list: (list) => `${own}:list:${list}`,
        mark: (key) => `${own}:mark:${key}`,
        order: (subject) => `${own}:order:${subject}`,
      };
    },
  };
}

/** A brace would end or begin a hash tag, and an empty tag is none. */
function escaped(name: string): string {
  return name === '' ? '%' : name.replaceAll(/[%{}]/g, (character) => encodeURIComponent(character));
}
