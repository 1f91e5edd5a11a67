import { z } from 'zod';
import { type ClockState, formatSpan } from '../store/clock-state.ts';
import type { Store } from '../store/store.ts';
import { columns, isoTime } from '../values/text.ts';
import type { Act } from './act.ts';

const input = z.strictObject({});

interface Result {
  readonly before: ClockState;
  /** Undefined if there was nothing to accept. */
  readonly after: ClockState | undefined;
}

export const acceptClock: Act<
  { readonly store: Pick<Store, 'clock' | 'acceptClock'> },
  typeof input,
  Result
> = {
  name: 'clock accept',
  summary: "Accept the store's clock after it jumped ahead, so that approvals continue.",
  role: 'operate',
  input,
  async perform({ store }, _input, by) {
    const before = await store.clock();
    return { before, after: before.state === 'jumped' ? await store.acceptClock({ by }) : undefined };
  },
  fourEyes: {
    name: 'clock',
    async judge({ store }) {
      const before = await store.clock();
      if (before.state !== 'jumped') return { is: 'done', result: () => ({ before, after: undefined }) };
      return { is: 'looser' };
    },
  },
  text: ({ before, after }) =>
    after === undefined
      ? `There is nothing to accept.\n${clockText(before)}`
      : `Accepted. The clock no longer stops approvals. The store's time is ${isoTime(after.nowMs)}, ` +
        `${formatSpan(after.nowMs - before.nowMs)} later than before.`,
  json: ({ before, after = before }) => clockJson(after),
  isDone: ({ before, after = before }) => after.state === 'right',
};

export function clockText({ state, because, clockMs, nowMs }: ClockState): string {
  const facts = columns([
    ['clock', isoTime(clockMs)],
    ['time', isoTime(nowMs)],
  ]);
  return `${facts}\n${state === 'right' ? because : `${state}: ${because}`}`;
}

export const clockJson = ({ clockMs, nowMs, ...state }: ClockState) => ({
  ...state,
  clock: isoTime(clockMs),
  time: isoTime(nowMs),
});
