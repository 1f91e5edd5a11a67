import { describe, expect, it } from 'vitest';
import { readPolicyFiles } from '../../../src/policy/compile.ts';
import { evaluate } from '../../../src/policy/evaluate.ts';
import { type PeoplesApproval, factsAt } from '../../../src/policy/facts.ts';
import { formatFault } from '../../../src/policy/fault.ts';
import { NOON, transfer } from '../callbacks.ts';

const HOUR_MS = 3_600_000;
const PEOPLE =
  'people: { ada: { roles: [approve] }, ben: { roles: [approve] } }\ngroups: { treasury: [ada, ben] }\n';

function compiled(parameters: string, people: string | undefined = PEOPLE) {
  const policy = `policy: p\ncallback: transfer\nrules:\n  - approval: { ${parameters} }\n`;
  const files = [{ name: 'p.yaml', text: policy }];
  return readPolicyFiles(
    people === '' ? files : [...files, { name: 'people.yaml', text: people }],
    () => undefined,
  );
}

const GIVEN: PeoplesApproval = {
  id: 'transfer:r-1',
  version: 3,
  approvers: ['ada', 'ben'],
  createdAtMs: NOON,
  expiresAtMs: NOON + 9 * HOUR_MS,
  because: '',
};

describe('approval', () => {
  it.each([
    ['by: tresury, quorum: 1, within: 1h', PEOPLE, 'no group "tresury"; did you mean treasury?'],
    ['by: treasury, quorum: 3, within: 1h', PEOPLE, 'has 2 members, fewer than 3'],
    ['by: treasury, quorum: 0, within: 1h', PEOPLE, 'quorum'],
    ['by: treasury, quorum: 1, within: 31d', PEOPLE, 'within'],
    ['by: treasury, quorum: 1, within: 1h', '', 'has no group "treasury"'],
  ])('{ %s } is a fault of the policy', (parameters, people, because) => {
    const found = compiled(parameters, people);
    expect(found.ok ? '' : found.faults.map(formatFault).join('\n')).toContain(because);
  });

  const proposed = (given: Partial<PeoplesApproval> | undefined, nowMs = NOON) => {
    const found = compiled('by: treasury, quorum: 2, within: 1h');
    if (!found.ok) throw new Error('it has faults');
    const approval = given && { ...GIVEN, ...given };
    return evaluate(found.release, transfer(), factsAt(nowMs, { approval }));
  };

  it('claims that the request has not changed, as long as the time of the rule is not over', () => {
    const proposal = proposed({});
    expect(proposal).toMatchObject({ approves: true, validUntilMs: NOON + HOUR_MS });
    expect(proposal.claims).toMatchObject([{ type: 'approval', id: 'transfer:r-1', version: 3 }]);
    expect(proposed({ expiresAtMs: NOON + 1 })).toMatchObject({ approves: true, validUntilMs: NOON + 1 });
    expect(proposed({}, NOON + HOUR_MS - 1).approves).toBe(true);
  });

  it.each<[string, Partial<PeoplesApproval> | undefined, number?]>([
    ['nobody was asked', undefined],
    ['nobody has approved', { approvers: [] }],
    ['too few have', { approvers: ['ben'] }],
    ['others have', { approvers: ['ada', 'cleo', 'dan'] }],
    ['the request has expired', { expiresAtMs: NOON }],
    ['the time of the rule is over, and not that of the request', {}, NOON + HOUR_MS],
    ['the request is of the future', { createdAtMs: NOON + HOUR_MS + 1 }],
    ['it says why none counts', { because: 'ada has rejected it: unknown' }],
  ])('awaits approval if %s', (_, given, nowMs) => {
    expect(proposed(given, nowMs)).toMatchObject({
      approves: false,
      awaits: true,
      retryable: true,
      claims: [],
    });
  });
});
