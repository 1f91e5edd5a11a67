import { pluginQuestionsOf } from '../policy/evaluate.ts';
import { type Callback, type ParseBounds, type Verdict, subjectOf } from '../callback/callback.ts';
import { callbackKinds } from '../callback/kinds.ts';
import { type RuleReport, decidingValues } from '../policy/explain.ts';
import type { PeoplesApproval, PluginAnswer } from '../policy/facts.ts';
import type { Release } from '../policy/release.ts';
import type { Expectation, GivenState, PolicyTest, TestCallback } from '../policy/suite/suite.ts';
import { type SimulationStore, openSimulationStore } from '../store/embedded/simulation.ts';
import { explainSimulated, simulate } from './simulate.ts';

/** The results of the tests of a release. */
export interface TestReport {
  readonly passed: number;
  readonly failed: number;
  readonly tests: readonly TestResult[];
  readonly coverage: Coverage;
}

export interface TestResult {
  readonly file: string;
  readonly line: number;
  readonly test: string;
  readonly passed: boolean;
  readonly callbacks: readonly CallbackResult[];
}

export interface CallbackResult {
  readonly line: number;
  readonly source: string;
  /** Such as `payment:11321`. Only the kind if the callback could not be parsed. */
  readonly subject: string;
  readonly atMs: number;
  readonly expected: Expectation;
  readonly found: Found;
  /** Sentences about differences from the expectation. Empty if the callback passed. */
  readonly differences: readonly string[];
  /** The result of every rule, with the values that it used. */
  readonly rules: readonly RuleReport[];
}

export interface Found {
  readonly verdict: Verdict;
  readonly code: string;
  /** The rule that refused, as POLICY/NAME#N. */
  readonly rule: string | undefined;
  /** The values that this rule used. */
  readonly values: Readonly<Record<string, string>>;
  readonly because: string;
}

interface TestOptions {
  readonly progress?: (done: number) => void;
  /** `public.limits.outputs`. Tests without settings have the default of that setting. */
  readonly outputs?: number | undefined;
}

/** Runs tests against a release. Each test has its own store. */
export function runTests(
  release: Release,
  tests: readonly PolicyTest[],
  { progress = () => undefined, outputs = 200 }: TestOptions = {},
): TestReport {
  const coverage = createCoverage(release);
  const results: TestResult[] = [];
  for (const test of tests) {
    const result = runTest(release, test, { outputs });
    for (const { rules } of result.callbacks) coverage.add(rules);
    results.push(result);
    progress(results.length);
  }
  const passed = results.filter((result) => result.passed).length;
  return { passed, failed: results.length - passed, tests: results, coverage: coverage.report() };
}

function runTest(
  release: Release,
  { file, line, name, nowMs, given, callbacks }: PolicyTest,
  bounds: ParseBounds,
): TestResult {
  const store = openSimulationStore('memory');
  try {
    prepareStore(store, release, given, nowMs);
    let atMs = nowMs;
    const approvalOf = approvalsOf();
    const results = callbacks.map((callback) => {
      atMs += callback.afterMs;
      return runCallback({ store, release, given, bounds, approvalOf }, callback, atMs);
    });
    const passed = results.every(({ differences }) => differences.length === 0);
    return { file, line, test: name, passed, callbacks: results };
  } finally {
    store.close();
  }
}

/** Writes the given state in order of time, because the store's time never runs backwards. */
function prepareStore(store: SimulationStore, release: Release, given: GivenState, nowMs: number): void {
  const who = { by: 'test', message: '' };
  const additions = given.lists.flatMap(({ source, list, values }) => [
    { source, list, add: [], atMs: 0 },
    ...values.map(({ value, addedMs }) => ({ source, list, add: [value], atMs: addedMs })),
  ]);
  for (const { atMs, ...change } of additions.toSorted((a, b) => a.atMs - b.atMs)) {
    store.changeList({ ...change, remove: [], ...who }, atMs);
  }
  store.push(release.revision, nowMs);
  if (given.prices.length > 0) store.changePrices({ set: given.prices, remove: [], by: who.by }, nowMs);
  for (const { source, subject, members, expiresMs } of given.orders) {
    store.expectOrder({ source, subject, members, expiresAtMs: expiresMs, by: who.by }, nowMs);
  }
}

interface TestRun {
  readonly store: SimulationStore;
  readonly release: Release;
  readonly given: GivenState;
  readonly bounds: ParseBounds;
  readonly approvalOf: ReturnType<typeof approvalsOf>;
}

