import { type ClockState, formatSpan } from '../store/clock-state.ts';
import { type CommandRow, byOption } from './command.ts';
import { columns, isoTime } from './print.ts';

export const clockShow: CommandRow = {
  path: 'clock show',
  summary: "Show the store's clock and its time, and whether a difference stops approvals.",
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
  summary: "Accept the store's clock after it jumped ahead, so that approvals continue.",
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
      `Accepted. The clock no longer stops approvals. The store's time is ${isoTime(after.nowMs)}, ` +
        `${formatSpan(after.nowMs - before.nowMs)} later than before.`,
      clockJson(after),
    );
    return after.state === 'right' ? 0 : 1;
  },
};

const CAN_NOT_BE_UNDONE = `
This can't be undone, because the store's time never runs backwards. Accept a clock only if it is right:
compare it with another one, for example with \`date --utc\`.

If you accept a wrong clock, limits can be used once more. When the clock is corrected later, the store's
time stands still until the clock reaches it. If the clock is wrong, correct it instead. Approvals then
continue without this command.`;

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
