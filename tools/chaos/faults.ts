import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from './random.ts';
import { type Receiver, startAll } from './receivers.ts';

/** Something that goes wrong, and is mended again. */
export interface Fault {
  readonly name: string;
  /** What it is done to; of faults to one thing, only one is there at a time. */
  readonly to: string;
  /** True: nobody may notice. What is in order is approved all the while. */
  readonly harmless: boolean;
  /** Resolves once it is there, with what mends it; that resolves once it is gone. */
  readonly begin: (random: Random) => Promise<() => Promise<void>>;
}

const HOUR_MS = 3_600_000;

/** What can be done to receivers on any store. */
export function receiverFaults(receivers: readonly Receiver[]): readonly Fault[] {
  const one = (random: Random): Receiver => {
    const [first, ...rest] = receivers;
    if (first === undefined) throw new Error('there is no receiver');
    return random.oneOf([first, ...rest]);
  };
  const kill = async (killed: readonly Receiver[]): Promise<() => Promise<void>> => {
    await Promise.all(killed.map((receiver) => receiver.kill()));
    return () => startAll(killed);
  };
  return [
    {
      name: 'a receiver killed',
      to: 'receivers',
      harmless: false,
      begin: (random) => kill([one(random)]),
    },
    { name: 'all receivers killed', to: 'receivers', harmless: false, begin: () => kill(receivers) },
    {
      name: 'a receiver stopped by a signal',
      to: 'receivers',
      harmless: false,
      begin(random) {
        const stopped = one(random);
        stopped.pause();
        return Promise.resolve(() => Promise.resolve(stopped.resume()));
      },
    },
  ];
}

/** An hour ahead, an hour back, and more between two receivers. */
export function clockFault(receivers: readonly Receiver[], offsetsMs: readonly [number, ...number[]]): Fault {
  const set = (offsetMs: (receiver: Receiver) => number): void => {
    for (const receiver of receivers) receiver.setClock(offsetMs(receiver));
  };
  return {
    name: 'clocks of receivers moved by an hour',
    to: 'clocks',
    harmless: true,
    begin(random) {
      set(() => random.oneOf(offsetsMs));
      return Promise.resolve(() => Promise.resolve(set(() => 0)));
    },
  };
}

export const ANY_HOUR = [HOUR_MS, -HOUR_MS, 0] as const;
export const HOUR_BACK = [-HOUR_MS, 0] as const;

/** Does something again and again while the fault is there. */
export function repeatedly(does: () => Promise<unknown>, restMs: number): () => Promise<void> {
  const ended = new AbortController();
  const working = (async () => {
    while (!ended.signal.aborted) {
      await does().catch(() => undefined);
      await pause(restMs);
    }
  })();
  return async () => {
    ended.abort();
    await working;
  };
}
