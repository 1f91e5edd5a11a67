import { Cluster, type Redis } from 'ioredis';
import { CountersignError, messageOf } from '../../errors.ts';
import type { Greeting, OnPeerError, RedisTimeouts } from './client.ts';

/** What each error reply of Redis means and how to fix it, by the reply's first word. */
const FIXES: Readonly<Record<string, string>> = {
  NOAUTH: 'wants credentials; set user and password in the setting `store`',
  WRONGPASS: 'refuses the credentials; correct user and password in the setting `store`',
  NOPERM: 'does not let its user do this; give it the rights that docs/redis.md lists under Users',
  READONLY: 'is a replica; name the primary, or the Sentinels, in the setting `store`',
  MAXCLIENTS: 'takes no more clients; raise `maxclients`, or end clients that nobody uses (`CLIENT LIST`)',
  OOM: 'has no memory left; raise `maxmemory`, or shorten the retention',
  MISCONF: "can't write its data to disk and so rejects writes; repair its disk (`INFO persistence`)",
  LOADING: 'is still loading its data; wait until it has finished',
  BUSY: "is busy with another client's script; end it with `SCRIPT KILL`",
  NOREPLICAS: 'has fewer replicas than `min-replicas-to-write` wants; start them',
  MASTERDOWN: 'has lost its primary; start it or fail over',
  CLUSTERDOWN: 'is a Cluster that does not serve all slots; look at `CLUSTER INFO`',
  TRYAGAIN: 'is moving these keys to another node; wait until it has finished',
  MOVED: 'is a node of a Cluster; use the Cluster form of the setting `store`',
  ASK: 'is a node of a Cluster; use the Cluster form of the setting `store`',
};

/** The same for a Sentinel. The settings have no credentials for Sentinels. */
const SENTINEL_FIXES: Readonly<Record<string, string>> = {
  NOAUTH:
    'wants credentials, but Countersign sends none to Sentinels; ' +
    'let it answer without them, as docs/redis.md says',
  NOPERM: 'does not let its default user do this; allow it SENTINEL and SUBSCRIBE',
};

/** Errors of a TLS connection, by code and reason: what they mean, and the fix. */
const TLS_ERRORS: readonly (readonly [pattern: RegExp, meaning: string, fix: string])[] = [
  [
    new RegExp(
      '^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE' +
        '|UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_GET_ISSUER_CERT_LOCALLY|CERT_SIGNATURE_FAILURE' +
        '|CERT_UNTRUSTED|INVALID_CA) ',
    ),
    'shows a certificate of an authority that is not trusted here',
    'Name the PEM file of the authority that issued it in store.tls.ca',
  ],
  [/^CERT_HAS_EXPIRED /, 'shows a certificate that has expired', 'Renew the certificate of Redis'],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID /,
    'shows a certificate for another name',
    'Write a name in store.url that the certificate has, or issue one that has this name',
  ],
  [
    /alert (?:(?:bad |unsupported )?certificate|unknown ca|handshake failure|access denied)/,
    'refuses the client certificate, or the lack of one',
    'Name a client certificate that it trusts in store.tls.certificate, and its key in store.tls.key',
  ],
  [
    /wrong version number|packet length too long|http request/,
    'does not speak TLS',
    'Write redis in place of rediss in store.url, or switch TLS on in Redis',
  ],
];

/** The server that a command was sent to. */
export interface Target {
  /** For messages: `host:port`, without credentials. */
  readonly server: string;
  readonly tls: boolean;
  /** The client was connected at least once. */
  readonly wasReady: boolean;
  readonly timeouts: RedisTimeouts;
}

/**
 * Turns an error of ioredis into a CountersignError with the fix. The original error is dropped: it carries
 * the command, and so callback bodies or a password. `last` is the last error of connecting, if any.
 */
