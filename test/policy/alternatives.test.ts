import { describe, expect, it } from 'vitest';
import type { ClaimResult } from '../../src/claims/claims.ts';
import { NOT_CHECKED } from '../../src/claims/claims.ts';
import { pluginQuestionsOf } from '../../src/policy/evaluate.ts';
import { explain } from '../../src/policy/explain.ts';
import { type Proposal, proposalFromJson, proposalToJson } from '../../src/policy/proposal.ts';
import { NOON, evaluateAt, faultsOf, payment, release } from './callbacks.ts';

const policyOf = (rules: string): string =>
  `policy: one\ncallback: payment\nwhen: { symbol: USDT1742 }\nrules:\n${rules}`;

const proposed = (rules: string, nowMs = NOON): Proposal =>
  evaluateAt(release(policyOf(rules)), payment(), nowMs);

const YES = '{ amount-limit: { max: 1000 } }';
const NO = '{ amount-limit: { max: 1 } }';
const CLAIM = '{ allow-list: { of: userId, list: vips } }';
const ROOM = '{ window-limit: { max: 1000, window: day, per: [userId] } }';

const LISTED: ClaimResult = { type: 'list', holds: true, missing: false, present: ['12345'] };
const NOT_LISTED: ClaimResult = { type: 'list', holds: false, missing: false, present: [] };
const FULL: ClaimResult = { type: 'window', holds: false, reserved: 0n, used: 950n * 10n ** 36n };
const ROOMY: ClaimResult = { type: 'window', holds: true, reserved: 0n, used: 0n };

