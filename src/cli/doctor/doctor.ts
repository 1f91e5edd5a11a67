import type { CommandRow } from '../command.ts';
import { checkPlugins } from './plugins.ts';
import { checkConsole } from './console.ts';
import { checkKeys } from './keys.ts';
import { checkPlatform } from './platform.ts';
import { checkPolicies } from './policies.ts';
import { checkPorts } from './ports.ts';
import { checkReconcile } from './reconcile.ts';
import { checkStore } from './store.ts';
import { type Finding, attempt, guarded } from './finding.ts';
import { counted, printableLines } from '../print.ts';
import type { Session } from '../session.ts';

export const doctor: CommandRow = {
  path: 'doctor',
  summary:
    'Check settings, keys, store, policies and ports, and say how to fix each problem. Changes no ' +
    'settings, policies or decisions. It writes test data, and creates the tables of a new store. ' +
    "With platform.url, it asks the platform for yesterday's bill.",
  example: 'doctor\ndoctor --config /etc/countersign/countersign.yaml --json',
  async run(session) {
    const findings = await runChecks(session);
    const count = (state: Finding['state']): number =>
      findings.filter((finding) => finding.state === state).length;
    const [faults, warnings] = [count('fault'), count('warning')];
    const summary = `${counted(faults, 'fault')}, ${counted(warnings, 'warning')}.`;
    session.print([...findings.map(findingText), summary].join('\n'), { faults, warnings, findings });
    return faults === 0 ? 0 : 1;
  },
};

/** All checks, in the best order to correct faults. Without settings there is nothing else to check. */
async function runChecks(session: Session): Promise<readonly Finding[]> {
  const read = await attempt('settings', () => session.settings());
  if (!read.ok) return [read.fault];
  const settings = read.value;
  const because = `${session.settingsFile} with ${counted(settings.sources.length, 'source')}`;
  const findings: Finding[] = [{ check: 'settings', state: 'ok', because }];
  findings.push(...(await guarded('keys', () => checkKeys(session, settings))));
  findings.push(...(await checkPlugins(session, settings)));
  findings.push(...(await guarded('platform', () => checkPlatform(session, settings))));
  const { findings: found, store } = await checkStore(session, settings);
  try {
    findings.push(...found, ...(await guarded('policies', () => checkPolicies(settings, store))));
    findings.push(...(await guarded('console', () => checkConsole(settings, store, session.clock))));
  } finally {
    await store?.close();
  }
  findings.push(...(await checkReconcile(settings, session.clock())));
  return [...findings, ...(await guarded('ports', () => checkPorts(settings)))];
}

function findingText({ check, state, because }: Finding): string {
  const [first = '', ...more] = printableLines(because).split('\n');
  return [
    `${state.padEnd(8)} ${check.padEnd(9)}  ${first}`,
    ...more.map((line) => `${' '.repeat(20)}${line}`),
  ].join('\n');
}
