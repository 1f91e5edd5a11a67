import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/store/store.ts';
import { INVARIANTS, audit } from '../../../tools/chaos/auditor.ts';
import type { Act, Exchange, History, Planned } from '../../../tools/chaos/history.ts';

/*
 * A small run in which all is right, and forgeries of it, each of which breaks one promise: the auditor must
 * object to just that.
 */

const UNIT = 10n ** 36n;
const REVISION = 'a'.repeat(64);
const NEXT = 'b'.repeat(64);
const limits = { tight: { max: 100n * UNIT, lengthMs: 5000 } };

function planned(id: string, more: Partial<Planned> = {}): Planned {
  const terms = more.terms ?? '60';
  return {
    story: 'payment',
    source: 'shop',
    path: '/pay',
    headers: {},
    body: `{"id":"${id}","terms":"${terms}"}`,
    authentic: true,
    approvable: true,
    plain: false,
    subject: `payment:${id}`,
    terms,
    question: 'payment',
    listed: `user-${id}`,
    charges: [],
    ...more,
  };
}

const charge = (amount: bigint): Planned['charges'] => [{ counter: 'user 1', limit: 'tight', amount }];

/** Sent at `atMs`, answered 10 ms later. */
const sent = (callback: Planned, atMs: number, more: Partial<Exchange> = {}): Exchange => ({
  callback,
  receiver: 'one',
  sentAtMs: atMs,
  endedAtMs: atMs + 10,
  tookMs: 10,
  answer: 'SUCCESS',
  ...more,
});

let ids = 0;
const entry = (callback: Planned, atMs: number, more: Partial<JournalEntry> = {}): JournalEntry => ({
  id: `${ids++}`,
  source: callback.source,
  atMs,
  type: callback.question === 'sign_success' ? 'notice' : 'decision',
  subject: callback.subject,
  verdict: 'SUCCESS',
  code: 'APPROVED',
  revision: callback.question === 'sign_success' ? '' : REVISION,
  of: '',
  claims: [],
  detail: JSON.stringify({ body: callback.body }),
  ...more,
});

const act = (type: 'freeze' | 'unfreeze' | 'loss', atMs: number, certain = true): Act => ({
  type,
  begunAtMs: atMs,
  endedAtMs: atMs + 5,
  certain,
});
const push = (revision: string, atMs: number, certain = true): Act => ({
  type: 'push',
  revision,
  limits,
  begunAtMs: atMs,
  endedAtMs: atMs + 5,
  certain,
});
const listed = (change: 'add' | 'remove', value: string, atMs: number, certain = true): Act => ({
  type: 'list',
  source: 'shop',
  value,
  change,
  begunAtMs: atMs,
  endedAtMs: atMs + 5,
  certain,
});

const plain = planned('plain', { plain: true });
const first = planned('first', { charges: charge(60n * UNIT) });
const second = planned('second', { terms: '40', charges: charge(40n * UNIT) });
const other = planned('first', { terms: '61', approvable: true });
const stranger = planned('stranger', { authentic: false });
const tooMuch = planned('too-much', { approvable: false });
const start = planned('w', {
  source: 'vault',
  subject: 'transfer:w',
  question: 'sign_start',
  body: '{"w":1}',
});
const signed = { ...start, question: 'sign_success' as const, body: '{"w":2}' };
const blocked = planned('blocked');

/** Of a withdrawal: what it sends of a limit of 100. */
const withdrawal = (id: string, question: 'sign_prepare' | 'sign_start', amount: bigint): Planned => ({
  ...start,
  subject: `transfer:${id}`,
  question,
  body: `{"id":"${id}","question":"${question}"}`,
  charges: [{ counter: 'from 1', limit: 'tight', amount: amount * UNIT }],
});
/** A question, a later one about the same, and another withdrawal, when only the later one is in the window. */
function laterQuestion(othersAmount: bigint): Parts {
  const asked: readonly (readonly [Planned, number])[] = [
    [withdrawal('later', 'sign_prepare', 60n), 4000],
    [withdrawal('later', 'sign_start', 60n), 8000],
    [withdrawal('other', 'sign_start', othersAmount), 10_000],
  ];
  return {
    exchanges: asked.map(([callback, atMs]) => sent(callback, atMs)),
    vault: asked.map(([callback, atMs]) => entry(callback, atMs + 5)),
  };
}

