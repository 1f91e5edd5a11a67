import { existsSync } from 'node:fs';
import { CountersignError } from '../errors.ts';
import type { Settings, StoreSettings } from '../settings/schema.ts';
import { readPem } from '../settings/secrets.ts';
import { storeAddress } from '../settings/store.ts';
import type { RedisStoreOptions } from '../store/redis/open.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import type { ReadSecret } from '../values/secret.ts';

const DAY_MS = 86_400_000;

export interface OpeningOptions {
  readonly as?: 'service' | 'command' | 'background';
  /** The groups of sources in the settings: see groupsOf. Only a Redis Cluster needs them. */
  readonly groups?: ReadonlyMap<string, string>;
}

/**
 * Opens the store that the settings name, and loads only its module. Resolves also while Redis is down: see
 * openRedisStore. Only `serve` creates an embedded store: a file that a command created would be used by no
 * service.
 */
export async function openStore(
  settings: StoreSettings,
  readSecret: ReadSecret,
  clock: Clock,
  { as = 'command', groups }: OpeningOptions = {},
): Promise<Store> {
  const address = storeAddress(settings.url);
  const retention = {
    subjectsMs: settings.retention.subjectsDays * DAY_MS,
    journalMs: settings.retention.journalDays * DAY_MS,
  };
  if (address === undefined) {
    throw new CountersignError('SETTINGS_INVALID', `store.url ${settings.url} names no store`);
  }
  if (address.kind === 'embedded') {
    const [{ openEmbeddedStore }, { SMALL_CACHE_KIB }, { BACKGROUND_WAIT, COMMAND_WAIT, SERVICE_WAIT }] =
      await Promise.all([
        import('../store/embedded/open.ts'),
        import('../store/embedded/database.ts'),
        import('../store/embedded/lock.ts'),
      ]);
    const { path } = address;
    return openEmbeddedStore({
      path,
      clock,
      clockBounds: settings.clock,
      retention,
      create: as === 'service',
      lockWait: { service: SERVICE_WAIT, command: COMMAND_WAIT, background: BACKGROUND_WAIT }[as],
      ...(as === 'background' && { cacheKib: SMALL_CACHE_KIB }),
    });
  }
  const { openRedisStore } = await import('../store/redis/open.ts');
  return openRedisStore({
    ...serverOf(address, clientOptions(settings, address.tls, readSecret)),
    prefix: settings.prefix,
    ...(groups === undefined ? {} : { groups }),
    clockBounds: settings.clock,
    retention,
    durability: settings.durability,
    commandTimeoutMs: settings.commandTimeoutMs,
    connectTimeoutMs: settings.connectTimeoutMs,
  });
}

/** The group of each source that has one. */
export function groupsOf({ sources }: Pick<Settings, 'sources'>): ReadonlyMap<string, string> {
  return new Map(sources.flatMap(({ name, group }) => (group === undefined ? [] : [[name, group]])));
}

/** The file of an embedded store that does not exist yet. */
export function missingStoreFile({ url }: StoreSettings): string | undefined {
  const address = storeAddress(url);
  if (address?.kind !== 'embedded') return undefined;
  return existsSync(address.path) ? undefined : address.path;
}

type RedisAddress = Exclude<NonNullable<ReturnType<typeof storeAddress>>, { kind: 'embedded' }>;
type ClientOptions = NonNullable<Extract<RedisStoreOptions, { readonly client: unknown }>['client']>;

function serverOf(address: RedisAddress, client: ClientOptions): RedisStoreOptions {
  if (address.kind === 'cluster') return { cluster: address.nodes, client };
  const { database: db } = address;
  if (address.kind === 'redis') return { client: { ...client, ...address.nodes[0], db } };
  // The client uses TLS for the primary and the Sentinels only if each is set.
  const secure =
    client.tls === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: { ...client.tls } };
  return { client: { ...client, ...secure, sentinels: [...address.nodes], name: address.primary, db } };
}

function clientOptions(
  { username, password, tls }: StoreSettings,
  secure: boolean,
  readSecret: ReadSecret,
): ClientOptions {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: readSecret(password) }),
    ...(secure ? { tls: tlsOptions(tls, readSecret) } : {}),
  };
}

function tlsOptions(tls: StoreSettings['tls'], readSecret: ReadSecret): NonNullable<ClientOptions['tls']> {
  return {
    ...(tls?.ca === undefined ? {} : { ca: readPem(tls.ca, 'store.tls.ca') }),
    ...(tls?.certificate === undefined ? {} : { cert: readPem(tls.certificate, 'store.tls.certificate') }),
    ...(tls?.key === undefined ? {} : { key: readSecret(tls.key) }),
  };
}
