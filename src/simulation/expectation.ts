import type { Expectation } from '../policy/suite/suite.ts';
import type { Found } from './run-tests.ts';

/** What was found otherwise than expected, a sentence each. */
export function differencesOf(expected: Expectation, found: Found): readonly string[] {
  const { verdict, code, rule, values = {}, because } = expected;
  const differences: string[] = [];
  const differ = (what: string, wanted: string, was: string | undefined): void => {
    differences.push(`expected ${what} ${wanted}, found ${was === undefined || was === '' ? 'none' : was}`);
  };
  if (verdict !== found.verdict) differ('verdict', verdict, found.verdict);
  if (code !== undefined && code !== found.code) differ('code', code, found.code);
  if (rule !== undefined && !isRule(rule, found.rule)) differ('rule', rule, found.rule);
  for (const [name, value] of Object.entries(values)) {
    const was = Object.hasOwn(found.values, name) ? found.values[name] : undefined;
    if (was !== value) differ(`value ${name}`, value, was);
  }
  if (because !== undefined && !found.because.includes(because)) {
    differ('because', JSON.stringify(because), JSON.stringify(found.because));
  }
  return differences;
}

/** `amount-limit#1` is that of any policy; with a policy before it, of that one. */
function isRule(expected: string, found: string | undefined): boolean {
  return found !== undefined && (found === expected || found.endsWith(`/${expected}`));
}
