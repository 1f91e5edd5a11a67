import type { TurnedAway } from './admission.ts';

/** What became of the load in the last ten seconds, for whoever looks at `/readyz`. */
export interface Load {
  readonly ok: boolean;
  readonly because: string;
}

export interface Tally {
  turnedAway(turned: TurnedAway): void;
  /** A connection beyond `public.limits.connections` was closed. */
  dropped(): void;
  load(): Load;
}

export interface TallyParts {
  readonly nowMs: () => number;
  readonly count: (reason: TurnedAway['reason'] | 'connections') => void;
  /** Writes a line; `count` is how many were turned away for this code since the last one. */
  readonly write: (line: {
    readonly code: string;
    readonly because: string;
    readonly address: string | undefined;
    readonly count: number;
  }) => void;
}

const LINE_EVERY_MS = 10_000;
const SECONDS = 10;
const CONNECTIONS_FULL =
  'connections are closed unanswered, since as many are open as public.limits.connections allows: let the gateway keep fewer, or raise it';

/** Counts what is turned away, and writes a line about it, of each code one in ten seconds at most. */
export function createTally({ nowMs, count, write }: TallyParts): Tally {
  const overloaded = createRecent(nowMs);
  const throttled = createRecent(nowMs);
  const lines = new Map<string, { nextAtMs: number; since: number }>();

  function tell(code: string, because: string, address: string | undefined): void {
    const now = nowMs();
    const line = lines.get(code) ?? { nextAtMs: now, since: 0 };
    lines.set(code, line);
    line.since += 1;
    if (now < line.nextAtMs) return;
    write({ code, because, address, count: line.since });
    line.nextAtMs = now + LINE_EVERY_MS;
    line.since = 0;
  }

  return {
    turnedAway({ reason, address, failure: { code, because } }) {
      count(reason);
      (reason === 'address' ? throttled : overloaded).add();
      tell(code, because, address);
    },
    dropped() {
      count('connections');
      overloaded.add();
      tell('OVERLOADED', CONNECTIONS_FULL, undefined);
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
