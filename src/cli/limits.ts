import { groupsOf } from '../start/store.ts';
import { releaseInForce } from '../release/stored.ts';
import { type LimitUse, type LimitsInUse, limitsInUse, percentOf } from '../simulation/limits.ts';
import { formatAmount } from '../values/amount.ts';
import type { CommandRow } from './command.ts';
import { pairs } from './decisions/entry.ts';
import { columns, counted, isoTime, printable } from './print.ts';
import { chosenSources, sourceOption } from './sources.ts';

const LOOKED = 1000;
const SHOWN = 50;

export const limitsShow: CommandRow = {
  path: 'limits show',
  summary: 'Show how full the limits over time are that recent callbacks count in, the fullest first.',
  example:
    'limits show\nlimits show --source shop --rule payments/window-limit#2\nlimits show --entries 10000 --json',
  define: (command) =>
    sourceOption(command)
      .option('--rule <rule>', 'only limits of this policy (POLICY) or rule (POLICY/RULE)')
      .option('--entries <number>', `look at so many of the newest journal entries (default: ${LOOKED})`)
      .option('--limit <number>', `show at most this many (default: ${SHOWN})`),
  async run(session, call) {
    const entries = call.count('entries', { least: 1, most: 100_000 }) ?? LOOKED;
    const shown = call.count('limit', { least: 1, most: 100_000 }) ?? SHOWN;
    const sources = chosenSources(session, call);
    const groups = groupsOf(session.settings());
    const store = await session.store();
    const [release, prices, { nowMs }] = await Promise.all([
      releaseInForce(store),
      store.prices(),
      store.health(),
    ]);
    const parts = { store, release, prices, groupOf: (source: string) => groups.get(source), nowMs };
    const found = await limitsInUse(parts, { sources, entries, rule: call.option('rule'), most: shown });
    session.print(limitsText(found), found.limits.map(limitJson));
    return 0;
  },
};

function limitsText({ limits, looked, sinceMs }: LimitsInUse): string {
  const from = sinceMs === undefined ? '' : `, the oldest of ${isoTime(sinceMs)}`;
  const about = `From ${counted(looked, 'entry', 'entries')} of the journal${from}.`;
  if (limits.length === 0) return `No limit over time counts these callbacks. ${about}`;
  return `${columns(limits.map(limitRow))}\n\n${about}`;
}

function limitRow(limit: LimitUse): readonly string[] {
  const { source, group, policy, rule, mode, by, window, max, used, next } = limit;
  const left = used >= max ? '0' : formatAmount(max - used);
  const back = next === undefined ? '' : `, ${formatAmount(next.amount)} back at ${isoTime(next.atMs)}`;
  return [
    `${percentOf(limit)}%`.padStart(4),
    group === undefined ? source : `group ${group}`,
    `${policy}/${rule}${mode === 'enforce' ? '' : ` (${mode})`}`,
    printable(pairs(by)),
    `${formatAmount(used)} of ${formatAmount(max)} in ${window}, ${left} left${back}`,
  ];
}

function limitJson(limit: LimitUse) {
  const { source, group = null, policy, rule, mode, by, window, max, used, next } = limit;
  return {
    source,
    group,
    policy,
    rule,
    mode,
    by,
    window,
    percent: percentOf(limit),
    max: formatAmount(max),
    used: formatAmount(used),
    left: used >= max ? '0' : formatAmount(max - used),
    next: next === undefined ? null : { at: isoTime(next.atMs), amount: formatAmount(next.amount) },
  };
}
