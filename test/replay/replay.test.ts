import { describe, expect, it } from 'vitest';
import { jsonAnswer, plainAnswer } from '../../src/callback/answer.ts';
import { CountersignError } from '../../src/errors.ts';
import { createMapping } from '../../src/replay/mapping.ts';
import { type ReplayOptions, type ReplayReport, replay } from '../../src/replay/replay.ts';
import type { Resent, SenderOf } from '../../src/replay/resend.ts';
import type { RecordItem } from '../../src/journal/record.ts';
import type { JournalEntry } from '../../src/store/store.ts';
import { entryOf } from '../journal/entries.ts';

const senderOf: SenderOf = (source) => {
  if (source !== 'vault') throw new CountersignError('USAGE', `there is no ${source}`);
  return { callback: 'cosigner', name: source, answer: plainAnswer, headers: {}, path: (kind) => `/${kind}` };
};

let ids = 0;
/** An entry about a withdrawal; what is asked in its body is its subject and a number of its own. */
function entry(subject: string, over: Partial<JournalEntry> = {}): JournalEntry {
  const id = String(++ids);
  const body = JSON.stringify({ request_id: subject, id });
  const detail = JSON.stringify({ body });
  return entryOf({ id, source: 'vault', atMs: ids, subject: `transfer:${subject}`, detail, ...over });
}

type Post = ReplayOptions['post'];
const yes: Post = () => Promise.resolve({ status: 200, body: 'SUCCESS' });

function replayed(
  items: readonly RecordItem[],
  post: Post,
  over: Partial<ReplayOptions> = {},
): Promise<ReplayReport> {
  return replay({
    record: () => items.map((item, index) => ({ item, line: index + 1 })),
    senderOf,
    mapping: createMapping({ tables: new Map(), prefix: '' }),
    post,
    concurrency: 1,
    show: 100,
    clock: () => 0,
    elapsed: () => 0,
    pause: () => Promise.resolve(),
    ...over,
  });
}

describe('a replay', () => {
  it('leaves out what is no callback, and compares a decision that was answered late by what was decided', async () => {
    const report = await replayed(
      [
        entry('a'),
        entry('a', { type: 'late', verdict: 'FAILURE', code: 'ANSWERED_LATE' }),
        entry('', { type: 'refused', verdict: 'FAILURE' }),
        entry('', { type: 'self-check' }),
        entry('', { type: 'list', verdict: '' }),
        entry('a', { type: 'order', verdict: '' }),
        { version: 1, atMs: 1, set: [], remove: [], by: 'feed' },
        entry('a', { type: 'repeat' }),
        entry('a', { type: 'notice', code: 'NOTED' }),
      ],
      yes,
    );
    expect(report).toMatchObject({
      callbacks: 3,
      same: 3,
      notSent: 0,
      stopped: false,
      skipped: { late: 1, refused: 1, selfChecks: 1, changes: 3 },
    });
  });

  it('compares what was frozen then by what was answered then', async () => {
    const report = await replayed([entry('a', { verdict: 'FAILURE', code: 'FROZEN' })], yes);
    expect(report).toMatchObject({
      toSuccess: 1,
      differing: [{ line: 1, code: 'FROZEN', answered: 'SUCCESS' }],
    });
  });

  it.each([
    ['SUCCESS', 200, { same: 1 }],
    ['FAILURE', 200, { toFailure: 1 }],
    ['SUCCESS', 201, { failed: 1 }],
    ['SUCCESS\n', 200, { failed: 1 }],
    ['success', 200, { failed: 1 }],
    ['"SUCCESS"', 200, { failed: 1 }],
    ['', 200, { failed: 1 }],
    [jsonAnswer.success, 200, { failed: 1 }],
    ['FAILURE', 503, { failed: 1 }],
  ])('takes %j with %i for %j', async (body, status, expected) => {
    const report = await replayed([entry('a')], () => Promise.resolve({ status, body }));
    expect(report).toMatchObject({
      callbacks: 1,
      same: 0,
      toFailure: 0,
      toSuccess: 0,
      failed: 0,
      ...expected,
    });
  });

  it('sends what is about one subject in order, however many at once and however slow each is', async () => {
    const items = Array.from({ length: 200 }, (_, n) => entry(`s-${n % 7}`));
    const began: string[] = [];
    const post: Post = async ({ body }: Resent) => {
      began.push(body);
      for (let turn = 0; turn < body.length % 5; turn++)
        await new Promise((resolve) => void setImmediate(resolve));
      return { status: 200, body: 'SUCCESS' };
    };
    expect(await replayed(items, post, { concurrency: 5 })).toMatchObject({ same: 200 });
    for (let n = 0; n < 7; n++) {
      const own = began.filter((body) => body.includes(`"s-${n}"`));
      const numbers = own.map((body) => Number(/"id":"(\d+)"/.exec(body)?.[1]));
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    }
  });

  it('stops once twenty in a row have no answer, and says how many were not sent', async () => {
    const items = Array.from({ length: 50 }, (_, n) => entry(`s-${n}`));
    const report = await replayed(items, () => Promise.reject(new Error('no answer: ECONNREFUSED')));
    expect(report).toMatchObject({ failed: 20, notSent: 30, stopped: true });
    let asked = 0;
    const flaky: Post = () =>
      ++asked % 20 === 0
        ? Promise.resolve({ status: 200, body: 'SUCCESS' })
        : Promise.reject(new Error('reset'));
    expect(await replayed(items, flaky)).toMatchObject({ failed: 48, same: 2, notSent: 0, stopped: false });
  });

  it('counts what can’t be read as failed, and goes on', async () => {
    const items = Array.from({ length: 30 }, () => entry('a', { detail: '{}' }));
    const report = await replayed([...items, entry('a', { verdict: '' }), entry('b')], yes, { show: 2 });
    expect(report).toMatchObject({ callbacks: 32, failed: 31, same: 1, notSent: 0 });
    expect(report.failures).toHaveLength(2);
  });

  it('sends nothing at all if one source is not there', async () => {
    const sent: Resent[] = [];
    const post: Post = (resent) => {
      sent.push(resent);
      return yes(resent);
    };
    const items = [entry('a'), entry('b', { source: 'volt' }), entry('c', { source: 'vlt' })];
    await expect(replayed(items, post)).rejects.toThrow(
      'nothing was sent: there is no volt; there is no vlt',
    );
    expect(sent).toEqual([]);
  });

  it('of an empty record has nothing to say', async () => {
    expect(await replayed([], yes)).toMatchObject({ callbacks: 0, notSent: 0, latencyMs: undefined });
  });
});
