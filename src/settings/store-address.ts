/** Where the store is, as the text in `store.url` says it. */
export type StoreAddress =
  | { readonly kind: 'embedded'; readonly path: string }
  | {
      readonly kind: 'redis';
      readonly tls: boolean;
      readonly nodes: readonly [StoreNode];
      readonly database: number;
    }
  | {
      readonly kind: 'sentinel';
      readonly tls: boolean;
      readonly nodes: readonly StoreNode[];
      /** The name by which the sentinels know the primary. */
      readonly primary: string;
      readonly database: number;
    }
  | { readonly kind: 'cluster'; readonly tls: boolean; readonly nodes: readonly StoreNode[] };

interface StoreNode {
  readonly host: string;
  readonly port: number;
}

export const STORE_FORMS = [
  'embedded:PATH',
  'redis://HOST:PORT/DATABASE',
  'redis-sentinel://HOST:PORT,HOST:PORT/PRIMARY/DATABASE',
  'redis-cluster://HOST:PORT,HOST:PORT',
] as const;

/** Whether the text names a user or holds a password, as `redis://user:password@host` does. */
export function holdsCredentials(url: string): boolean {
  return /^rediss?(?:-[a-z]+)?:/i.test(url) && url.includes('@');
}

/** Reads one of {@link STORE_FORMS} (`rediss` for TLS); undefined if it is none of them. */
export function storeAddress(url: string): StoreAddress | undefined {
  const embedded = /^embedded:(?<path>[^\0]{1,4096})$/.exec(url)?.groups?.['path'];
  if (embedded !== undefined) return { kind: 'embedded', path: embedded };
  const parts =
    /^redis(?<tls>s?)(?:-(?<form>sentinel|cluster))?:\/\/(?<nodes>[^/?#@]+)(?<path>\/[^?#@]*)?$/.exec(
      url,
    )?.groups;
  const nodes = parts?.['nodes']
    ?.split(',')
    .map((node) => storeNode(node, parts['form'] === 'sentinel' ? 26379 : 6379));
  if (
    parts === undefined ||
    nodes === undefined ||
    nodes.length > 64 ||
    !nodes.every((node) => node !== undefined)
  ) {
    return undefined;
  }
  const tls = parts['tls'] === 's';
  const path = (parts['path'] ?? '').slice(1).split('/');
  if (parts['form'] === 'cluster') return path.join('') === '' ? { kind: 'cluster', tls, nodes } : undefined;
  if (parts['form'] === 'sentinel') {
    const [primary = '', number, ...rest] = path;
    const database = databaseNumber(number);
    if (!/^[\w.-]+$/.test(primary) || database === undefined || rest.length > 0) return undefined;
    return { kind: 'sentinel', tls, nodes, primary, database };
  }
  const [node, ...others] = nodes;
  const database = databaseNumber(path[0]);
  if (node === undefined || others.length > 0 || path.length > 1 || database === undefined) return undefined;
  return { kind: 'redis', tls, nodes: [node], database };
}

function storeNode(written: string, defaultPort: number): StoreNode | undefined {
  const groups = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[\w.-]+))(?::(?<port>\d{1,5}))?$/i.exec(written)?.groups;
  const host = groups?.['v6'] ?? groups?.['name'];
  const port = Number(groups?.['port'] ?? defaultPort);
  return host === undefined || port < 1 || port > 65535 ? undefined : { host, port };
}

function databaseNumber(written: string | undefined): number | undefined {
  if (written === undefined || written === '') return 0;
  return /^\d{1,4}$/.test(written) ? Number(written) : undefined;
}
