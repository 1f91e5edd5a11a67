import type { CommandRow } from '../command.ts';
import { counted, printableLines } from '../print.ts';
import type { Session } from '../session.ts';
import { type Examined, type Finding, type Found, attempt, guarded, ok } from './finding.ts';
import { checkKeys, checkNotifications, checkPlugins } from './keys.ts';
import { checkConsole, checkPlatform, checkPorts, checkReconcile } from './outside.ts';
import { checkPolicies } from './policies.ts';
import { checkStore } from './store.ts';

export const doctor: CommandRow = {
  path: 'doctor',
  summary:
    'Check settings, keys, store, policies and ports, and say how to fix each problem. Changes no ' +
    'settings, policies or decisions. It writes test data, and creates the tables of a new store. ' +
    "With platform.url, it asks the platform for yesterday's bill.",
  example: 'doctor\ndoctor --config /etc/countersign/countersign.yaml --json',
  async run(session) {
    const findings = await examine(session);
    const count = (state: Finding['state']): number =>
      findings.filter((finding) => finding.state === state).length;
    const [faults, warnings] = [count('fault'), count('warning')];
    const summary = `${counted(faults, 'fault')}, ${counted(warnings, 'warning')}.`;
    session.print([...findings.map(findingText), summary].join('\n'), { faults, warnings, findings });
    return faults === 0 ? 0 : 1;
  },
};

interface Check {
  readonly check: Finding['check'];
  readonly find: (examined: Examined) => Promise<readonly Found[]> | readonly Found[];
}

/** The checks in the best order to correct faults. What a check throws is a fault. */
const CHECKS: readonly Check[] = [
  { check: 'keys', find: checkKeys },
  { check: 'asked', find: checkPlugins },
  { check: 'notified', find: checkNotifications },
  { check: 'platform', find: checkPlatform },
  { check: 'store', find: checkStore },
  { check: 'policies', find: checkPolicies },
  { check: 'console', find: checkConsole },
  { check: 'reconcile', find: checkReconcile },
  { check: 'ports', find: checkPorts },
];

/** Without settings there is nothing else to check. */
async function examine(session: Session): Promise<readonly Finding[]> {
  const read = await attempt(() => session.settings());
  if (!read.ok) return [{ check: 'settings', ...read.fault }];
  const sources = counted(read.value.sources.length, 'source');
  const findings: Finding[] = [{ check: 'settings', ...ok(`${session.settingsFile} with ${sources}`) }];
  const examined: Examined = { session, settings: read.value, store: undefined };
  try {
    for (const { check, find } of CHECKS) {
      const found = await guarded(() => find(examined));
      findings.push(...found.map((each) => ({ check, ...each })));
    }
  } finally {
    await examined.store?.close();
  }
  return findings;
}

function findingText({ check, state, because }: Finding): string {
  const [first = '', ...more] = printableLines(because).split('\n');
  return [
    `${state.padEnd(8)} ${check.padEnd(9)}  ${first}`,
    ...more.map((line) => `${' '.repeat(20)}${line}`),
  ].join('\n');
}
