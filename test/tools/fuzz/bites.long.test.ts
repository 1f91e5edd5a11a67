import { describe, expect, it } from 'vitest';
import { WITHOUT_APPROVAL } from '../../../tools/fuzz/judge.ts';
import type { Sent } from '../../../tools/fuzz/reference/reading.ts';
import { run } from '../../../tools/fuzz/run.ts';
import { type Observed, type Subject, openSubject } from '../../../tools/fuzz/subject.ts';
import type { Tally } from '../../../tools/fuzz/tally.ts';

/*
 * A fuzzer that finds nothing may be blind: here the pipeline is made faulty on purpose, in ways that must be
 * found.
 */

const COUNT = 320;

type Fault = (send: Subject['send'], sent: Sent) => Promise<Observed>;

/** What is found if the pipeline has such a fault. */
async function foundWith(fault: Fault): Promise<Tally> {
  return run({
    seed: 5,
    firstRound: 0,
    count: COUNT,
    untilMs: Infinity,
    onProgress: () => undefined,
    open: async () => {
      const subject = await openSubject();
      return { ...subject, send: (sent) => fault((one) => subject.send(one), sent) };
    },
  });
}

const changed =
  (change: (observed: Observed) => Observed): Fault =>
  async (send, sent) =>
    change(await send(sent));

const yesFor = (code: string): Fault =>
  changed((observed) => {
    const [report] = observed.reports;
    return report?.code === code
      ? { ...observed, body: 'SUCCESS', reports: [{ ...report, verdict: 'SUCCESS' }] }
      : observed;
  });

const kinds = ({ wrong }: Tally): readonly string[] => [...wrong.keys()];

describe('a pipeline is found that', () => {
  it.each([
    ['SIGN_WRONG', 'no signature holds'],
    ['SIGN_AMBIGUOUS', 'the text signs what the callback does not define'],
    ['DUPLICATE_MEMBER', 'a name twice'],
    ['RULE_REFUSED', 'above the limit'],
    ['HEADER_WRONG', 'not authenticated'],
    ['NOT_UTF8', 'not UTF-8'],
    ['OUTPUTS_INVALID', 'not a question'],
    ['KIND_UNEXPECTED', 'not a question'],
  ])('lets %s pass', async (code, because) => {
    expect(kinds(await foundWith(yesFor(code)))).toContain(`SUCCESS, and the reference reads: ${because}`);
  });

  it('waits for nobody', async () => {
    expect(kinds(await foundWith(yesFor('AWAITING_APPROVAL')))).toContain(WITHOUT_APPROVAL);
  });

  it('settles other terms than are written', async () => {
    const tally = await foundWith(
      changed((observed) => {
        const { settled } = observed;
        const detail = settled?.detail.replace(/"amount":"[^"]*"/, '"amount":"0.5"') ?? '';
        return settled === undefined ? observed : { ...observed, settled: { ...settled, detail } };
      }),
    );
    expect(kinds(tally)).toContain('SUCCESS for another amount than is written');
  });

  it('keeps too little to explain its decisions', async () => {
    const tally = await foundWith(
      changed((observed) =>
        observed.settled === undefined
          ? observed
          : { ...observed, settled: { ...observed.settled, explainsItself: false } },
      ),
    );
    expect(kinds(tally)).toContain('explained otherwise than it was evaluated');
  });

  it('takes all terms for the same', async () => {
    const tally = await foundWith(
      changed((observed) =>
        observed.settled === undefined
          ? observed
          : { ...observed, settled: { ...observed.settled, terms: 'x' } },
      ),
    );
    expect(kinds(tally)).toContain('one digest for two sets of terms');
  });

  it('rejects', async () => {
    const tally = await foundWith(async (send, sent) => {
      if (sent.body.length > 65_000) throw new Error('too long');
      return send(sent);
    });
    expect(kinds(tally)).toEqual(['a rejection: Error: too long']);
  });

  it('answers something else, or reports otherwise', async () => {
    const answers = await foundWith(changed((observed) => ({ ...observed, body: `${observed.body}\n` })));
    expect(kinds(answers).some((what) => what.startsWith('an answer that is none'))).toBe(true);
    const reports = await foundWith(changed((observed) => ({ ...observed, reports: [] })));
    expect(kinds(reports)).toContain('0 reports of one callback');
  });

  it('keeps the process busy', async () => {
    let slow: Uint8Array | undefined;
    const tally = await foundWith((send, sent) => {
      if (sent.body === (slow ??= sent.body)) busy();
      return send(sent);
    });
    expect(kinds(tally)).toEqual(['busy for more than 50 ms']);
  });

  it('refuses what is in order', async () => {
    const tally = await foundWith(
      changed((observed) => {
        const [report] = observed.reports;
        return report === undefined
          ? observed
          : { ...observed, body: 'FAILURE', reports: [{ ...report, verdict: 'FAILURE' }] };
      }),
    );
    expect([...tally.refused.keys()]).toContain('APPROVED');
  });
});

it('one seed makes the same callbacks', async () => {
  const bodies = async (): Promise<readonly string[]> => {
    const sent: string[] = [];
    await foundWith((send, one) => {
      sent.push(Buffer.from(one.body).toString('base64'));
      return send(one);
    });
    return sent;
  };
  expect(await bodies()).toEqual(await bodies());
});

/** For longer than a callback may take, by the clock of this thread alone. */
function busy(): void {
  const before = process.threadCpuUsage();
  for (;;) {
    const { user, system } = process.threadCpuUsage(before);
    if (user + system > 60_000) return;
  }
}