interface Parts extends Partial<Omit<History, 'exchanges' | 'journal'>> {
  readonly exchanges?: readonly Exchange[];
  readonly shop?: readonly JournalEntry[];
  readonly vault?: readonly JournalEntry[];
}

/** The run in which all is right, with more of what happened, or with something else in its place. */
function run({ exchanges = [], shop = [], vault = [], ...more }: Parts = {}): History {
  return {
    exchanges: [
      sent(plain, 1000),
      sent(first, 1100),
      sent(first, 1200),
      sent(second, 1300),
      sent(other, 1400, { answer: 'FAILURE' }),
      sent(stranger, 1500, { answer: 'FAILURE' }),
      sent(tooMuch, 1600, { answer: 'FAILURE' }),
      sent(start, 1700),
      sent(signed, 1800),
      sent(blocked, 2030, { answer: 'FAILURE' }),
      sent(planned('while-frozen'), 3020, { answer: 'FAILURE' }),
      sent(planned('lost'), 3210, { answer: undefined, receiver: 'two' }),
      ...exchanges,
    ],
    acts: [
      push(REVISION, 500),
      listed('add', 'user-blocked', 2000),
      listed('remove', 'user-blocked', 2100),
      act('freeze', 3000),
      act('unfreeze', 3100),
    ],
    outages: [{ receiver: 'two', fromMs: 3200, untilMs: 3300 }],
    recoveries: [{ fault: 'killed', receiver: 'two', tookMs: 100 }],
    calm: [{ fromMs: 900, untilMs: 2900 }],
    journal: new Map([
      [
        'shop',
        [
          entry(plain, 1005),
          entry(first, 1105),
          entry(first, 1205, { type: 'repeat' }),
          entry(second, 1305),
          entry(other, 1405, { verdict: 'FAILURE', code: 'TERMS_CHANGED' }),
          entry(tooMuch, 1605, { verdict: 'FAILURE', code: 'RULE_REFUSED' }),
          ...shop,
        ],
      ],
      ['vault', [entry(start, 1705), entry(signed, 1805), ...vault]],
    ]),
    answerTimeoutMs: 800,
    marginMs: 200,
    journalLagMs: 0,
    ...more,
  };
}

/** The names of the invariants that do not hold. */
const objections = (history: History): readonly string[] =>
  audit(history)
    .filter(({ broken }) => broken.length > 0)
    .map(({ name }) => name);