describe('any', () => {
  it.each([
    ['the first passes', `[${YES}, ${NO}]`, true],
    ['the second passes', `[${NO}, ${YES}]`, true],
    ['none passes', `[${NO}, ${NO}]`, false],
    ['all of one alternative pass', `[${NO}, { all: [${YES}, ${YES}] }]`, true],
    ['one of all refuses', `[{ all: [${YES}, ${NO}] }]`, false],
    ['any in any', `[${NO}, { any: [${NO}, ${YES}] }]`, true],
    ['any in all in any', `[{ all: [{ any: [${NO}, ${YES}] }, ${YES}] }]`, true],
  ])('%s', (_, alternatives, approves) => {
    const proposal = proposed(`  - any: ${alternatives}\n`);
    expect(proposal).toMatchObject({ approves, refusal: undefined, claims: [] });
    expect(proposal.choices).toBeUndefined();
    expect(proposal.results[0]).toMatchObject({ rule: 'any#1', mode: 'enforce' });
    expect(new Set(proposal.results.slice(1).map(({ mode }) => mode))).toEqual(new Set(['alternative']));
  });

  it('names its rules by their places', () => {
    const { results } = proposed(`  - any: [${NO}, { all: [${YES}, { any: [${NO}, ${YES}] }] }]\n`);
    expect(results.map(({ rule }) => rule)).toEqual([
      'any#1',
      'amount-limit#1.1',
      'amount-limit#1.2.1',
      'any#1.2.2',
      'amount-limit#1.2.2.1',
      'amount-limit#1.2.2.2',
    ]);
  });

  it('refuses with the reason of each alternative', () => {
    const { results } = proposed(`  - any: [${NO}, { all: [${YES}, ${NO}] }]\n`);
    expect(results[0]?.because).toBe(
      'no alternative holds: alternative 1: amount-limit#1.1: the amount 100 is above the maximum 1; ' +
        'alternative 2: amount-limit#1.2.2: the amount 100 is above the maximum 1',
    );
  });

  it('asks the store for nothing behind an alternative that passes, and for nothing of one that refuses', () => {
    expect(proposed(`  - any: [${YES}, ${CLAIM}]\n`).claims).toEqual([]);
    expect(proposed(`  - any: [{ all: [${CLAIM}, ${NO}] }, ${YES}]\n`).claims).toEqual([]);
  });

  it('leaves to the store what only it knows, in order', () => {
    const proposal = proposed(`  - any: [${NO}, ${CLAIM}, { all: [${YES}, ${ROOM}] }]\n`);
    expect(proposal).toMatchObject({ approves: true });
    expect(proposal.claims.map(({ type, decides, result }) => [type, decides, result])).toEqual([
      ['list', false, 2],
      ['window', false, 4],
    ]);
    expect(proposal.choices).toMatchObject([
      { result: 0, decides: true, alternatives: [{}, { requires: [0] }, { requires: [1] }] },
    ]);
    expect(proposalFromJson(JSON.parse(JSON.stringify(proposalToJson(proposal))))).toEqual(proposal);
  });

  it('that only observes decides nothing, whatever its alternatives do', () => {
    expect(proposed(`  - ${YES}\n  - any: [${NO}]\n    mode: observe\n`)).toMatchObject({ approves: true });
    const proposal = proposed(`  - ${YES}\n  - any: [${CLAIM}]\n    mode: observe\n`);
    expect(proposal.choices).toMatchObject([{ decides: false }]);
    expect(proposed(`  - any: [${YES}]\n    mode: observe\n`)).toMatchObject({ refusal: 'NO_POLICY' });
  });

  it('does not take an alternative whose conditions are not met, or not known', () => {
    const other = '{ pass: { because: x }, when: { userId: 1 } }';
    expect(proposed(`  - any: [${other}]\n`)).toMatchObject({ approves: false });
    const unknown = '{ pass: { because: x }, when: { value: { above: 1, maxAge: 1m } } }';
    expect(proposed(`  - any: [${unknown}]\n`)).toMatchObject({ approves: false, retryable: true });
    expect(proposed(`  - any: [${unknown}, ${YES}]\n`)).toMatchObject({ approves: true });
  });

  it('does not take `all` if none of its rules applies for certain', () => {
    const empty = '{ all: [{ pass: { because: x }, when: { userId: 1 } }] }';
    const { approves, results } = proposed(`  - any: [${empty}]\n`);
    expect(approves).toBe(false);
    expect(results[0]?.because).toContain('none of its rules applies for certain');
  });

  it('refuses for now if an alternative would pass at another time', () => {
    const atNight = '{ pass: { because: x }, when: { during: { zone: UTC, hours: 22:00-06:00 } } }';
    expect(proposed(`  - any: [${NO}, ${atNight}]\n`)).toMatchObject({ approves: false, retryable: true });
    expect(proposed(`  - any: [${NO}, ${atNight}]\n`, NOON + 11 * 3_600_000)).toMatchObject({
      approves: true,
    });
    expect(proposed(`  - any: [${NO}]\n`)).toMatchObject({ approves: false, retryable: false });
  });

  it('refuses for now if a rule of `all` would apply, and cover, at another time or price', () => {
    const when = (condition: string): string => `{ all: [{ pass: { because: x }, when: { ${condition} } }] }`;
    const atNight = when('during: { zone: UTC, hours: 22:00-06:00 }');
    expect(proposed(`  - any: [${NO}, ${atNight}]\n`)).toMatchObject({ approves: false, retryable: true });
    const priced = when('value: { above: 1, maxAge: 1m }');
    expect(proposed(`  - any: [${priced}]\n`)).toMatchObject({ approves: false, retryable: true });
    const other = when('userId: 1');
    expect(proposed(`  - any: [${other}]\n`)).toMatchObject({ approves: false, retryable: false });
  });

  it('that covers nothing now, and would at another time, is refused for now', () => {
    const lockOut = '{ lock-out: { after: 3, within: 1h, for: 1h } }';
    const atNight = '{ schedule: { zone: UTC, hours: 22:00-06:00 } }';
    const uncovered = { approves: false, refusal: 'NO_POLICY' };
    for (const rule of [`any: [${atNight}, ${lockOut}]`, `any: [{ any: [${atNight}, ${lockOut}] }]`]) {
      expect(proposed(`  - ${rule}\n`)).toMatchObject({ ...uncovered, retryable: true });
      expect(proposed(`  - ${rule}\n`, NOON + 11 * 3_600_000)).toMatchObject({ approves: true });
    }
    expect(proposed(`  - any: [{ all: [{ any: [${atNight}, ${lockOut}] }] }]\n`)).toMatchObject({
      approves: false,
      retryable: true,
    });
    expect(proposed(`  - any: [${NO}, ${lockOut}]\n`)).toMatchObject({ ...uncovered, retryable: false });
  });

  it('calls a choice retryable only if an alternative was refused by something that passes', () => {
    expect(proposed(`  - any: [${NO}, { all: [${CLAIM}, ${ROOM}] }]\n`).choices).toMatchObject([
      { retryable: false },
    ]);
    const atNight = '{ pass: { because: x }, when: { during: { zone: UTC, hours: 22:00-06:00 } } }';
    expect(proposed(`  - any: [${atNight}, ${CLAIM}]\n`).choices).toMatchObject([{ retryable: true }]);
  });

  it('asks the plugins of alternatives that may apply', () => {
    const yaml = policyOf(
      `  - any:
      - all:
          - ask: { service: risk }
        when: { userId: 1 }
      - ask: { service: treasury }
        when: { during: { zone: UTC, hours: 22:00-06:00 } }
`,
    );
    const questions = [...pluginQuestionsOf(release(yaml), payment()).values()];
    expect(questions.map(({ name }) => name)).toEqual(['treasury']);
  });
});

