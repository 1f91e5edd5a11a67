import { CountersignError } from '../../errors.ts';

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

/**
 * What was thrown by the client, for whoever asked the store. The client's error itself is left behind: it carries the
 * command, and so bodies or a password.
 *
 * @param server for messages: `host:port`, without credentials
 */
export function storeFault(server: string, thrown: unknown, lastError: string | undefined): CountersignError {
  const said = thrown instanceof Error ? thrown.message : String(thrown);
  // While there is no connection, the reason is what the last attempt to connect met.
  const told = isReply(thrown) ? said : (lastError ?? said);
  // A server that does not know a command quotes its arguments: of AUTH and HELLO, the password.
  const reason = told.replace(/,? with args beginning with:[^]*/, '').replace(/\.$/, '');
  const denied = /user executing the script can't run this command/.test(reason);
  const word = denied ? 'NOPERM' : (/^[A-Z]+(?= |$)/.exec(reason)?.[0] ?? '');
  const cure = CURES[word];
  if (cure !== undefined) {
    return new CountersignError('STORE_UNREACHABLE', `Redis at ${server} ${cure} (${reason})`, { server });
  }
  if (isReply(thrown)) {
    return new CountersignError(
      'STORE_CORRUPT',
      `Redis at ${server} could not do a step: ${reason}. A key may be somebody else's or damaged; give the store a database or a prefix of its own, or restore it`,
      { server },
    );
  }
  return new CountersignError(
    'STORE_UNREACHABLE',
    `Redis at ${server} does not answer: ${reason}. Check that it runs and that the setting \`store\` names it; the connection comes back by itself`,
    { server },
  );
}

/** True if Redis answered, and its answer is an error. */
export function isReply(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === 'ReplyError';
}
