/** How many things are under way, for whoever has to wait until none is. */
export interface InFlight {
  enter(): void;
  /** Once for each `enter`. */
  leave(): void;
  /** Resolves when nothing is under way, at once where nothing is. */
  none(): Promise<void>;
}

/**
 * Counts, where a Set of promises would do. But a Set that thousands enter and leave a second is copied to a
 * new table every few dozen, and each table that was left keeps what it then held, and the next table, until
 * all of the heap is collected: a tenth of the service's CPU went into keeping callbacks alive that were long
 * answered.
 */
export function createInFlight(): InFlight {
  let count = 0;
  let waiting: (() => void)[] = [];
  async function none(): Promise<void> {
    if (count === 0) return;
    await new Promise<void>((resolve) => waiting.push(resolve));
    return none();
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
    none,
  };
}
