import { setTimeout as pause } from 'node:timers/promises';
import { subjectOf } from '../callback/callback.ts';
import type { Admission } from './admission.ts';
import { type AuthenticatedCallback, type DecideParts, PLUGIN_SHARE, decide } from './decide.ts';
import type { Outcome, Trace } from './outcome.ts';

export type HoldParts = DecideParts & Pick<Admission, 'hold'>;

/** How often a held callback looks at what people have done. Each look is one read of the store. */
const LOOK_EVERY_MS = 250;

/**
 * Decides, and holds the callback open while only the approval of people is missing and `mayHold`, so that a
 * repeat would be decided now. Each change that people make is decided like such a repeat.
 */
export async function decideWithPeople(
  parts: HoldParts,
  trace: Trace,
  received: AuthenticatedCallback,
  mayHold: () => boolean,
): Promise<Outcome> {
  const { source } = received.callback;
  const id = subjectOf(received.callback);
  let { outcome, awaits } = await decide(parts, trace, received);
  // Deciding again takes about as long, plugins included.
  const latestMs = parts.answerTimeoutMs * PLUGIN_SHARE - trace.elapsedMs();
  while (awaits !== undefined) {
    const { version, waitMs } = awaits;
    const leftMs = (): number => Math.min(waitMs, latestMs) - trace.elapsedMs();
    /** Whether people have changed the request by the time that holding ends. */
    const isChanged = async (): Promise<boolean> => {
      for (;;) {
        const request = await parts.store.approvalRequest(source, id);
        if ((request?.version ?? 0) !== version) return true;
        if (request?.isOpen !== true || leftMs() <= 0 || !mayHold()) return false;
        await pause(Math.min(LOOK_EVERY_MS, leftMs()));
      }
    };
    if (leftMs() <= 0 || !(await trace.measureAsync('hold', () => parts.hold(isChanged)))) break;
    if (!mayHold()) break;
    ({ outcome, awaits } = await decide(parts, trace, received));
    // It does not know what has changed, as without a deployment, so it would be decided on and on.
    if (awaits?.version === version) break;
  }
  return outcome;
}
