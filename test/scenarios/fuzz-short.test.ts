import { describe, expect, it, onTestFinished } from 'vitest';
import { openOverHttp } from '../../tools/fuzz/over-http.ts';
import { reportText } from '../../tools/fuzz/report.ts';
import { run } from '../../tools/fuzz/run.ts';
import type { Tally } from '../../tools/fuzz/tally.ts';

/*
 * The first callbacks of what `npm run fuzz` sends by the million. A finding's text says what repeats it.
 */

const COUNT = 10_000;
const SEED = 1;
const MINUTE_MS = 60_000;

describe(`of ${COUNT} mutated callbacks`, { timeout: 4 * MINUTE_MS }, () => {
  it('each has one answer in time, and SUCCESS only those that a second reading lets pass', async () => {
    const http = await openOverHttp();
    onTestFinished(() => http.close());
    const tally = await run({
      seed: SEED,
      firstRound: 0,
      count: COUNT,
      untilMs: Infinity,
      http,
      onProgress: () => undefined,
    });
    const { wrong, refused, answered, overHttp } = tally;
    // The text says what was found, and the seed and round that repeat it.
    if (wrong.size + refused.size > 0) throw new Error(reportText(tally, SEED, 0));
    expect(answered).toBe(COUNT);
    expect(overHttp).toBeGreaterThan(COUNT / 50);
    expect(unseen(tally)).toEqual([]);
    expect(tally.mutations.get('people: a SUCCESS by their approval')).toBeGreaterThan(COUNT / 500);
  });
});

/** Outcomes that so many callbacks must have led to, or they do not reach far enough. */
function unseen({ codes }: Tally): readonly string[] {
  const expected = [
    'APPROVED',
    'NOTED',
    'SELF_CHECK',
    'RULE_REFUSED',
    'AWAITING_APPROVAL',
    'TERMS_CHANGED',
    'SIGNED_WITHOUT_APPROVAL',
    'NOT_JSON',
    'NOT_UTF8',
    'NOT_AN_OBJECT',
    'TOO_DEEP',
    'TOO_MANY_MEMBERS',
    'NUMBER_TOO_LONG',
    'DUPLICATE_MEMBER',
    'BODY_TOO_LARGE',
    'SOURCE_UNKNOWN',
    'SCHEME_NOT_ALLOWED',
    'SIGN_MISSING',
    'SIGN_MALFORMED',
    'SIGN_WRONG',
    'SIGN_AMBIGUOUS',
    'ENVELOPE_MALFORMED',
    'ENVELOPE_UNDECIPHERABLE',
    'HEADER_WRONG',
    'PATH_WRONG',
    'ADDRESS_NOT_ALLOWED',
    'MEMBER_MISSING',
    'MEMBER_INVALID',
    'MEMBER_UNKNOWN',
    'KIND_UNEXPECTED',
    'OUTPUTS_INVALID',
  ];
  return expected.filter((code) => !codes.has(code));
}
