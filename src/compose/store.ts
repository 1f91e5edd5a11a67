import { readFileSync, statSync } from 'node:fs';
import { CountersignError, messageOf } from '../errors.ts';
import { storeAddress } from '../settings/store.ts';
import type { StoreSettings } from '../settings/schema.ts';
import type { RedisStoreOptions } from '../store/redis/open.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import type { ReadSecret } from '../values/secret.ts';

/** A store with what must be known of it before it may decide. */
export interface OpenedStore {
  readonly store: Store;
  /** Throws STORE_UNSAFE if it could forget a decision, STORE_UNREACHABLE if that can't be found out. */
  readonly examine: () => Promise<void>;
  /** The file that was made for it, where there was none. */
  readonly created?: string;
}

const DAY_MS = 86_400_000;

/**
 * Opens the store that the settings name, and loads no other. Also resolves while a Redis is down; see the
 * adapters. Only `serve` makes an embedded store where there is none: what a command would make, no service
 * looks at.
 */
export async function openStore(
  settings: StoreSettings,
  readSecret: ReadSecret,
  clock: Clock,
  { as = 'command' }: { readonly as?: 'service' | 'command' } = {},
): Promise<OpenedStore> {
  const address = storeAddress(settings.url);
  const retention = {
    subjectsMs: settings.retention.subjectsDays * DAY_MS,
    journalMs: settings.retention.journalDays * DAY_MS,
  };
  if (address === undefined) {
    throw new CountersignError('SETTINGS_INVALID', `store.url ${settings.url} names no store`);
  }
  if (address.kind === 'embedded') {
    const [{ openEmbeddedStore }, { COMMAND_WAITS, SERVICE_WAITS }] = await Promise.all([
      import('../store/embedded/open.ts'),
      import('../store/embedded/lock.ts'),
    ]);
    const { path } = address;
    const isNew = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
    const store = await openEmbeddedStore({
      path,
      clock,
      clockBounds: settings.clock,
      retention,
      create: as === 'service',
      lockWait: as === 'service' ? SERVICE_WAITS : COMMAND_WAITS,
    });
    return { store, examine: () => Promise.resolve(), ...(isNew ? { created: path } : {}) };
  }
  const [{ openRedisStore }, { inspectRedis, unsafeReason }] = await Promise.all([
    import('../store/redis/open.ts'),
    import('../store/redis/inspect.ts'),
  ]);
  const store = await openRedisStore({
    ...serverOf(address, clientOptions(settings, address.tls, readSecret)),
    prefix: settings.prefix,
    clockBounds: settings.clock,
    retention,
    durability: settings.durability,
    commandTimeoutMs: settings.commandTimeoutMs,
    connectTimeoutMs: settings.connectTimeoutMs,
  });
  return {
    store,
    async examine() {
      const unsafe = unsafeReason(await inspectRedis(store));
      if (unsafe !== undefined) throw new CountersignError('STORE_UNSAFE', unsafe);
    },
  };
}

type RedisAddress = Exclude<NonNullable<ReturnType<typeof storeAddress>>, { kind: 'embedded' }>;
type ClientOptions = NonNullable<Extract<RedisStoreOptions, { readonly client: unknown }>['client']>;

function serverOf(address: RedisAddress, client: ClientOptions): RedisStoreOptions {
  if (address.kind === 'cluster') return { cluster: address.nodes, client };
  const { database: db } = address;
  if (address.kind === 'redis') return { client: { ...client, ...address.nodes[0], db } };
  // The client takes `tls` for neither the primary nor the Sentinels unless it is told so for each.
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

/** A certificate's text: no secret, so named by its path alone. Throws SETTINGS_INVALID. */
export function readPem(file: string, setting: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    throw new CountersignError('SETTINGS_INVALID', `${setting}: can't read ${file}: ${messageOf(thrown)}`);
  }
}
