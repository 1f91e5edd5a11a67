import { describe, expect, it } from 'vitest';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { approvalRulesOf } from '../../src/policy/evaluate.ts';
import { type PeoplesApproval, factsAt } from '../../src/policy/facts.ts';
import { formatFault } from '../../src/policy/fault.ts';
import { proposalFromJson, proposalToJson } from '../../src/policy/proposal.ts';
import type { Release } from '../../src/policy/release.ts';
import { peopleText } from '../release/signing.ts';
import { NOON, evaluateAt, onePolicy, payment } from './callbacks.ts';

const DAY_MS = 86_400_000;
const people = (approving: readonly string[], more = ''): string =>
  `${peopleText(approving, '[approve]')}${peopleText(['dan']).replace('people:\n', '')}${more}`;
const PEOPLE = people(['ada', 'ben', 'cleo']);

function releaseOf(policies: string, yaml: string | undefined = PEOPLE): Release {
  const files = [{ name: 'a.yaml', text: policies }];
  if (yaml !== '') files.push({ name: 'people.yaml', text: yaml });
  const result = readPolicyFiles(files, () => undefined);
  if (!result.ok) throw new Error(result.faults.map(formatFault).join('\n'));
  return result.release;
}

const PASSES = onePolicy('amount-limit: { max: 1000 }');
const given = (approvers: readonly string[], over: Partial<PeoplesApproval> = {}): PeoplesApproval => ({
  id: 'payment:o-1',
  version: 3,
  approvers,
  createdAtMs: NOON - DAY_MS,
  expiresAtMs: NOON + 1,
  because: '',
  ...over,
});

const judged = (release: Release | undefined, approval?: PeoplesApproval, onlyApproved = true) =>
  evaluateAt(release, payment(), NOON, { approval, onlyApproved });

describe('while only what people approve may pass', () => {
  it.each<[string, PeoplesApproval | undefined, string]>([
    ['nobody was asked', undefined, '0 of 2'],
    ['nobody has approved', given([]), '0 of 2'],
    ['one has', given(['ada']), '1 of 2 of those with the role approve approved it (ada)'],
    ['one is counted twice', given(['ada', 'ada']), '1 of 2'],
    ['the other lacks the role', given(['ada', 'dan']), '1 of 2'],
    ['the other is unknown', given(['ada', 'mallory']), '1 of 2'],
    ['it was rejected', given(['ada', 'ben'], { because: 'cleo has rejected it' }), 'cleo has rejected it'],
    ['it has expired', given(['ada', 'ben'], { expiresAtMs: NOON }), 'has expired'],
    [
      'it was asked long ago',
      given(['ada', 'ben'], { createdAtMs: NOON - 30 * DAY_MS, expiresAtMs: NOON + DAY_MS }),
      'has expired',
    ],
    ['it was asked in the future', given(['ada', 'ben'], { createdAtMs: NOON + DAY_MS }), 'in the future'],
  ])('nothing passes if %s', (_, approval, because) => {
    const proposal = judged(releaseOf(PASSES), approval);
    // No store finds a request without a version.
    expect(proposal).toMatchObject({ onlyApproved: true, claims: [{ type: 'approval', id: 'payment:o-1' }] });
    expect(proposal.claims[0]).not.toHaveProperty('version', expect.anything());
    expect(proposal.results.at(-1)).toMatchObject({
      policy: 'freeze',
      rule: 'approval#1',
      mode: 'enforce',
      verdict: 'claim',
      because: expect.stringContaining(because) as string,
    });
    // Nothing of it counts without the freeze.
    expect(judged(releaseOf(PASSES), approval, false)).toMatchObject({ approves: true, claims: [] });
  });

  it('two pass it, if the store finds that nothing has changed since, until the request expires', () => {
    const proposal = judged(releaseOf(PASSES), given(['ada', 'cleo']));
    expect(proposal).toMatchObject({
      approves: true,
      onlyApproved: true,
      claims: [{ type: 'approval', id: 'payment:o-1', version: 3, decides: true, retryable: true }],
      validUntilMs: NOON + 1,
    });
    expect(proposalFromJson(JSON.parse(JSON.stringify(proposalToJson(proposal))))).toEqual(proposal);
  });

  it('covers nothing, and no policy is in force by it', () => {
    for (const approval of [undefined, given(['ada', 'ben'])]) {
      const none = releaseOf(onePolicy('amount-limit: { max: 1000 }', 'transfer'));
      expect(judged(none, approval)).toMatchObject({
        approves: false,
        refusal: 'NO_POLICY',
        results: [],
        onlyApproved: true,
      });
      const observing = releaseOf(onePolicy('amount-limit: { max: 1000 }\n    mode: observe'));
      expect(judged(observing, approval)).toMatchObject({ approves: false, refusal: 'NO_POLICY' });
      expect(judged(undefined, approval)).toMatchObject({
        approves: false,
        refusal: 'NOTHING_IN_FORCE',
        onlyApproved: true,
      });
    }
  });

  it('what another rule refuses stays refused, and waits for nobody', () => {
    const release = releaseOf(onePolicy('amount-limit: { max: 1 }'));
    for (const approval of [undefined, given(['ada', 'ben'])]) {
      const proposal = judged(release, approval);
      expect(proposal).toMatchObject({ approves: false, retryable: false });
    }
  });

  it.each([
    ['nobody', ''],
    ['one', people(['ada'])],
    ['one with a key', `${people(['ada'])}  ben: { roles: [approve] }\n`],
  ])('with %s who could, it says what to do, until a push or the end of the freeze', (_, yaml) => {
    const release = releaseOf(PASSES, yaml);
    const proposal = judged(release, given(['ada', 'ben']));
    expect(proposal).toMatchObject({ approves: false, retryable: true, failed: true });
    expect(proposal.results.at(-1)?.because).toContain('push policies with more of them, or lift the freeze');
    expect(approvalRulesOf(release, payment(), factsAt(NOON, { onlyApproved: true }))).toEqual([]);
  });

  it('its people are asked beside those of the policies, and for a day', () => {
    const groups = 'groups: { treasury: [ada, ben] }\n';
    const rules =
      'any: [{ amount-limit: { max: 1 } }, { approval: { by: treasury, quorum: 1, within: 1h } }]';
    const release = releaseOf(onePolicy(rules), people(['ada', 'ben'], groups));
    const needs = approvalRulesOf(release, payment(), factsAt(NOON, { onlyApproved: true }));
    expect(needs).toMatchObject([
      { group: 'treasury', quorum: 1 },
      { policy: 'freeze', rule: 'approval#1', quorum: 2, withinMs: DAY_MS },
    ]);
    expect(approvalRulesOf(release, payment(), factsAt(NOON))).toHaveLength(1);
    const alone = approvalRulesOf(releaseOf(PASSES), payment(), factsAt(NOON, { onlyApproved: true }));
    expect(alone).toMatchObject([{ policy: 'freeze' }]);
    expect(approvalRulesOf(releaseOf(PASSES), payment(), factsAt(NOON))).toEqual([]);
  });
});
