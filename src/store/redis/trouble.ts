import { Cluster, type Redis } from 'ioredis';
import type { BesideError } from './client.ts';

/** Why there is no connection. */
export interface Trouble {
  /** The Sentinel or the node of a Cluster that it is about; undefined for the server itself. */
  readonly at: string | undefined;
  readonly error: Error;
}

/** What the clients of a server met, for whoever has to say why a command could not be sent. */
export interface Troubles {
  /**
   * What was met last and tells something; undefined while all is well, and where nothing was heard at all.
   */
  last(): Trouble | undefined;
  /** There was a connection once: its address and whether it speaks TLS are right. */
  wasReady(): boolean;
  readonly beside: BesideError;
  follow(client: Redis | Cluster): void;
}

/** What the client does by itself, which names neither the cause nor the cure. */
const OF_THE_CLIENT = [
  /^Connection is closed\.$/,
  /enableOfflineQueue options is false$/,
  /^Failed to refresh slots cache\.$/,
  /^None of startup nodes is available$/,
  /^(?:Cluster|Node) is disconnect(?:ed|ing)\.?$/,
  /^Reached the max retries per request limit/,
  /^All sentinels are unreachable/,
  /^timeout$/,
  // A server says so when this client left in the middle of a handshake, such as that with another node of a
  // Cluster.
  /\balert decode error\b/,
];

/** True for an error that says only that the client has no connection. */
export function saysNothing({ message }: Error): boolean {
  return OF_THE_CLIENT.some((text) => text.test(message));
}

/** What ioredis says of a Sentinel that it has asked for the primary. */
const ASKED = /^(?:connected|failed to connect) to sentinel (\S+) (?:because|successfully, but got) (.*)$/;
const NO_PRIMARY = /^(?:ERR No such master with that name|an invalid reply: null)/;
const NO_ANSWER = 'Command timed out';

/** What a Sentinel says that knows no primary of the name. */
export const UNKNOWN_PRIMARY = 'it knows no primary of this name';
/** What is met where a server closes a connection without a word. */
export const CLOSED = 'it closed the connection';

type Met = Map<string, Error>;

export function createTroubles(): Troubles {
  let own: Error | undefined;
  let ready = false;
  /** By place: what Sentinels answered, what other connections met, which Sentinels said nothing. */
  const asked: Met = new Map();
  const others: Met = new Map();
  const silent: Met = new Map();

  const beside: BesideError = (at, error) => {
    if (error !== undefined && saysNothing(error)) return;
    others.delete(at);
    if (error !== undefined) others.set(at, error);
  };

  function besides(): Trouble | undefined {
    const [at, error] = [asked, others, silent].flatMap((met) => [...met].slice(-1))[0] ?? [];
    return error && { at, error };
  }

  return {
    beside,
    wasReady: () => ready,
    last: () => (own === undefined ? besides() : { at: undefined, error: own }),
    follow(client) {
      client.on('error', (error: Error) => {
        if (!saysNothing(error)) own = error;
        // Else what was met on the way to the primary stands: that all Sentinels were asked may mean that all
        // answered.
        else if (besides() !== undefined) own = undefined;
      });
      client.on('ready', () => {
        [own, ready] = [undefined, true];
        for (const met of [asked, others, silent]) met.clear();
      });
      if (client instanceof Cluster) return;
      client.on('close', () => (own ??= besides() === undefined ? new Error(CLOSED) : undefined));
      client.on('sentinelError', ({ message }: Error) => {
        const [, address, said = ''] = ASKED.exec(message) ?? [];
        const error = new Error(NO_PRIMARY.test(said) ? UNKNOWN_PRIMARY : said);
        if (address === undefined || saysNothing(error)) return;
        // The other connection to it, which only listens, may meet what tells more than silence, and nothing
        // of what it answers.
        const at = `the Sentinel ${address}`;
        if (said === NO_ANSWER) silent.set(at, error);
        else asked.set(at, error);
      });
    },
  };
}