describe('all', () => {
  it('outside any is as its rules', () => {
    expect(proposed(`  - all: [${YES}, ${CLAIM}]\n`)).toMatchObject({
      approves: true,
      claims: [{ decides: true }],
      results: [
        { rule: 'amount-limit#1.1', mode: 'enforce' },
        { rule: 'allow-list#1.2', mode: 'enforce' },
      ],
    });
    expect(proposed(`  - all: [${YES}, ${NO}]\n`)).toMatchObject({ approves: false });
  });

  it('has conditions for all its rules', () => {
    const rules = (user: string): string => `  - ${YES}\n  - all: [${NO}]\n    when: { userId: ${user} }\n`;
    expect(proposed(rules('1'))).toMatchObject({ approves: true });
    expect(proposed(rules('12345'))).toMatchObject({ approves: false });
  });
});

describe('an explanation of alternatives', () => {
  const proposal = proposed(`  - any: [${CLAIM}, ${ROOM}, { all: [${YES}, ${CLAIM}] }]\n`);
  const anyOf = (claims: readonly ClaimResult[], code = 'APPROVED') =>
    explain(proposal, { code, claims }).rules[0];

  it('says which was taken', () => {
    expect(anyOf([LISTED, NOT_CHECKED, NOT_CHECKED])).toMatchObject({
      verdict: 'SUCCESS',
      because: 'alternative 1 holds: allow-list#1.1: userId 12345 is on the list vips',
    });
  });

  it('says why each earlier one did not hold', () => {
    expect(anyOf([NOT_LISTED, ROOMY, NOT_CHECKED])).toMatchObject({
      verdict: 'SUCCESS',
      because:
        'alternative 2 holds: window-limit#1.2: 0 used and 100 requested are within the limit of 1000 in ' +
        'day (UTC); not alternative 1: allow-list#1.1: userId 12345 is not on the list vips',
    });
  });

  it('says why none holds, and that any decides', () => {
    const explanation = explain(proposal, { code: 'RULE_REFUSED', claims: [NOT_LISTED, FULL, NOT_LISTED] });
    expect(explanation.deciding).toMatchObject({ policy: 'one', rule: 'any#1' });
    expect(explanation.because).toContain(
      'one/any#1 refuses: no alternative holds: alternative 1: allow-list#1.1',
    );
    expect(explanation.because).toContain('alternative 2: window-limit#1.2: 950 used and 100 requested');
    expect(explanation.because).toContain('alternative 3: allow-list#1.3.2');
  });

  it('never calls an alternative taken whose claims the store did not check', () => {
    expect(anyOf([], 'FROZEN')).toMatchObject({ verdict: 'FAILURE' });
    expect(anyOf([NOT_CHECKED, NOT_CHECKED, NOT_CHECKED])).toMatchObject({ verdict: 'FAILURE' });
  });

  it('names the rule by which an alternative fails, and not one that another alternative replaces', () => {
    const inner = `{ any: [${NO}, ${YES}] }`;
    const [first] = proposed(`  - any: [{ all: [${inner}, { amount-limit: { max: 2 } }] }]\n`).results;
    expect(first?.because).toContain('alternative 1: amount-limit#1.1.2: the amount 100 is above');
    const open = proposed(`  - any: [{ all: [${inner}, ${CLAIM}] }, ${ROOM}]\n`);
    const { rules } = explain(open, { code: 'APPROVED', claims: [NOT_LISTED, ROOMY] });
    expect(rules[0]?.because).toContain('; not alternative 1: allow-list#1.1.2: userId 12345 is not on');
  });

  it('names the rule that the evaluation refused, and not one that the store did not check for it', () => {
    const open = proposed(`  - any: [{ all: [${CLAIM}, ${NO}] }, ${ROOM}]\n`);
    const { rules } = explain(open, { code: 'APPROVED', claims: [ROOMY] });
    expect(rules[0]?.because).toContain('; not alternative 1: amount-limit#1.1.2: the amount 100 is above');
  });

  it('names no rule whose condition is not known as the one that holds or fails', () => {
    const unknown = `{ pass: { because: x }, when: { value: { above: 1, maxAge: 1m } } }`;
    const [taken] = proposed(`  - any: [{ all: [${unknown}, ${YES}] }]\n`).results;
    expect(taken?.because).toBe('alternative 1 holds: pass#1.1.1: x');
    const [refused] = proposed(`  - any: [{ all: [${unknown}, ${NO}] }]\n`).results;
    expect(refused?.because).toContain('alternative 1: amount-limit#1.1.2: the amount');
  });

  it('says that the store did not reach an inner any, even if one of its alternatives needs nothing', () => {
    const inner = `{ any: [${ROOM}, ${YES}] }`;
    const open = proposed(`  - any: [{ all: [${CLAIM}, ${inner}] }, ${YES}]\n`);
    const { rules } = explain(open, { code: 'APPROVED', claims: [NOT_LISTED, NOT_CHECKED] });
    expect(rules.find(({ rule }) => rule === 'any#1.1.2')).toMatchObject({
      verdict: 'FAILURE',
      because: 'the store did not check it: one of 2 alternatives must hold',
    });
    expect(rules[0]).toMatchObject({
      verdict: 'SUCCESS',
      because: expect.stringContaining('not alternative 1: allow-list#1.1.1: userId 12345 is not on'),
    });
  });

  it('counts any as one rule that enforces', () => {
    const { because } = explain(proposal, { code: 'APPROVED', claims: [LISTED, NOT_CHECKED, NOT_CHECKED] });
    expect(because).toBe('approved: the rule that enforces passes');
  });
});

