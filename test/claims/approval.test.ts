import { describe, expect, it } from 'vitest';
import {
  type ClaimResult,
  claimResults,
  claimSchema,
  claimToJson,
  explainClaim,
  resultToJson,
} from '../../src/claims/claims.ts';
import { amountText } from '../../src/claims/kind.ts';
import { readResults, storedResults } from '../../src/claims/stored.ts';
import { approvalClaim, orderClaim } from '../store/requests.ts';

const FOUND = ['current', 'missing', 'used', 'changed'] as const;
const results = FOUND.map((approval): ClaimResult => ({
  type: 'approval',
  holds: approval === 'current',
  approval,
}));
const ORIGIN = { because: 'ada and bob have to approve it', values: {}, address: undefined };

describe('an approval claim', () => {
  it.each([
    ['current', 'ada and bob have to approve it'],
    [
      'missing',
      'the approval request transfer:REQ-1 no longer exists; have the callback sent again, and people asked',
    ],
    [
      'used',
      'the approval request transfer:REQ-1 was used before, for another operation or by an approval that is no ' +
        'longer kept; send the operation under a new id',
    ],
    [
      'changed',
      'the approval request transfer:REQ-1 was changed while the callback was decided; a repeat is decided by ' +
        'what it says now',
    ],
  ] as const)('explains what was found: %s', (approval, because) => {
    const found: ClaimResult = { type: 'approval', holds: approval === 'current', approval };
    expect(explainClaim(approvalClaim('transfer:REQ-1', 3), found, ORIGIN)).toBe(because);
    // Of one that lacks approval, the rule says so, as long as people can still give it.
    const lacking = explainClaim(approvalClaim('transfer:REQ-1', undefined), found, ORIGIN);
    expect(lacking).toBe(approval === 'used' ? because : 'ada and bob have to approve it');
  });

  it('takes no answer to another claim for its own', () => {
    const order: ClaimResult = { type: 'order', holds: true, order: 'agrees', differs: [] };
    const [current] = results;
    expect(explainClaim(approvalClaim('r1', 3), order, ORIGIN)).toContain('does not fit the claim');
    if (current === undefined) throw new Error('no result');
    expect(explainClaim(orderClaim(), current, ORIGIN)).toContain('does not fit the claim');
  });

  it('is read from the journal as it was written', () => {
    for (const claim of [approvalClaim('web3:é "1', 7), approvalClaim('r', 1, { decides: false })]) {
      expect(claimSchema.parse(JSON.parse(JSON.stringify(claimToJson(claim))))).toEqual(claim);
    }
    const { id: _unused, ...withoutId } = approvalClaim('r1', 1);
    for (const wrong of [
      withoutId,
      { ...approvalClaim('r1', 1), version: '1' },
      { ...approvalClaim('r1', 1), by: '' },
    ])
      expect(claimSchema.safeParse(wrong).success).toBe(false);
  });
});

describe('the result of an approval claim', () => {
  it('is read from the store, and from an export, as it was written', () => {
    expect(storedResults(results)).toBe('["p 1 current","p 0 missing","p 0 used","p 0 changed"]');
    expect(readResults(storedResults(results))).toEqual(results);
    const exported: unknown = JSON.parse(JSON.stringify(results.map(resultToJson)));
    expect(claimResults(amountText).parse(exported)).toEqual(results);
  });

  it.each([
    'p',
    'p 1',
    'p 2 current',
    'p 1 ',
    'p 1 agrees',
    'p 1 Current',
    'p 1 current more',
    'P 1 current',
  ])('is nothing else: %j', (written) => {
    expect(readResults(JSON.stringify([written]))).toBeUndefined();
  });
});