describe('the auditor', () => {
  it('finds nothing in a run in which all is right, and looked at each invariant', () => {
    const audited = audit(run());
    expect(audited.flatMap(({ name, broken }) => broken.map((said) => `${name}: ${said}`))).toEqual([]);
    expect(audited.filter(({ checked }) => checked === 0)).toEqual([]);
    expect(audited).toHaveLength(INVARIANTS.length);
  });

  const late = planned('late');
  const again = planned('again', { terms: '0.000000000000000000000000000000000001', charges: charge(1n) });
  const forgeries: readonly (readonly [forgery: string, objection: string, parts: Parts])[] = [
    [
      'another answer than the two',
      'an answer is SUCCESS or FAILURE',
      { exchanges: [sent(planned('x'), 1000, { answer: 'HTTP 500' })] },
    ],
    [
      'a connection that breaks while its receiver is up',
      'no connection breaks while its receiver is up',
      { exchanges: [sent(planned('x'), 1000, { answer: undefined })] },
    ],
    [
      'a connection that breaks while another receiver is down',
      'no connection breaks while its receiver is up',
      { exchanges: [sent(planned('x'), 3210, { answer: undefined, receiver: 'three' })] },
    ],
    [
      'an answer one millisecond past its time',
      'an answer comes in time',
      { exchanges: [sent(planned('x'), 1000, { answer: 'FAILURE', tookMs: 1001 })] },
    ],
    [
      'a stranger who is approved, though nobody was told',
      'nothing unauthentic is approved',
      { shop: [entry(stranger, 1900)] },
    ],
    [
      'a refusal of every policy that is approved in the journal alone',
      'nothing is approved that no policy lets through',
      { shop: [entry(tooMuch, 1900)] },
    ],
    [
      'two sets of terms, of which one was never answered',
      'no subject is approved with two sets of terms',
      { shop: [entry(other, 1900, { type: 'repeat' })] },
    ],
    ['a question that is approved anew', 'a question is approved once', { shop: [entry(plain, 1900)] }],
    [
      'a signature without an approval',
      'a signature is in order only if it was approved before',
      {
        exchanges: [sent({ ...signed, subject: 'transfer:v', body: '{"v":2}' }, 1000, { answer: 'FAILURE' })],
        vault: [entry({ ...signed, subject: 'transfer:v', body: '{"v":2}' }, 1900)],
      },
    ],
    [
      'a signature with other terms than were approved',
      'a signature is in order only if it was approved before',
      {
        exchanges: [sent({ ...signed, terms: '61', body: '{"w":3}' }, 1000, { answer: 'FAILURE' })],
        vault: [entry({ ...signed, terms: '61', body: '{"w":3}' }, 1900)],
      },
    ],
    [
      'a SUCCESS that the journal does not have',
      'each SUCCESS is in the journal before it is answered',
      { exchanges: [sent(late, 1900)] },
    ],
    [
      'a SUCCESS that came before its entry',
      'each SUCCESS is in the journal before it is answered',
      { exchanges: [sent(late, 1900)], shop: [entry(late, 1911)] },
    ],
    [
      'two SUCCESSes with one entry',
      'each SUCCESS is in the journal before it is answered',
      { exchanges: [sent(late, 1900), sent(late, 1902)], shop: [entry(late, 1905)] },
    ],
    [
      'two SUCCESSes of which one has both entries to itself',
      'each SUCCESS is in the journal before it is answered',
      {
        exchanges: [sent(late, 1900), sent(late, 1950)],
        shop: [entry(late, 1903), entry(late, 1905, { type: 'repeat' })],
      },
    ],
    [
      'an approval that nobody asked for',
      'the journal approves only what was sent',
      { shop: [entry(planned('never-sent'), 1900)] },
    ],
    [
      'an approval under the name of another subject',
      'the journal approves only what was sent',
      { shop: [entry(plain, 1900, { subject: 'payment:another' })] },
    ],
    [
      'time that runs backwards',
      'the journal’s time never runs backwards',
      { shop: [entry(planned('x'), 1304, { verdict: 'FAILURE', code: 'RULE_REFUSED' })] },
    ],
    [
      'the smallest amount above a limit, at the very end of the window',
      'no window is over its limit',
      { exchanges: [sent(again, 6095)], shop: [entry(again, 6105)] },
    ],
    [
      'an amount above a limit, of which a later question has used its part again',
      'no window is over its limit',
      laterQuestion(41n),
    ],
    [
      'an approval under a revision that was never pushed',
      'no window is over its limit',
      {
        acts: [
          push(REVISION, 500),
          listed('add', 'user-blocked', 2000),
          act('freeze', 3000),
          act('unfreeze', 3100),
        ],
        exchanges: [sent(late, 400)],
        shop: [],
        vault: [entry({ ...start, subject: 'transfer:w' }, 1900, { type: 'repeat', revision: NEXT })],
      },
    ],
    [
      'an approval sent and answered while frozen',
      'nothing is approved while frozen',
      { exchanges: [sent(late, 3020)], shop: [entry(late, 3025)] },
    ],
    [
      'an approval that is journalled while frozen, though it was sent before',
      'nothing is approved while frozen',
      { exchanges: [sent(late, 2990, { endedAtMs: 3030 })], shop: [entry(late, 3020)] },
    ],
    [
      'an approval after a loss that nobody has ended',
      'nothing is approved while frozen',
      {
        acts: [
          push(REVISION, 500),
          listed('add', 'user-blocked', 2000),
          listed('remove', 'user-blocked', 2100),
          act('loss', 3500),
        ],
        exchanges: [sent(late, 9000)],
        shop: [entry(late, 9005)],
      },
    ],
    [
      'an approval under the revision before a push that had returned',
      'nothing is approved under a revision no longer in force',
      {
        acts: [...run().acts, push(NEXT, 4000)],
        exchanges: [sent(late, 4001)],
        shop: [entry(late, 4006)],
      },
    ],
    [
      'an approval of who is on the list',
      'nothing is approved that a list denies',
      { exchanges: [sent(blocked, 2030)], shop: [entry(blocked, 2035)] },
    ],
    [
      'a receiver that does not come back',
      'it recovers by itself',
      { recoveries: [{ fault: 'killed', receiver: 'two', tookMs: undefined }] },
    ],
    [
      'a refusal in calm of what is in order',
      'what is in order is approved in calm',
      {
        exchanges: [sent(planned('good', { plain: true }), 2500, { answer: 'FAILURE' })],
        shop: [entry(planned('good', { plain: true }), 2505, { verdict: 'FAILURE', code: 'RULE_REFUSED' })],
      },
    ],
    [
      'failures in calm, more than a machine that stands still explains',
      'what is in order is approved in calm',
      {
        exchanges: [1, 2, 3].map((n) =>
          sent(planned(`good-${n}`, { plain: true }), 2500, { answer: 'FAILURE' }),
        ),
      },
    ],
  ];

  it.each(forgeries)('objects to %s', (_forgery, objection, parts) => {
    expect(objections(run(parts))).toContain(objection);
  });

  it('is tested with a forgery of every invariant', () => {
    const tested = new Set(forgeries.map(([, objection]) => objection));
    expect(INVARIANTS.map(({ name }) => name).filter((name) => !tested.has(name))).toEqual([]);
  });

  const tolerable: readonly (readonly [what: string, parts: Parts])[] = [
    [
      'an answer at the last millisecond',
      { exchanges: [sent(stranger, 1500, { answer: 'FAILURE', tookMs: 1000 })] },
    ],
    [
      'an approval that nobody was told of',
      { exchanges: [sent(late, 1900, { answer: 'FAILURE' })], shop: [entry(late, 1905)] },
    ],
    [
      'a refusal in between, and then an approval',
      {
        exchanges: [sent(late, 1900), sent(late, 1950, { answer: 'FAILURE' }), sent(late, 1970)],
        shop: [
          entry(late, 1905),
          entry(late, 1955, { verdict: 'FAILURE', code: 'RULE_REFUSED' }),
          entry(late, 1975),
        ],
      },
    ],
    [
      'the smallest amount when the window is over',
      { exchanges: [sent(again, 6300)], shop: [entry(again, 6306)] },
    ],
    [
      'a repeat that is not charged again',
      { exchanges: [sent(first, 1900)], shop: [entry(first, 1905, { type: 'repeat' })] },
    ],
    ['a later question that counts once, and the rest of the limit', laterQuestion(40n)],
    [
      'an approval at the millisecond of a freeze',
      { exchanges: [sent(late, 2995)], shop: [entry(late, 3005)] },
    ],
    [
      'an approval after a freeze that was rejected',
      {
        acts: [...run().acts, act('freeze', 5000, false)],
        exchanges: [sent(late, 5020)],
        shop: [entry(late, 5025)],
      },
    ],
    [
      'an approval while an unfreeze is under way',
      {
        acts: [...run().acts, act('freeze', 5000), act('unfreeze', 5100, false)],
        exchanges: [sent(late, 5100)],
        shop: [entry(late, 5105)],
      },
    ],
    [
      'the revision before a push that was rejected',
      {
        acts: [...run().acts, push(NEXT, 5000, false)],
        exchanges: [sent(late, 5020)],
        shop: [entry(late, 5025)],
      },
    ],
    [
      'one failure in calm of a machine that stood still',
      { exchanges: [sent(planned('good', { plain: true }), 2500, { answer: 'FAILURE' })] },
    ],
  ];

  it.each(tolerable)('does not object to %s', (_what, parts) => {
    expect(objections(run(parts))).toEqual([]);
  });
});
