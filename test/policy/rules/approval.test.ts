import { describe, expect, it } from 'vitest';
import { compileRelease, readPolicyFiles } from '../../../src/policy/compile.ts';
import { approvalRulesOf } from '../../../src/policy/evaluate.ts';
import { explain } from '../../../src/policy/explain.ts';
import { type PeoplesApproval, factsAt } from '../../../src/policy/facts.ts';
import { formatFault } from '../../../src/policy/fault.ts';
import { proposalFromJson, proposalToJson } from '../../../src/policy/proposal.ts';
import type { Release } from '../../../src/policy/release.ts';
import { string, strings, tablesOf } from '../../cases.ts';
import { NOON, evaluateAt, onePolicy, payment } from '../callbacks.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const PEOPLE = `people:
  ada: { roles: [approve] }
  ben: { roles: [approve] }
  cleo: { roles: [approve] }
  dan: { roles: [operate] }
groups:
  treasury: [ada, ben, cleo]
  board: [cleo]
`;

function compiled(policies: string, people: string | undefined = PEOPLE) {
  const files = [{ name: 'a.yaml', text: policies }];
  if (people !== undefined) files.push({ name: 'people.yaml', text: people });
  return readPolicyFiles(files, () => undefined);
}

function releaseOf(policies: string): Release {
  const result = compiled(policies);
  if (!result.ok) throw new Error(result.faults.map(formatFault).join('\n'));
  return result.release;
}

const faultsOf = (rule: string, people?: string): readonly string[] => {
  const result = compiled(onePolicy(rule), people);
  return result.ok ? [] : result.faults.map(formatFault);
};

const TWO = 'approval: { by: treasury, quorum: 2, within: 24h }';
const given = (approvers: readonly string[], over: Partial<PeoplesApproval> = {}): PeoplesApproval => ({
  id: 'payment:o-1',
  version: 3,
  approvers,
  createdAtMs: NOON - 1,
  expiresAtMs: NOON + 1,
  because: '',
  ...over,
});

const judged = (entry: string, approval?: PeoplesApproval, nowMs = NOON) =>
  evaluateAt(releaseOf(onePolicy(entry)), payment(), nowMs, { approval });

/** The claim of which no request has the version. */
const LACKING = {
  type: 'approval',
  id: 'payment:o-1',
  version: undefined,
  result: 0,
  decides: true,
  retryable: true,
  failed: true,
};

const rowsOf = tablesOf(new URL('cases/approval.yaml', import.meta.url));

describe('approval', () => {
  it.each(rowsOf('refused', strings, string))('by %s is not enough', (approvers, because) => {
    const proposal = judged(TWO, given(approvers));
    expect(proposal.claims).toEqual([LACKING]);
    expect(proposal.results).toMatchObject([{ verdict: 'claim', because }]);
  });

  const ENOUGH = given(['ada', 'ben'], { createdAtMs: NOON, expiresAtMs: NOON + 9 * DAY_MS });
  it.each<[string, PeoplesApproval | undefined, string, number]>([
    ['nobody was asked', undefined, '0 of 2 of treasury approved it', NOON],
    ['it was rejected', { ...ENOUGH, because: 'ben has rejected it' }, 'ben has rejected it', NOON],
    ['the request expires now', { ...ENOUGH, expiresAtMs: NOON }, 'what was approved has expired', NOON],
    ['it expires at no time', { ...ENOUGH, expiresAtMs: Number.NaN }, 'what was approved has expired', NOON],
    ['the time of the rule is over, and not that of the request', ENOUGH, 'has expired', NOON + DAY_MS],
    [
      'the request is of the future',
      { ...ENOUGH, createdAtMs: NOON + HOUR_MS + 1 },
      'asked in the future',
      NOON,
    ],
  ])('awaits approval if %s', (_, approval, because, nowMs) => {
    const proposal = judged(TWO, approval, nowMs);
    expect(proposal.claims).toEqual([LACKING]);
    expect(proposal.results).toMatchObject([{ verdict: 'claim', because: expect.stringContaining(because) }]);
  });

  it('claims that the request has not changed, as long as the time of the rule is not over', () => {
    expect(judged(TWO, ENOUGH)).toMatchObject({ approves: true, validUntilMs: NOON + DAY_MS });
    expect(judged(TWO, ENOUGH, NOON + DAY_MS - 1)).toMatchObject({
      approves: true,
      validUntilMs: NOON + DAY_MS,
    });
    expect(judged(TWO, { ...ENOUGH, expiresAtMs: NOON + 1 })).toMatchObject({ validUntilMs: NOON + 1 });
  });

  it.each(rowsOf('claimed', strings, string))('by %s is enough', (approvers, names) => {
    const proposal = judged(TWO, given(approvers));
    expect(proposal).toMatchObject({ approves: true, validUntilMs: NOON + 1 });
    expect(proposal.results).toMatchObject([
      { verdict: 'claim', values: { group: 'treasury', quorum: '2', approvers: names } },
    ]);
    expect(proposal.claims).toEqual([{ ...LACKING, version: 3 }]);
  });

  it.each(rowsOf('faults', string, string))('%s is a fault', (parameters, because) => {
    expect(faultsOf(`approval: ${parameters}`)).toEqual([expect.stringContaining(because)]);
  });

  it('needs people.yaml, and names it', () => {
    expect(compiled(onePolicy(TWO), '')).toMatchObject({ ok: false });
    const files = [{ name: 'a.yaml', text: onePolicy(TWO) }];
    const result = readPolicyFiles(files, () => undefined);
    expect(result.ok ? [] : result.faults).toMatchObject([
      {
        file: 'a.yaml',
        line: 4,
        message: 'people.yaml has no group "treasury"',
        fix: expect.stringContaining('write people.yaml beside the policies'),
      },
    ]);
  });

  it('takes a bound of every size that is valid', () => {
    expect(faultsOf('approval: { by: treasury, quorum: 3, within: 30d }')).toEqual([]);
    expect(faultsOf('approval: { by: board, quorum: 1, within: 1s, wait: 1s }')).toEqual([]);
    expect(faultsOf('approval: { by: board, quorum: 1, within: 1s, wait: 1m }')).toEqual([]);
  });

  it('is judged by the people of its own revision', () => {
    const before = releaseOf(onePolicy(TWO));
    const smaller = compiled(onePolicy(TWO), PEOPLE.replace('[ada, ben, cleo]', '[ada, cleo]'));
    if (!smaller.ok) throw new Error('the policies are wrong');
    const stored = compileRelease(smaller.release.document);
    if (!stored.ok) throw new Error('the stored policies are wrong');
    expect(smaller.release.revision).not.toBe(before.revision);
    const facts = { approval: given(['ada', 'ben']) };
    expect(evaluateAt(before, payment(), NOON, facts).claims).toEqual([{ ...LACKING, version: 3 }]);
    for (const release of [smaller.release, stored.release]) {
      expect(evaluateAt(release, payment(), NOON, facts).claims).toEqual([LACKING]);
    }
  });

  it('claims the request of the callback, whatever was given', () => {
    const { claims } = judged(TWO, given(['ada', 'ben'], { id: 'payment:o-2' }));
    expect(claims).toEqual([{ ...LACKING, version: 3 }]);
    // The journal keeps that too few have approved.
    const read = proposalFromJson(JSON.parse(JSON.stringify(proposalToJson(judged(TWO)))));
    expect(read.claims).toMatchObject([{ type: 'approval', id: 'payment:o-1' }]);
    expect(read.claims[0]).not.toHaveProperty('version');
  });

  it('covers what it approves, alone', () => {
    expect(judged(TWO, given(['ada', 'ben'])).approves).toBe(true);
    expect(judged(`{ ${TWO}, mode: observe }`, given(['ada', 'ben']))).toMatchObject({
      refusal: 'NO_POLICY',
    });
  });

  it('is not the rule that decides if another one refuses as well', () => {
    const missing = { type: 'approval', holds: false, approval: 'missing' } as const;
    const both = `all: [{ ${TWO} }, amount-limit: { max: 1 }]`;
    const proposal = evaluateAt(releaseOf(onePolicy(both)), payment(), NOON);
    const deciding = { rule: 'amount-limit#1.2' };
    expect(explain(proposal, { code: 'RULE_REFUSED', claims: [missing] })).toMatchObject({
      deciding,
      next: { rule: 'approval#1.1' },
    });
    expect(explain(judged(TWO), { code: 'AWAITING_APPROVAL', claims: [missing] })).toMatchObject({
      deciding: { rule: 'approval#1' },
      because: 'one/approval#1 refuses: 0 of 2 of treasury approved it',
    });
  });

  it('is not the rule that decides if a claim of another one fails', () => {
    const both = `all: [{ ${TWO} }, velocity-limit: { window: 1h, max: 1 }]`;
    const used = { type: 'window', holds: false, reserved: 0n, used: 0n } as const;
    const changed = { type: 'approval', holds: false, approval: 'changed' } as const;
    for (const proposal of [judged(both), judged(both, given(['ada', 'ben']))]) {
      expect(explain(proposal, { code: 'RULE_REFUSED', claims: [changed, used] })).toMatchObject({
        deciding: { rule: 'velocity-limit#1.2' },
        next: { rule: 'approval#1.1' },
      });
    }
    const awaiting = { code: 'AWAITING_APPROVAL', claims: [changed, { ...used, holds: true }] };
    const deciding = (because: string) => ({
      rule: 'approval#1.1',
      because: expect.stringContaining(because),
    });
    expect(explain(judged(both, given(['ada', 'ben'])), awaiting)).toMatchObject({
      deciding: deciding('was changed while'),
    });
    expect(explain(judged(both, given(['ada'])), awaiting)).toMatchObject({
      deciding: deciding('1 of 2 of treasury approved it (ada)'),
    });
  });

  it('says who is asked about a callback: those of each enforcing rule that may apply', () => {
    const release = releaseOf(`policy: large
callback: payment
when: { source: shop }
rules:
  - { ${TWO}, when: { amount: { above: 50 } } }
  - any: [{ approval: { by: board, quorum: 1, within: 1h, wait: 20s } }, amount-limit: { max: 1 }]
  - { ${TWO}, mode: observe }
`);
    expect(release.asksPeople).toBe(true);
    expect(releaseOf(onePolicy('amount-limit: { max: 1 }')).asksPeople).toBe(false);
    const board = {
      policy: 'large',
      rule: 'approval#2.1',
      group: 'board',
      quorum: 1,
      withinMs: 3_600_000,
      waitMs: 20_000,
    };
    const treasury = {
      policy: 'large',
      rule: 'approval#1',
      group: 'treasury',
      quorum: 2,
      withinMs: 86_400_000,
      waitMs: 0,
    };
    expect(approvalRulesOf(release, payment(), factsAt(NOON))).toEqual([treasury, board]);
    expect(approvalRulesOf(release, payment({ orderAmount: '50' }), factsAt(NOON))).toEqual([board]);
    expect(approvalRulesOf(release, payment({}, 'kiosk'), factsAt(NOON))).toEqual([]);
    expect(approvalRulesOf(undefined, payment(), factsAt(NOON))).toEqual([]);
  });
});
