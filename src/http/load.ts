import type { TurnedAwayCallback } from '../pipeline/admission.ts';
import { PROXY_FIX } from '../values/damage.ts';
import type { Misuse } from './connections.ts';

/** Counts and logs the callbacks, requests and connections that were not served. */
export interface LoadMonitor {
  readonly callbackTurnedAway: (callback: TurnedAwayCallback) => void;
  /** A connection was closed unread. `address` is given if that address has too many, or is blocked. */
  readonly connectionClosed: (address: string | undefined) => void;
  readonly unserved: (unserved: Unserved) => void;
  /** The last ten seconds, for `/readyz`. */
  readonly state: () => { readonly ok: boolean; readonly because: string };
}

/** A request that was answered 404 or 405, or a connection that was closed because of its peer. */
export interface Unserved {
  readonly reason: 'not-found' | 'method' | Misuse;
  readonly address: string;
  /** The request, without anything that may be a secret; undefined if none could be read. */
  readonly request?: string;
  /** The path of callbacks that a request to another path probably meant. */
  readonly meant?: string | undefined;
}

interface LoadLine {
  readonly code: string;
  readonly because: string;
  readonly address: string | undefined;
  /** See {@link Unserved}. Such lines are limited by path. */
  readonly meant?: string | undefined;
}

export interface LoadMonitorParts {
  readonly nowMs: () => number;
  /** They count what was not served, by reason. */
  readonly metrics: {
    turnedAway(reason: string): void;
    unserved(reason: string): void;
  };
  /** Called for each event. It limits the lines that it writes. */
  readonly write: (event: 'turned-away' | 'not-served', line: LoadLine) => void;
}

const SECONDS = 10;

/** The codes of connections that are turned away for the load, with the reasons. */
export const CLOSED = {
  OVERLOADED:
    'connections are closed unanswered, because as many are open as public.limits.connections allows; ' +
    'let the gateway keep fewer open, or raise the limit',
  ADDRESS_CONNECTIONS:
    'connections of this address are closed unanswered, because it has as many open as ' +
    'public.limits.connectionsPerAddress allows, or misuses them (see not-served); ' +
    'if it is your gateway, list it in public.trustedProxies',
} as const;

/** The codes of {@link Unserved}, with the reasons. */
export const UNSERVED: Readonly<Record<Unserved['reason'], readonly [code: string, because: string]>> = {
  'not-found': ['NOT_FOUND', 'was answered 404; send callbacks to the paths in docs/callbacks.md'],
  method: ['METHOD_NOT_ALLOWED', 'was answered 405; send callbacks by POST'],
  pipelined: [
    'PIPELINED',
    'a connection was closed, because it sent a request before the last one was answered; ' +
      'let the gateway send one at a time',
  ],
  unread: ['ANSWER_UNREAD', 'a connection was closed, because the client did not read the answer in time'],
  malformed: [
    'MALFORMED',
    'a connection sent no HTTP, too much, or an incomplete request; check whether its client and this port ' +
      'both use TLS, and whether a load balancer sends the PROXY protocol, which this port does not read',
  ],
  'proxy-protocol': [
    'PROXY_PROTOCOL',
    `a connection began with a header of the PROXY protocol, which this port does not read; ${PROXY_FIX}`,
  ],
};

export function createLoadMonitor({ nowMs, metrics, write }: LoadMonitorParts): LoadMonitor {
  const overloaded = createRecent(nowMs);
  const throttled = createRecent(nowMs);

  return {
    callbackTurnedAway({ reason, address, failure: { code, because } }) {
      metrics.turnedAway(reason);
      (reason === 'address' ? throttled : overloaded).add();
      write('turned-away', { code, because, address });
    },
    connectionClosed(address) {
      const [reason, recent, code] =
        address === undefined
          ? (['connections', overloaded, 'OVERLOADED'] as const)
          : (['address-connections', throttled, 'ADDRESS_CONNECTIONS'] as const);
      metrics.turnedAway(reason);
      recent.add();
      write('turned-away', { code, because: CLOSED[code], address });
    },
    unserved({ reason, address, request, meant }) {
      metrics.unserved(reason);
      const [code, general] = UNSERVED[reason];
      const because =
        meant === undefined
          ? general
          : `was answered 404; correct the URL in the sender: the path is ${meant}`;
      write('not-served', {
        code,
        because: request === undefined ? because : `${request} ${because}`,
        address,
        meant,
      });
    },
    state() {
      const [overloads, throttles] = [overloaded.count(), throttled.count()];
      const were = throttles === 1 ? 'was' : 'were';
      const rest =
        throttles === 0
          ? ''
          : `; ${throttles} ${were} turned away because the sender's address caused too many failures ` +
            '(public.limits.failuresPerSecond) or has too many connections';
      const turnedAwayText = `turned away for the load in the last ten seconds${rest}`;
      return overloads === 0
        ? { ok: true, because: `nothing was ${turnedAwayText}` }
        : {
            ok: false,
            because: `${overloads} callbacks or connections were ${turnedAwayText}: see OVERLOADED in the log`,
          };
    },
  };
}

/** Counts the events of the last ten seconds, by the second. */
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