export function storeFault(
  target: Target,
  thrown: unknown,
  last: ConnectionError | undefined,
): CountersignError {
  const { server } = target;
  // Without a connection, the cause is the error of the last attempt to connect.
  const { peer, error } =
    isReplyError(thrown) || last === undefined ? { peer: undefined, error: thrown } : last;
  const reason = reasonOf(error);
  const name = peer === undefined ? `Redis at ${server}` : `Redis at ${server}: ${peer}`;
  const denied = /user executing the script can't run this command/.test(reason);
  const first = FULL.test(reason) ? 'MAXCLIENTS' : (/^[A-Z]+(?= |$)/.exec(reason)?.[0] ?? '');
  const word = denied ? 'NOPERM' : first;
  const fix = peer?.startsWith('the Sentinel') === true ? SENTINEL_FIXES[word] : FIXES[word];
  if (fix !== undefined) {
    return new CountersignError('STORE_UNREACHABLE', `${name} ${fix} (${reason})`, { server });
  }
  if (isReplyError(thrown)) {
    return new CountersignError(
      'STORE_CORRUPT',
      `Redis at ${server} could not run a command: ${reason}. Another program may have written a key, ` +
        'or a key is damaged; give the store a database or a prefix of its own, or restore a backup',
      { server },
    );
  }
  return new CountersignError('STORE_UNREACHABLE', `${name} ${noConnection(target, error)}`, { server });
}

/** What Redis says to a client that it has no place for, before it closes the connection. */
const FULL = /^-?ERR max number of clients/;

/** The message of an error without internals, credentials and hashes of scripts. */
function reasonOf(error: unknown): string {
  // An OpenSSL message is a line of internals; its `reason` is the readable part.
  const message =
    error instanceof Error && 'reason' in error && typeof error.reason === 'string'
      ? error.reason
      : messageOf(error);
  return (
    message
      // A server that does not know a command quotes its arguments: for AUTH and HELLO, the password.
      .replace(/,? with args beginning with:[^]*/, '')
      .replace(/,? ?script: [0-9a-f]{40}(?:, on @user_script:\d+)?/, '')
      .replace(/ ?\(call to f_[0-9a-f]{40}\)/, '')
      .replace(/@?user_script:\d+: ?/g, '')
      .replace(/[.\s]+$/, '')
  );
}

const CHECK = 'Check that it runs and that the setting `store` names it; the connection comes back by itself';

