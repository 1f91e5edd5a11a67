import { describe, expect, it } from 'vitest';
import { compileRelease } from '../../src/policy/compile.ts';
import type { Release } from '../../src/policy/release.ts';
import { WINDOW_MAX_MS, durationMs } from '../../src/policy/language/parameter.ts';
import type { PolicyTest } from '../../src/policy/suite/suite.ts';
import { runTests } from '../../src/simulation/run-tests.ts';
import { everySuite } from '../scenarios/rule-cases.ts';
import { AMOUNT_SCALE, formatAmount, parseAmount } from '../../src/values/amount.ts';
import { type Json, canonicalJson, isObject } from '../../src/values/canonical.ts';

const ANY_AMOUNT = 'the amount may be any, so its decimals have no effect';

/** By example, the changes that no callback can show, with the reason. */
const WITHOUT_EFFECT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  approval: {
    'rules.0.any.1.approval.wait: 20s to 19s': 'it only says how long the answer waits',
    'rules.0.any.1.approval.wait: 20s to 21s': 'it only says how long the answer waits',
  },
  schedule: {
    'rules.1.when.during.hours.0: 08:00-10:00 to 07:59-10:00': 'the schedule is closed then',
    'rules.1.when.during.hours.0: 08:00-10:00 to 08:01-10:00': 'the schedule is closed then',
    'rules.1.when.during.hours.1: 11:00-12:00 to 11:00-12:01': 'the schedule is closed then',
  },
  'value-limit': {
    'rules.0.value-limit.maxAge: 2h to 7201s': 'the other value-limit refuses an older price',
    'rules.1.value-limit.maxAge: 2h to 7201s': 'the other value-limit refuses an older price',
  },
  'docs/examples/a-shop-and-its-group': {
    'rules.3.value-limit.maxAge: 2h to 7201s': 'the other value-limit refuses an older price',
    'rules.4.value-limit.maxAge: 2h to 7201s': 'the other value-limit refuses an older price',
  },
  'docs/examples/approval-above-a-value': {
    'rules.1.when.value.maxAge: 5m to 301s': 'the value-limit refuses an older price',
  },
  'docs/examples/new-addresses-little': {
    'rules.1.any.1.window-limit.window: 24h to 89280s': 'after 24h the address is known',
  },
  'docs/examples/signatures-by-amount': {
    'rules.0.when.amount.below: 100 to 99.99': 'the amount-limit covers the payment',
    'rules.0.when.amount.below: 100 to 100.01': 'the rule passes, and the next one decides',
    'rules.1.when.amount.atMost: 1000 to 1000.1': 'the amount-limit refuses the payment',
  },
  'docs/examples/tiers-of-value': {
    'rules.0.when.value.below: 500 to 500.05': 'the rule passes, and the next one decides',
  },
  'docs/examples/tokens-a-day': {
    'rules.1.contract-calls.calls.2.decimals: 6 to 5': ANY_AMOUNT,
    'rules.1.contract-calls.calls.2.decimals: 6 to 7': ANY_AMOUNT,
    'rules.1.contract-calls.calls.3.decimals: 6 to 5': ANY_AMOUNT,
    'rules.1.contract-calls.calls.3.decimals: 6 to 7': ANY_AMOUNT,
    'rules.1.contract-calls.plain.max: 10 to 10.001': 'the window-limit has the same maximum',
  },
  'docs/examples/tokens-to-new-recipients': {
    'rules.0.amount-limit.max.ETH: 0 to 0.0001': 'only tokens are approved, and ETH has no contract',
  },
};

const ONE = 10n ** BigInt(AMOUNT_SCALE);
/**
 * A rolling window is counted in 60 parts and may last one of them longer, so its end is tested less exactly.
 */
const WINDOW_STEPS = 30;
const MINUTES_A_DAY = 1440;

/** Besides the folders of docs/examples, the pages of the rules, except one. */
const suites = (await everySuite()).filter(({ of }) => of !== 'config/policies' && of !== 'contract-calls');

describe.each(suites)('$of', ({ of, release, tests }) => {
  it('has a callback at both sides of each number, duration and time of its policies', () => {
    expect(failsAny(tests, release)).toBe(false);
    const unnoticed = changesOf(release)
      .filter((change) => !failsAny(tests, change.release))
      .map(({ description }) => description);
    expect(unnoticed.sort()).toEqual(Object.keys(WITHOUT_EFFECT[of] ?? {}).sort());
  });
});

it('no reason is given for an example that does not exist', () => {
  expect(Object.keys(WITHOUT_EFFECT).filter((name) => !suites.some(({ of }) => of === name))).toEqual([]);
});

