import { CountersignError, messageOf } from '../errors.ts';

export interface Preparation {
  /** Why nothing may be decided now; undefined while all is prepared, and the store safe. */
  readonly trouble: () => string | undefined;
  readonly stop: () => void;
}

export interface PreparationParts {
  /**
   * Looks whether the store is safe: it might forget a decision if not. Repeated for as long as the service
   * runs.
   */
  readonly examine: () => Promise<void>;
  /** Once, after the first look. */
  readonly prepare: () => Promise<void>;
  readonly report: (trouble: string) => void;
  /** Only for tests: the time between two looks. */
  readonly examineMs?: number;
}

const RETRY_MS = 500;
const EXAMINE_MS = 3000;

/**
 * Prepares once, or goes on trying for as long as something is wrong, so that a service can start before its
 * store. What is wrong at the first attempt and would not mend itself, such as a store that is not safe,
 * rejects. Then goes on looking: a store that is no longer safe is trouble until it is mended. One that can't
 * be reached is none here, for it approves nothing; it is looked at again sooner, since it may come back
 * otherwise than it went.
 */
export async function startPreparing(parts: PreparationParts): Promise<Preparation> {
  const { examine, prepare, report, examineMs = EXAMINE_MS } = parts;
  let trouble: string | undefined;
  let prepared = false;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  /** What was thrown, if anything. */
  async function attempt(): Promise<unknown> {
    try {
      await examine();
      if (!prepared) await prepare();
      prepared = true;
      trouble = undefined;
      return undefined;
    } catch (thrown) {
      if (prepared && isOutage(thrown)) return thrown;
      const found = messageOf(thrown);
      if (!prepared || found !== trouble) report(found);
      trouble = found;
      return thrown;
    }
  }

  function later(thrown: unknown): void {
    if (stopped) return;
    const again = async (): Promise<void> => later(await attempt());
    timer = setTimeout(() => void again(), thrown === undefined ? examineMs : Math.min(RETRY_MS, examineMs));
    timer.unref();
  }

  const thrown = await attempt();
  if (thrown !== undefined && !isOutage(thrown)) throw thrown;
  later(thrown);
  return {
    trouble: () => trouble,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

const isOutage = (thrown: unknown): boolean =>
  thrown instanceof CountersignError && thrown.code === 'STORE_UNREACHABLE';