describe('a fault in alternatives', () => {
  it.each([
    ['  - any: []\n', 'any has no rules'],
    ['  - any: x\n', 'any has no rules'],
    ['  - any: { amount-limit: { max: 1 } }\n', 'any has no rules'],
    ['  - all: []\n', 'all has no rules'],
    ['  - any: [x]\n', 'rules[0].any[0]: "x" is not a rule'],
    ['  - any: [{ amont-limit: { max: 1 } }]\n', 'there is no rule "amont-limit"'],
    ['  - any: [{ amount-limit: { max: 1 }, mode: observe }]\n', 'has no mode of its own'],
    [`  - any: [${YES}]\n    all: [${YES}]\n`, 'it names 2 rules'],
    [`  - any: [{ any: [{ any: [{ any: [{ any: [${YES}] }] }] }] }]\n`, 'more than 4 any and all'],
    ['  - any: [{ amount-limit: { max: x } }]\n', 'rules[0].any[0].amount-limit.max: "x" is not valid'],
    [`  - any: [${Array(101).fill(YES).join(', ')}]\n`, 'any has 101 rules'],
    [
      `  - any: [${Array(60).fill(YES).join(', ')}]\n  - any: [${Array(60).fill(YES).join(', ')}]\n`,
      '120 rules',
    ],
    [`  - any: [{ all: [${ROOM}, ${ROOM}] }]\n`, 'under the same counter as rule 1.1.1'],
    [`  - ${ROOM}\n  - any: [${ROOM}]\n`, 'under the same counter as rule 1'],
  ])('%j', (rules, message) => {
    const faults = faultsOf(policyOf(rules));
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.join('\n')).toContain(message);
  });

  it('limits of two alternatives that share a count without saying so get a warning', () => {
    const warningsOf = (one: string, other: string) => {
      const room = (more: string) => `{ window-limit: { max: 10, window: day, per: [userId]${more} } }`;
      const rules = `  - any: [{ all: [${CLAIM}, ${room(one)}] }, ${room(other)}]\n`;
      return release(policyOf(rules)).warnings.map(({ message, fix }) => `${message}; ${fix}`);
    };
    expect(warningsOf('', '')).toEqual([
      expect.stringMatching(
        /^it shares one count with rule 1\.1\.2, .* less room in the other; write the same counter/,
      ),
    ]);
    expect(warningsOf(', counter: daily', ', counter: daily')).toEqual([]);
    expect(warningsOf(', counter: listed', ', counter: others')).toEqual([]);
  });

  it('two alternatives may count in one counter, for only one of them reserves', () => {
    const other = '{ window-limit: { max: 10, window: day, per: [userId] } }';
    expect(faultsOf(policyOf(`  - any: [{ all: [${CLAIM}, ${ROOM}] }, ${other}]\n`))).toEqual([]);
  });
});
