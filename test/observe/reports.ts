import { Writable } from 'node:stream';
import { z } from 'zod';
import type { CallbackReport } from '../../src/observe/report.ts';

export const APPROVED: CallbackReport = {
  requestId: 'r-1',
  address: '10.1.2.3',
  source: 'shop',
  unverified: undefined,
  kind: 'payment',
  subject: 'payment:11321',
  question: 'payment',
  authenticatedBy: 'md5 shared 0f3c',
  verdict: 'SUCCESS',
  outcome: 'decided',
  code: 'APPROVED',
  because: 'all rules pass',
  rule: 'usdt-payments/amount-limit#1',
  revision: 'a'.repeat(64),
  decision: '17-0',
  alarm: false,
  data: {},
  stepsMs: { decode: 0.1, authenticate: 0.2, parse: 0.05, evaluate: 0.15, settle: 1.5 },
  totalMs: 2.0004,
};

/** As the pipeline reports a sender that could not show who it is. */
export const STRANGER: CallbackReport = {
  ...APPROVED,
  source: undefined,
  unverified: { source: 'shop', appKey: 'key-of-shop', order: '11321' },
  kind: undefined,
  subject: undefined,
  question: undefined,
  authenticatedBy: undefined,
  verdict: 'FAILURE',
  outcome: 'unauthenticated',
  code: 'SIGN_WRONG',
  because: 'the sign does not verify',
  rule: undefined,
  revision: undefined,
  decision: undefined,
  stepsMs: { decode: 0.1, authenticate: 0.2 },
};

export interface Lines {
  readonly stream: Writable;
  readonly text: () => string;
  readonly lines: () => readonly Readonly<Record<string, unknown>>[];
}

/** A stream that keeps what is written to it. */
export function createLines(): Lines {
  let text = '';
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  return {
    stream,
    text: () => text,
    lines: () =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => z.record(z.string(), z.unknown()).parse(JSON.parse(line))),
  };
}
