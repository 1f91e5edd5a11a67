import { type ClockState, spanText } from '../store/clock-state.ts';
import { type CommandRow, byOption } from './command.ts';
import { columns, isoTime } from './print.ts';

export const clockShow: CommandRow = {
  path: 'clock show',
  summary: "The store's clock and the store's time, and whether approvals are stopped because they differ.",
  example: 'clock show',
  async run(session) {
    const store = await session.store();
    const state = await store.clock();
    session.print(clockText(state), clockJson(state));
    return state.state === 'right' ? 0 : 1;
  },
};

export const clockAccept: CommandRow = {
  path: 'clock accept',
  summary: "Take the store's clock as it stands, after a jump ahead that was none, so that approvals go on.",
  example: 'clock accept',
  define: (command) => byOption(command.addHelpText('after', CAN_NOT_BE_UNDONE)),
  async run(session) {
    const store = await session.store();
    const before = await store.clock();
    if (before.state !== 'jumped') {
      session.print(`There is nothing to accept.\n${clockText(before)}`, clockJson(before));
      return before.state === 'right' ? 0 : 1;
    }
    const after = await store.acceptClock({ by: session.by });
    session.print(
      `Accepted: callbacks are decided again, by the time ${isoTime(after.nowMs)}, ${spanText(after.nowMs - before.nowMs)} later than it was.`,
      clockJson(after),
    );
    return after.state === 'right' ? 0 : 1;
  },
};

const CAN_NOT_BE_UNDONE = `
This can't be undone: time never runs backwards. Accept a clock only if it is right (compare it with another one, as with
\`date --utc\`). A wrong one that is accepted lets limits pass once more, and when it is put right later, time stands still
until it has caught up. A wrong clock that is put right needs nothing: all goes on by itself.`;

function clockText({ state, because, clockMs, nowMs }: ClockState): string {
  const facts = columns([
    ['clock', isoTime(clockMs)],
    ['time', isoTime(nowMs)],
  ]);
  return `${facts}\n${state === 'right' ? because : `${state}: ${because}`}`;
}

const clockJson = ({ clockMs, nowMs, ...state }: ClockState) => ({
  ...state,
  clock: isoTime(clockMs),
  time: isoTime(nowMs),
});
