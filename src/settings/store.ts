import { z } from 'zod';
import { filePath, isHost, secretReferenceReadAtStart, section, text, wholeNumberOr } from './fields.ts';

/** The parts of `store.url`. */
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
      /** The sentinels' name for the primary. */
      readonly primary: string;
      readonly database: number;
    }
  | { readonly kind: 'cluster'; readonly tls: boolean; readonly nodes: readonly StoreNode[] };

interface StoreNode {
  readonly host: string;
  readonly port: number;
}

const STORE_FORMS =
  'embedded:PATH, redis://HOST:PORT/DATABASE, redis-sentinel://HOST:PORT,HOST:PORT/PRIMARY/DATABASE, ' +
  'redis-cluster://HOST:PORT,HOST:PORT';
const FORMS_FIX = `write one of ${STORE_FORMS}; rediss for TLS`;
const CREDENTIALS_FIX =
  'remove them from the URL and set store.username and store.password, ' +
  'such as store.password: { env: REDIS_PASSWORD }';

const DAY_MS = 86_400_000;

const storeUrl = z
  .string({ error: FORMS_FIX })
  .check((context) => {
    const credentials = holdsCredentials(context.value);
    if (!credentials && storeAddress(context.value) !== undefined) return;
    context.issues.push({
      code: 'custom',
      input: context.value,
      params: credentials ? { problem: 'contains a user or a password' } : {},
      message: credentials ? CREDENTIALS_FIX : FORMS_FIX,
    });
  })
  .default('embedded:data/countersign.db')
  .meta({ title: 'store URL' });

export const store = section({
  url: storeUrl.describe(
    `Where decisions are kept: ${STORE_FORMS}. With rediss instead of redis, connections use TLS. ` +
      'The embedded store serves one machine; Redis serves any number of replicas.',
  ),
  username: text(/^[\x21-\x7e]{1,128}$/, 'write the name of the Redis user')
    .optional()
    .describe('Redis user. Without it, the default user.'),
  password: secretReferenceReadAtStart.optional().describe('Password of the Redis user.'),
  tls: section({
    ca: filePath
      .optional()
      .describe(
        "PEM file of the server's certificate authority. Without it, the authorities that Node trusts.",
      ),
    certificate: filePath.optional().describe('PEM file of a client certificate.'),
    key: secretReferenceReadAtStart.optional().describe('The private key of the client certificate, in PEM.'),
  })
    .optional()
    .describe('TLS settings for a rediss URL.'),
  prefix: text(/^[a-z][a-z0-9-]{0,31}$/, 'write a lower-case letter, then at most 31 of a-z, 0-9 and -')
    .default('countersign')
    .describe('First part of every key in Redis, so that several installations can share one.'),
  connectTimeoutMs: wholeNumberOr(2000, 100, 60000).describe('Time limit for connecting to Redis.'),
  commandTimeoutMs: wholeNumberOr(1000, 50, 60000).describe(
    'Time limit for one step in the store. After it, the outcome is unknown and the answer is FAILURE.',
  ),
  durability: section({
    replicas: wholeNumberOr(0, 0, 16).describe(
      'Number of replicas that must have an approval before it is answered SUCCESS. The same holds before ' +
        'a push, a freeze, an unfreeze, a change of a list or of prices, or a cancelled order is ' +
        'acknowledged. ' +
        'Otherwise the answer is FAILURE, and a repeat is approved once the replicas have it. The replicas ' +
        'of the primary count; on a Cluster, those of the primary that holds the source. With 0, the ' +
        'memory of the primary is enough, and a failover may lose the last approvals. To lose none in any ' +
        'failover, name the number of all replicas that can be promoted; then all must be up. With fewer, ' +
        'and one `replica-priority` for all, none is lost when the primary dies, because the most recent ' +
        'replica is promoted. Some may be lost when a working primary is replaced, such as by ' +
        '`SENTINEL FAILOVER`. Set `min-replicas-to-write` of Redis to the same number, so that a primary ' +
        'without its replicas decides nothing.',
    ),
    timeoutMs: wholeNumberOr(100, 10, 10000).describe(
      'Time limit for these replicas, after the step itself. Must be below store.commandTimeoutMs.',
    ),
  })
    .prefault({})
    .describe('What an approval waits for, on a Redis with replicas.'),
  clock: section({
    maxStepMs: wholeNumberOr(60_000, 15_000, 400 * DAY_MS).describe(
      "How far the clock may be ahead of the store's time, which running services advance every 5 s. " +
        'Beyond it, nothing is approved until the clock is corrected or `countersign clock accept` is run. ' +
        'Within it, a clock that jumps ahead may let a limit pass twice.',
    ),
    maxGapMs: wholeNumberOr(3_600_000, 15_000, 400 * DAY_MS).describe(
      'The same limit for the first comparison after no service ran for a while. It applies if nothing ' +
        'else confirms the clock. The embedded store also knows the uptime of the machine, so there it ' +
        'applies after a restart of the machine. At least store.clock.maxStepMs.',
    ),
  })
    .prefault({})
    .describe("How far the clock may be ahead of the store's time."),
  retention: section({
    subjectsDays: wholeNumberOr(400, 93, 36500).describe(
      'Days for which a decision is remembered. A callback that repeats later is decided as a new one. ' +
        'It must be longer than the windows in which policies count. Orders, from their expiry, and ' +
        'values known to first-use-limit are kept as long.',
    ),
    journalDays: wholeNumberOr(400, 1, 36500).describe(
      'Days for which journal entries and the history of prices are kept.',
    ),
  })
    .prefault({})
    .describe('How long data is kept.'),
});

/** Whether the text contains a user or a password, like `redis://user:password@host`. */
export function holdsCredentials(url: string): boolean {
  return /^rediss?(?:-[a-z]+)?:/i.test(url) && url.includes('@');
}

/** Parses one of the forms of `store.url`; undefined for any other text. */
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

function storeNode(node: string, defaultPort: number): StoreNode | undefined {
  const groups = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[\w.-]+))(?::(?<port>\d{1,5}))?$/i.exec(node)?.groups;
  const host = groups?.['v6'] ?? groups?.['name'] ?? '';
  const port = Number(groups?.['port'] ?? defaultPort);
  return isHost(host) && port >= 1 && port <= 65535 ? { host, port } : undefined;
}

function databaseNumber(digits: string | undefined): number | undefined {
  if (digits === undefined || digits === '') return 0;
  return /^\d{1,4}$/.test(digits) ? Number(digits) : undefined;
}
