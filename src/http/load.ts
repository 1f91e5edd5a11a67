import type { TurnedAway } from '../pipeline/bounds.ts';
import type { Misuse } from './connections.ts';

/** What became of the load in the last ten seconds, for whoever looks at `/readyz`. */
export interface Load {
  readonly ok: boolean;
  readonly because: string;
}

export interface Tally {
  turnedAway(turned: TurnedAway): void;
  /**
   * A connection was closed unread: of `address`, where that has too many or misuses them, else for how many
   * there are in all.
   */
  dropped(address: string | undefined): void;
  /** What was no callback: answered 404 or 405, or a connection closed for what its peer did. */
  unserved(unserved: Unserved): void;
  load(): Load;
}

export interface Unserved {
  readonly reason: 'not-found' | 'method' | Misuse;
  readonly address: string;
  /** The request, without anything that may be a secret; undefined where none could be read. */
  readonly request?: string;
}

interface TallyLine {
  readonly code: string;
  readonly because: string;
  readonly address: string | undefined;
}

export interface TallyParts {
  readonly nowMs: () => number;
  readonly count: (reason: TurnedAway['reason'] | 'connections' | 'address-connections') => void;
  readonly countUnserved: (reason: Unserved['reason']) => void;
  /** Writes a line about each; the log limits how many of one code it takes. */
  readonly write: (event: 'turned-away' | 'not-served', line: TallyLine) => void;
}

const SECONDS = 10;
const CONNECTIONS_FULL =
  'connections are closed unanswered, since as many are open as public.limits.connections allows: let the gateway keep fewer, or raise it';

const ADDRESS_FULL =
  'connections of this address are closed unanswered, since it has as many open as public.limits.connectionsPerAddress allows, or misuses them (see not-served): if it is your gateway, list it in public.trustedProxies';

const UNSERVED: Readonly<Record<Unserved['reason'], readonly [code: string, because: string]>> = {
  'not-found': [
    'NOT_FOUND',
    'was answered 404: the platform posts to /nofity/transferToMerchantAuthCheck, a co-signer to the paths of its source',
  ],
  method: ['METHOD_NOT_ALLOWED', 'was answered 405: callbacks are sent by POST'],
  pipelined: [
    'PIPELINED',
    'a connection was closed, since it sent a request before the one before it was answered: have the gateway send one at a time',
  ],
  unread: ['ANSWER_UNREAD', 'a connection was closed, since its peer did not read its answer in time'],
  malformed: [
    'MALFORMED',
    'what came over a connection was no HTTP, too long, or not whole in time: was TLS spoken to a port without it, or the other way round?',
  ],
};

/** Counts what is turned away, and writes a line about it. */
export function createTally({ nowMs, count, countUnserved, write }: TallyParts): Tally {
  const overloaded = createRecent(nowMs);
  const throttled = createRecent(nowMs);

  return {
    turnedAway({ reason, address, failure: { code, because } }) {
      count(reason);
      (reason === 'address' ? throttled : overloaded).add();
      write('turned-away', { code, because, address });
    },
    dropped(address) {
      const [reason, recent] =
        address === undefined
          ? (['connections', overloaded] as const)
          : (['address-connections', throttled] as const);
      count(reason);
      recent.add();
      if (address === undefined)
        write('turned-away', { code: 'OVERLOADED', because: CONNECTIONS_FULL, address });
      else write('turned-away', { code: 'ADDRESS_CONNECTIONS', because: ADDRESS_FULL, address });
    },
    unserved({ reason, address, request }) {
      countUnserved(reason);
      const [code, because] = UNSERVED[reason];
      write('not-served', {
        code,
        because: request === undefined ? because : `${request} ${because}`,
        address,
      });
    },
    load() {
      const [many, few] = [overloaded.count(), throttled.count()];
      const rest = few === 0 ? '' : `; ${few} of addresses whose callbacks fail to authenticate`;
      return many === 0
        ? { ok: true, because: `nothing was turned away for the load in the last ten seconds${rest}` }
        : {
            ok: false,
            because: `${many} callbacks or connections were turned away for the load in the last ten seconds${rest}: see OVERLOADED in the log`,
          };
    },
  };
}

/** Counts by the second, for ten of them. */
function createRecent(nowMs: () => number): { readonly add: () => void; readonly count: () => number } {
  const counts = Array.from({ length: SECONDS }, () => 0);
  let current = Math.floor(nowMs() / 1000);
  const forget = (): void => {
    const now = Math.floor(nowMs() / 1000);
    for (let steps = Math.min(now - current, SECONDS); steps > 0; steps--)
      counts[(now - steps + 1) % SECONDS] = 0;
    current = now;
  };
  return {
    add() {
      forget();
      const at = current % SECONDS;
      counts[at] = (counts[at] ?? 0) + 1;
    },
    count() {
      forget();
      return counts.reduce((sum, each) => sum + each, 0);
    },
  };
}