/** Why there is no connection, and the fix. */
function noConnection({ tls, wasReady, timeouts }: Target, error: unknown): string {
  const reason = reasonOf(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  for (const [pattern, meaning, fix] of TLS_ERRORS) {
    if (tls && pattern.test(`${code} ${reason}`)) return `${meaning} (${reason}). ${fix}`;
  }
  if (reason === UNKNOWN_PRIMARY) {
    return 'knows no primary of the name in store.url. Write the name that `sentinel monitor` gives it';
  }
  const closed = isClosing(error) || reason === CLOSED;
  if (closed && !wasReady) {
    const likely = tls
      ? 'If it wants a client certificate, name one in store.tls.certificate, and its key in store.tls.key'
      : 'If it speaks only TLS, write rediss in place of redis in store.url';
    return `does not answer: ${reason}. ${likely}. Otherwise check that it runs and has a place for one more client`;
  }
  const silence = silenceOf(error, reason, timeouts);
  if (silence !== undefined && tls && !wasReady) {
    return (
      `does not answer: ${silence}. Check that it runs, and that it speaks TLS: ` +
      "if it doesn't, write redis in place of rediss in store.url"
    );
  }
  return `does not answer: ${silence ?? reason}. ${CHECK}`;
}

/** Whether the server closed the connection, before or after it read what was sent. */
const isClosing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['ECONNRESET', 'EPIPE'].includes(String(error.code));

/** How long the server was silent; undefined if it was not. */
function silenceOf(error: unknown, reason: string, timeouts: RedisTimeouts): string | undefined {
  if (/^(?:Command timed out$|Socket timeout\b)/.test(reason))
    return `it said nothing for ${timeouts.commandTimeoutMs} ms`;
  const uninformative = error instanceof Error && isUninformative(error);
  return uninformative || reason === 'connect ETIMEDOUT'
    ? `there was no connection within ${timeouts.connectTimeoutMs} ms`
    : undefined;
}

/** Whether EVALSHA named a script that Redis does not know. */
export function isUnknownScript(thrown: unknown): boolean {
  return isReplyError(thrown) && thrown.message.startsWith('NOSCRIPT');
}

/** Whether Redis replied with an error. */
function isReplyError(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === 'ReplyError';
}

// ---- errors of connections ----

/** Why there is no connection. */
export interface ConnectionError {
  /** The Sentinel or the node of a Cluster that the error concerns; undefined for the server itself. */
  readonly peer: string | undefined;
  readonly error: Error;
}

/** Remembers the errors of a client's connections, to explain why it could not send a command. */
export interface ConnectionErrors {
  /** The last informative error; undefined if there was none since the client was last ready. */
  last(): ConnectionError | undefined;
  /** The client was connected at least once, so its address and its use of TLS are right. */
  wasReady(): boolean;
  readonly onPeerError: OnPeerError;
  collectFrom(client: Redis | Cluster): void;
}

/** Messages that ioredis itself creates. They name neither a cause nor a fix. */
const UNINFORMATIVE = [
  /^Connection is closed\.$/,
  /enableOfflineQueue options is false$/,
  /^Failed to refresh slots cache\.$/,
  /^None of startup nodes is available$/,
  /^(?:Cluster|Node) is disconnect(?:ed|ing)\.?$/,
  /^Reached the max retries per request limit/,
  /^All sentinels are unreachable/,
  /^timeout$/,
  // A server reports this if the client leaves during a handshake, such as that with another node of a
  // Cluster.
  /\balert decode error\b/,
];

/** True for an error that says only that the client has no connection. */
function isUninformative({ message }: Error): boolean {
  return UNINFORMATIVE.some((pattern) => pattern.test(message));
}

/** How ioredis reports the reply of a Sentinel that it asked for the primary. */
const SENTINEL_REPLY =
  /^(?:connected|failed to connect) to sentinel (\S+) (?:because|successfully, but got) (.*)$/;
const NO_PRIMARY = /^(?:ERR No such master with that name|an invalid reply: null)/;
const NO_REPLY = 'Command timed out';

/** The reply of a Sentinel that knows no primary of the name. */
const UNKNOWN_PRIMARY = 'it knows no primary of this name';
/** The error of a connection that the server closed without one. */
const CLOSED = 'it closed the connection';

type ErrorsByPeer = Map<string, Error>;

export function createConnectionErrors(greetingOf: Greeting): ConnectionErrors {
  let own: Error | undefined;
  let full: Error | undefined;
  let isAsking = false;
  let ready = false;
  const replies: ErrorsByPeer = new Map();
  const otherConnections: ErrorsByPeer = new Map();
  const silentSentinels: ErrorsByPeer = new Map();

  const onPeerError: OnPeerError = (peer, error) => {
    if (error !== undefined && isUninformative(error)) return;
    otherConnections.delete(peer);
    if (error !== undefined) otherConnections.set(peer, error);
  };

  /** The last error of a peer: replies of Sentinels first, silent Sentinels last. */
  function lastOfPeers(): ConnectionError | undefined {
    const [peer, error] =
      [replies, otherConnections, silentSentinels].flatMap((errors) => [...errors].slice(-1))[0] ?? [];
    return error && { peer, error };
  }

  /** A client that Redis has no place for is told so, but sends first, and then loses what it was told. */
  async function askWhetherFull(client: Redis): Promise<void> {
    const { remoteAddress: host = client.options.host, remotePort: port = client.options.port } =
      client.stream;
    if (isAsking || host === undefined || port === undefined) return;
    isAsking = true;
    const said = await greetingOf({ host, port });
    isAsking = false;
    full = FULL.test(said) ? new Error(said.replace(/^-/, '').trim()) : undefined;
  }

  return {
    onPeerError,
    wasReady: () => ready,
    last() {
      if (own === undefined) return lastOfPeers();
      return { peer: undefined, error: isClosing(own) ? (full ?? own) : own };
    },
    collectFrom(client) {
      client.on('error', (error: Error) => {
        if (!(client instanceof Cluster) && isClosing(error)) void askWhetherFull(client);
        if (!isUninformative(error)) own = error;
        // "All sentinels are unreachable" may follow although each replied: the errors of the peers say more.
        else if (lastOfPeers() !== undefined) own = undefined;
      });
      client.on('ready', () => {
        [own, full, ready] = [undefined, undefined, true];
        for (const errors of [replies, otherConnections, silentSentinels]) errors.clear();
      });
      if (client instanceof Cluster) return;
      client.on('close', () => (own ??= lastOfPeers() === undefined ? new Error(CLOSED) : undefined));
      client.on('sentinelError', ({ message }: Error) => {
        const [, address, reply = ''] = SENTINEL_REPLY.exec(message) ?? [];
        const error = new Error(NO_PRIMARY.test(reply) ? UNKNOWN_PRIMARY : reply);
        if (address === undefined || isUninformative(error)) return;
        // The connection that only listens to this Sentinel may have a more telling error than its silence.
        const peer = `the Sentinel ${address}`;
        if (reply === NO_REPLY) silentSentinels.set(peer, error);
        else replies.set(peer, error);
      });
    },
  };
}
