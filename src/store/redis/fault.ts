import { CountersignError, messageOf } from '../../errors.ts';
import type { RedisTimeouts } from './client.ts';
import { CLOSED, type Trouble, UNKNOWN_PRIMARY, saysNothing } from './trouble.ts';

/** What Redis says it cannot do now, by the first word of its answer, and the cure. */
const CURES: Readonly<Record<string, string>> = {
  NOAUTH: 'wants credentials; set user and password in the setting `store`',
  WRONGPASS: 'refuses the credentials; correct user and password in the setting `store`',
  NOPERM: 'does not let its user do this; give it the rights that docs/redis.md lists under Users',
  READONLY: 'is a replica; name the primary, or the Sentinels, in the setting `store`',
  OOM: 'has no memory left; raise `maxmemory`, or shorten the retention',
  MISCONF: 'cannot write its data to disk and so takes no writes; mend its disk (`INFO persistence`)',
  LOADING: 'is still loading its data; it answers once it has',
  BUSY: 'is busy with a script of somebody; end it with `SCRIPT KILL`',
  NOREPLICAS: 'has fewer replicas than `min-replicas-to-write` wants; start them',
  MASTERDOWN: 'has lost its primary; start it or fail over',
  CLUSTERDOWN: 'is a Cluster that does not serve all slots; look at `CLUSTER INFO`',
  TRYAGAIN: 'is moving these keys to another node; it answers once it has',
  MOVED: 'is a node of a Cluster; use the Cluster form of the setting `store`',
  ASK: 'is a node of a Cluster; use the Cluster form of the setting `store`',
};

/** What a Sentinel says: the settings hold no credentials for Sentinels. */
const CURES_OF_SENTINELS: Readonly<Record<string, string>> = {
  NOAUTH: 'wants credentials, and Sentinels are asked without; let it answer without, as docs/redis.md says',
  NOPERM: 'does not let its default user do this; allow it SENTINEL and SUBSCRIBE',
};

/** What connecting over TLS meets: by code and reason, what it means, and the cure. */
const OF_TLS: readonly (readonly [known: RegExp, what: string, cure: string])[] = [
  [
    /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_GET_ISSUER_CERT_LOCALLY|CERT_SIGNATURE_FAILURE|CERT_UNTRUSTED|INVALID_CA) /,
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
    /alert (?:certificate|bad certificate|unsupported certificate|unknown ca|handshake failure|access denied)/,
    'refuses the client certificate, or the lack of one',
    'Name a client certificate that it trusts in store.tls.certificate, and its key in store.tls.key',
  ],
  [
    /wrong version number|packet length too long|http request/,
    'does not speak TLS',
    'Write redis in place of rediss in store.url, or switch TLS on in Redis',
  ],
];

/** Of whom a fault is. */
export interface Asked {
  /** For messages: `host:port`, without credentials. */
  readonly server: string;
  readonly tls: boolean;
  /** There was a connection once. */
  readonly wasReady: boolean;
  readonly timeouts: RedisTimeouts;
}

/**
 * What was thrown by the client, for whoever asked the store. The client's error itself is left behind: it
 * carries the command, and so bodies or a password.
 */
export function storeFault(asked: Asked, thrown: unknown, trouble: Trouble | undefined): CountersignError {
  const { server } = asked;
  // While there is no connection, the reason is what the last attempt to connect met.
  const { at, error } = isReply(thrown) || trouble === undefined ? { at: undefined, error: thrown } : trouble;
  const reason = reasonOf(error);
  const name = at === undefined ? `Redis at ${server}` : `Redis at ${server}: ${at}`;
  const denied = /user executing the script can't run this command/.test(reason);
  const word = denied ? 'NOPERM' : (/^[A-Z]+(?= |$)/.exec(reason)?.[0] ?? '');
  const cure = at?.startsWith('the Sentinel') === true ? CURES_OF_SENTINELS[word] : CURES[word];
  if (cure !== undefined) {
    return new CountersignError('STORE_UNREACHABLE', `${name} ${cure} (${reason})`, { server });
  }
  if (isReply(thrown)) {
    return new CountersignError(
      'STORE_CORRUPT',
      `Redis at ${server} could not do a step: ${reason}. A key may be somebody else's or damaged; give the store a database or a prefix of its own, or restore it`,
      { server },
    );
  }
  return new CountersignError('STORE_UNREACHABLE', `${name} ${unconnected(asked, error)}`, { server });
}

/** What an error says, without what is of no use to people, or nobody's business. */
function reasonOf(error: unknown): string {
  // OpenSSL's messages are lines of its internals; the reason is the part that tells something.
  const said =
    error instanceof Error && 'reason' in error && typeof error.reason === 'string'
      ? error.reason
      : messageOf(error);
  return (
    said
      // A server that does not know a command quotes its arguments: of AUTH and HELLO, the password.
      .replace(/,? with args beginning with:[^]*/, '')
      .replace(/,? ?script: [0-9a-f]{40}(?:, on @user_script:\d+)?/, '')
      .replace(/ ?\(call to f_[0-9a-f]{40}\)/, '')
      .replace(/@?user_script:\d+: ?/g, '')
      .replace(/[.\s]+$/, '')
  );
}

const CHECK = 'Check that it runs and that the setting `store` names it; the connection comes back by itself';

/** Why there is no connection, and the cure. */
function unconnected({ tls, wasReady, timeouts }: Asked, error: unknown): string {
  const reason = reasonOf(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  for (const [known, what, cure] of OF_TLS) {
    if (tls && known.test(`${code} ${reason}`)) return `${what} (${reason}). ${cure}`;
  }
  if (reason === UNKNOWN_PRIMARY) {
    return 'knows no primary of the name in store.url. Write the name that `sentinel monitor` gives it';
  }
  const closed = code === 'ECONNRESET' || reason === CLOSED;
  if (closed && !wasReady) {
    const likely = tls
      ? 'If it wants a client certificate, name one in store.tls.certificate, and its key in store.tls.key'
      : 'If it speaks only TLS, write rediss in place of redis in store.url';
    return `does not answer: ${reason}. ${likely}; else check that it runs`;
  }
  const silence = silenceOf(error, reason, timeouts);
  if (silence !== undefined && tls && !wasReady) {
    return `does not answer: ${silence}. Check that it runs, and that it speaks TLS: if it doesn't, write redis in place of rediss in store.url`;
  }
  return `does not answer: ${silence ?? reason}. ${CHECK}`;
}

/** Where nothing was heard, for how long that was; undefined where something was. */
function silenceOf(error: unknown, reason: string, timeouts: RedisTimeouts): string | undefined {
  if (/^(?:Command timed out$|Socket timeout\b)/.test(reason))
    return `it said nothing for ${timeouts.commandTimeoutMs} ms`;
  const nothing = error instanceof Error && saysNothing(error);
  return nothing || reason === 'connect ETIMEDOUT'
    ? `there was no connection within ${timeouts.connectTimeoutMs} ms`
    : undefined;
}

/** True if Redis answered, and its answer is an error. */
export function isReply(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === 'ReplyError';
}