it('a number, a share, a duration and hours are changed by the smallest step that matters', () => {
  expect(stepsFrom('50', 'max')).toEqual([
    ['50.005', '51'],
    ['49.995', '49'],
  ]);
  expect(stepsFrom('0', 'max')).toEqual([['0.0001', '1'], []]);
  expect(stepsFrom('99.5 %', 'share')).toEqual([['99.6 %'], ['99.4 %']]);
  expect(stepsFrom('1h', 'maxAge')).toEqual([['3601s'], ['3599s']]);
  expect(stepsFrom('1h', 'window')).toEqual([['3720s'], ['3480s']]);
  expect(stepsFrom('22:00-00:00', 'hours')).toEqual([
    ['22:01-00:00'],
    ['21:59-00:00'],
    ['22:00-00:01'],
    ['22:00-23:59'],
  ]);
  expect(stepsFrom('USDT1742', 'symbol')).toEqual([]);
});

/**
 * Whether a callback gets another verdict than a test expects. Reasons don't count: they quote the policy.
 */
function failsAny(tests: readonly PolicyTest[], release: Release): boolean {
  return tests.some((test) =>
    runTests(release, [test]).tests.some(({ callbacks }) =>
      callbacks.some(({ expected, found }) => expected.verdict !== found.verdict),
    ),
  );
}

interface Change {
  readonly description: string;
  readonly release: Release;
}

/** The release with one text of its policies changed by one step. A change that is not valid is left out. */
function changesOf({ document }: Release): readonly Change[] {
  const release: Json = JSON.parse(document);
  if (!isObject(release)) throw new Error('a release is an object');
  return textsIn(release['policies'] ?? []).flatMap(({ text, place, replacedBy }) =>
    stepsFrom(text, nameAt(place)).flatMap((steps) => {
      for (const step of steps) {
        const compiled = compileRelease(canonicalJson({ ...release, policies: replacedBy(step) }));
        if (!compiled.ok) continue;
        const description = `${place.slice(1).join('.')}: ${text} to ${step}`;
        return [{ description, release: compiled.release }];
      }
      return [];
    }),
  );
}

/** A text somewhere in a JSON value. */
interface PlacedText {
  readonly text: string;
  readonly place: readonly string[];
  /** The JSON value with another text in this place. */
  readonly replacedBy: (text: string) => Json;
}

function textsIn(json: Json): readonly PlacedText[] {
  if (typeof json === 'string') return [{ text: json, place: [], replacedBy: (text) => text }];
  if (isList(json)) {
    return json.flatMap((item, index) => within(String(index), item, (changed) => json.with(index, changed)));
  }
  if (!isObject(json)) return [];
  return Object.entries(json).flatMap(([name, member]) =>
    within(name, member, (changed) => ({ ...json, [name]: changed })),
  );
}

function within(step: string, json: Json, enclose: (changed: Json) => Json): readonly PlacedText[] {
  return textsIn(json).map(({ text, place, replacedBy }) => ({
    text,
    place: [step, ...place],
    replacedBy: (changed) => enclose(replacedBy(changed)),
  }));
}

const isList = (json: Json): json is readonly Json[] => Array.isArray(json);

/** The name of the member that has this text, or that has it in a list. */
function nameAt(place: readonly string[]): string {
  return place.findLast((step) => !/^\d+$/.test(step)) ?? '';
}

/**
 * A step up and a step down from a text, and none if it has no edge. The first alternative that a policy
 * accepts is the step: an amount has fractions, and a count has none.
 */
function stepsFrom(text: string, name: string): readonly (readonly string[])[] {
  const durationMillis = durationMs(text, WINDOW_MAX_MS);
  if (durationMillis !== undefined) {
    const seconds = durationMillis / 1000;
    const step = name === 'window' ? Math.ceil(seconds / WINDOW_STEPS) : 1;
    return [[`${seconds + step}s`], [`${seconds - step}s`]];
  }
  const [, from, to] = /^(\d\d:\d\d)-(\d\d:\d\d)$/.exec(text) ?? [];
  if (from !== undefined && to !== undefined) {
    return [
      ...[1, -1].map((minutes) => [`${later(from, minutes)}-${to}`]),
      ...[1, -1].map((minutes) => [`${from}-${later(to, minutes)}`]),
    ];
  }
  const share = /^(\S+) %$/.exec(text)?.[1];
  const amount = parseAmount(share ?? text);
  if (amount === undefined) return [];
  if (share !== undefined) {
    return [ONE / 10n, -ONE / 10n].map((step) => [`${formatAmount(amount + step)} %`]);
  }
  const fraction = (amount === 0n ? ONE : amount) / 10_000n;
  return [
    [amount + fraction, amount + ONE],
    [amount - fraction, amount - ONE],
  ].map((steps) => steps.filter((step) => step >= 0n).map(formatAmount));
}

function later(time: string, minutes: number): string {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  const total = (hour * 60 + minute + minutes + MINUTES_A_DAY) % MINUTES_A_DAY;
  return [Math.floor(total / 60), total % 60].map((part) => String(part).padStart(2, '0')).join(':');
}
