import { CountersignError, messageOf } from '../errors.ts';

export interface Preparation {
  /** Why nothing may be decided yet; undefined once all is prepared. */
  readonly trouble: () => string | undefined;
  readonly stop: () => void;
}

const RETRY_MS = 500;

/**
 * Prepares once, or goes on trying for as long as something is wrong, so that a service can start before its store. What is
 * wrong at the first attempt and would not mend itself, such as a store that is not safe, rejects.
 */
export async function startPreparing(
  prepare: () => Promise<void>,
  tell: (trouble: string) => void,
): Promise<Preparation> {
  let trouble: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  /** What was thrown, if anything. */
  async function attempt(): Promise<unknown> {
    try {
      await prepare();
      trouble = undefined;
      return undefined;
    } catch (thrown) {
      trouble = messageOf(thrown);
      tell(trouble);
      return thrown;
    }
  }

  async function retry(): Promise<void> {
    if ((await attempt()) !== undefined) later();
  }

  function later(): void {
    if (!stopped) timer = setTimeout(() => void retry(), RETRY_MS);
  }

  const thrown = await attempt();
  if (thrown !== undefined && !isOutage(thrown)) throw thrown;
  if (thrown !== undefined) later();
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
