/** A counter of operations in flight, for a caller that waits until all of them have ended. */
export interface InFlight {
  readonly enter: () => void;
  /** Call it once for each `enter`. */
  readonly leave: () => void;
  /** Resolves as soon as no operation is in flight. */
  readonly idle: () => Promise<void>;
}

export function createInFlight(): InFlight {
  let count = 0;
  let waiting: (() => void)[] = [];
  async function idle(): Promise<void> {
    if (count === 0) return;
    await new Promise<void>((resolve) => waiting.push(resolve));
    return idle();
  }
  return {
    enter() {
      count += 1;
    },
    leave() {
      count -= 1;
      if (count > 0) return;
      for (const resolve of waiting) resolve();
      waiting = [];
    },
    idle,
  };
}