function runCallback(run: TestRun, test: TestCallback, atMs: number): CallbackResult {
  const { line, source, kind, members, scheme, expect: expected } = test;
  const parsed = callbackKinds[kind].parse(members, source, run.bounds);
  if (!parsed.ok) {
    const { code, because } = parsed;
    const found: Found = { verdict: 'FAILURE', code, rule: undefined, values: {}, because };
    const differences = differencesOf(expected, found);
    return { line, source, subject: kind, atMs, expected, found, differences, rules: [] };
  }
  const { callback } = parsed;
  const prices = run.store.prices();
  const group = run.given.groups.get(source);
  const answers = answersTo(run, callback);
  const approval = run.approvalOf(test, subjectOf(callback), atMs);
  const simulated = simulate(run, callback, { atMs, scheme, group, prices, answers, approval });
  const explanation = explainSimulated(simulated);
  const { deciding, because, rules } = explanation;
  const found: Found = {
    verdict: simulated.verdict,
    code: simulated.code,
    rule: deciding && `${deciding.policy}/${deciding.rule}`,
    values: decidingValues(explanation),
    because,
  };
  const differences = differencesOf(expected, found);
  return { line, source, subject: subjectOf(callback), atMs, expected, found, differences, rules };
}

/** What people have said, of each callback of a test in turn. They are asked when a subject comes first. */
export function approvalsOf(): (
  test: Pick<TestCallback, 'approvedBy'>,
  id: string,
  atMs: number,
) => PeoplesApproval | undefined {
  const asked = new Map<string, number>();
  return ({ approvedBy }, id, atMs) => {
    const createdAtMs = asked.get(id) ?? atMs;
    asked.set(id, createdAtMs);
    if (approvedBy === undefined) return undefined;
    const expiresAtMs = createdAtMs + REQUEST_MAX_MS;
    return { id, version: 1, approvers: approvedBy, createdAtMs, expiresAtMs, because: '' };
  };
}

/** The longest time that a rule can give people. */
const REQUEST_MAX_MS = 30 * 86_400_000;

/** The answers that the test gives for each plugin, whatever the question. */
function answersTo({ release, given }: TestRun, callback: Callback): ReadonlyMap<string, PluginAnswer> {
  const answers = new Map<string, PluginAnswer>();
  for (const [key, { type, name }] of pluginQuestionsOf(release, callback)) {
    const answer = given.answers.find((each) => each.type === type && each.name === name);
    if (answer !== undefined)
      answers.set(key, { verdict: answer.verdict, because: `${answer.verdict}, says the test` });
  }
  return answers;
}

/** Which rules of a release passed and refused in the tests. */
export interface Coverage {
  /** In the order of the policies. */
  readonly rules: readonly CoveredRule[];
  /** Whether every enforced rule passed and refused at least once. */
  readonly complete: boolean;
}

interface CoveredRule {
  /** POLICY/NAME#N. */
  readonly rule: string;
  readonly mode: 'enforce' | 'observe';
  /** How often it passed and refused. */
  readonly passed: number;
  readonly refused: number;
}

interface CoverageCount {
  add(rules: readonly RuleReport[]): void;
  report(): Coverage;
}

/** A rule whose claims the store did not check neither passed nor refused. */
function createCoverage(release: Release): CoverageCount {
  const counts = new Map<string, { mode: CoveredRule['mode']; passed: number; refused: number }>();
  for (const policy of release.policies) {
    for (const { name, mode } of policy.rules) {
      counts.set(`${policy.name}/${name}`, { mode, passed: 0, refused: 0 });
    }
  }
  return {
    add(rules) {
      for (const { policy, rule, verdict, asked } of rules) {
        const count = counts.get(`${policy}/${rule}`);
        if (count === undefined || !asked) continue;
        if (verdict === 'SUCCESS') count.passed++;
        else count.refused++;
      }
    },
    report() {
      const rules = [...counts].map(([rule, count]) => ({ rule, ...count }));
      const complete = rules.every(
        ({ mode, passed, refused }) => mode === 'observe' || (passed > 0 && refused > 0),
      );
      return { rules, complete };
    },
  };
}

/** Sentences about differences from the expectation. */
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

/** `amount-limit#1` matches any policy; `POLICY/amount-limit#1` only that one. */
function isRule(expected: string, found: string | undefined): boolean {
  return found !== undefined && (found === expected || found.endsWith(`/${expected}`));
}
