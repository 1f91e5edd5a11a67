const WATCH_MS = 250;

interface Watches {
  /** Calls back whenever what is read has changed, until what is returned is called. */
  watch(changed: () => void): () => void;
  close(): void;
}

/** SQLite tells nobody of another process's writes, so those who watch look every now and then. */
export function createWatches(read: () => string): Watches {
  const timers = new Set<NodeJS.Timeout>();
  return {
    watch(changed) {
      const timer = watchReading(read, changed);
      timers.add(timer);
      return () => {
        clearInterval(timer);
        timers.delete(timer);
      };
    },
    close() {
      for (const timer of timers) clearInterval(timer);
    },
  };
}

/** A look that fails is none: whoever needs the store finds that out. */
function watchReading(read: () => string, changed: () => void): NodeJS.Timeout {
  const look = (): string | undefined => {
    try {
      return read();
    } catch {
      return undefined;
    }
  };
  let seen = look();
  const timer = setInterval(() => {
    const found = look();
    if (found === undefined || found === seen) return;
    seen = found;
    changed();
  }, WATCH_MS);
  return timer.unref();
}
