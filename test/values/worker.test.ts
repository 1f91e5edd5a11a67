import { describe, expect, it, onTestFinished } from 'vitest';
import { type Answerer, WorkerError, startProcess, startThread } from '../../src/values/worker.ts';
import { eventually } from '../eventually.ts';

type Options = Parameters<typeof startThread<string, unknown>>[0];

const ENTRY = new URL('./answering.ts', import.meta.url);

/** A program that answers with anything but the number 12. */
function started(as: 'thread' | 'process', over: Partial<Options> = {}): Answerer<string, unknown> {
  const options: Options = {
    name: 'the worker',
    entry: ENTRY,
    env: {},
    waitingMax: 4,
    read(answer) {
      if (answer === 12) throw new Error('it is 12');
      return answer;
    },
    ...over,
  };
  const worker =
    as === 'thread'
      ? startThread<string, unknown>({ ...options, resourceLimits: { maxOldGenerationSizeMb: 32 } })
      : startProcess<string, unknown>({ ...options, memoryMb: 32 });
  onTestFinished(() => worker.stop());
  return worker;
}

/** A program that fails or hangs before it is ready. */
const startedTo = (
  as: 'thread' | 'process',
  start: 'fail' | 'never',
  over: Partial<Options> = {},
): Answerer<string, unknown> => started(as, { env: { START: start }, ...over });

const reasonOf = async (pending: Promise<unknown>): Promise<string> => {
  const thrown: unknown = await pending.then(
    () => undefined,
    (error: unknown) => error,
  );
  return thrown instanceof WorkerError ? `${thrown.reason}: ${thrown.message}` : 'no WorkerError';
};

describe.each(['thread', 'process'] as const)('a %s that is asked', (as) => {
  const exited = as === 'thread' ? '7' : 'exit code 7';

  it('answers each question, in order, and says more besides', async () => {
    const notes: unknown[] = [];
    const worker = started(as, { onNote: (note) => void notes.push(note) });
    const early = ['a', 'b'].map((each) => worker.ask(each));
    expect([worker.isReady(), worker.waiting(), worker.waitMs() > 0]).toEqual([false, 2, true]);
    await worker.ready;
    expect(await Promise.all([...early, worker.ask('c')])).toEqual(['a', 'b', 'c']);
    expect([worker.isReady(), worker.waiting(), worker.waitMs()]).toEqual([true, 0, 0]);
    expect(notes).toEqual(['asked a', 'asked b', 'asked c']);
  });

  it('rejects with the error that its program threw: code, message, data and cause', async () => {
    const worker = started(as);
    await expect(worker.ask('refuse')).rejects.toMatchObject({
      name: 'CountersignError',
      code: 'NOT_FOUND',
      message: 'no such list',
      data: { list: 'x' },
      cause: { message: 'the disk' },
    });
    expect(await worker.ask('asked')).toEqual(['refuse', 'asked']);
  });

  it('rejects at once what is asked beyond the bound', async () => {
    const worker = started(as, { waitingMax: 2 });
    const [first, second] = [worker.ask('a'), worker.ask('b')];
    expect(await reasonOf(worker.ask('c'))).toBe(
      'busy: the worker has 2 questions to answer, which is the maximum',
    );
    expect(await Promise.all([first, second])).toEqual(['a', 'b']);
    expect(await worker.ask('asked')).toEqual(['a', 'b', 'asked']);
  });

  it('rejects all that wait when it dies, and all that is asked later', async () => {
    const ends: [string, boolean][] = [];
    const worker = started(as, { onEnd: ({ message }, asked) => void ends.push([message, asked]) });
    await worker.ready;
    const pending = ['exit', 'a', 'b'].map((each) => reasonOf(worker.ask(each)));
    const because = `the worker ended with ${exited}`;
    expect(await Promise.all(pending)).toEqual(Array(3).fill(`ended: ${because}`));
    expect(await reasonOf(worker.ask('c'))).toBe(`ended: ${because}`);
    expect(worker.isReady()).toBe(false);
    await worker.stop();
    expect(ends).toEqual([[because, true]]);
  });

  it('ends with an unexpected error, and begins none of what is asked after it', async () => {
    const notes: unknown[] = [];
    const worker = started(as, { onNote: (note) => void notes.push(note) });
    const pending = ['throw', 'a', 'b'].map((each) => reasonOf(worker.ask(each)));
    expect(await Promise.all(pending)).toEqual(Array(3).fill('ended: the worker failed: a bug [31m'));
    await worker.stop();
    expect(notes).toEqual(['asked throw']);
  });

  it.each(['loop', 'wait'])('is ended if it gives no answer in time (%s)', async (how) => {
    const worker = started(as, { answerMs: 3000 });
    await worker.ready;
    const pending = [how, 'a'].map((each) => reasonOf(worker.ask(each)));
    const late = 'late: the worker did not answer within 3000 ms';
    expect(await Promise.all(pending)).toEqual([late, late]);
    expect(await reasonOf(worker.ask('b'))).toBe(late);
  });

  it('that is still starting loses the questions that are late, and goes on', async () => {
    const worker = started(as, { answerMs: 1 });
    expect(await reasonOf(worker.ask('a'))).toBe(
      'late: the worker did not answer within 1 ms, because it was still starting',
    );
    await expect(worker.ready).resolves.toBeUndefined();
  });

  it('is ended if it does not start in time', async () => {
    const worker = startedTo(as, 'never', { startMs: 10 });
    expect(await reasonOf(worker.ask('a'))).toBe('late: the worker did not start within 10 ms');
    expect(await reasonOf(worker.ready)).toBe('late: the worker did not start within 10 ms');
  });

  it('rejects with the reason if its program can not start', async () => {
    const worker = startedTo(as, 'fail');
    expect(await reasonOf(worker.ask('a'))).toBe("ended: the worker can't start: no key is there");
    const nowhere = started(as, { entry: new URL('./no-such-program.ts', import.meta.url) });
    expect(await reasonOf(nowhere.ready)).toMatch(/^ended: the worker .*no-such-program/);
  });

  it('is ended if it sends what is no answer', async () => {
    const worker = started(as);
    expect(await reasonOf(worker.ask('wrong'))).toBe(
      'ended: the worker sent a message that is not an answer',
    );
    expect(worker.isReady()).toBe(false);
    const noting = started(as, {
      onNote() {
        throw new Error('no such note');
      },
    });
    expect(await reasonOf(noting.ask('a'))).toBe('ended: the worker sent a message that is not an answer');
  });

  it('is bounded in memory', async () => {
    expect(await reasonOf(started(as).ask('memory'))).toBe('memory: the worker needs more than 32 MiB');
  });

  it('stops also in an endless loop, and rejects what waits', async () => {
    const ends: unknown[] = [];
    const looping = Promise.withResolvers<unknown>();
    const worker = started(as, {
      onNote: looping.resolve,
      onEnd: (because) => void ends.push(because),
    });
    const pending = ['loop', 'a'].map((each) => reasonOf(worker.ask(each)));
    await looping.promise;
    await Promise.all([worker.stop(), worker.stop()]);
    expect(await Promise.all(pending)).toEqual(Array(2).fill('ended: the worker was stopped'));
    expect(await reasonOf(worker.ask('b'))).toBe('ended: the worker was stopped');
    expect(ends).toEqual([]);
  });
});

it('a process ends with the one that started it', async () => {
  const between = startProcess<string, number>({
    name: 'the process between',
    entry: new URL('./answering-between.ts', import.meta.url),
    env: {},
    memoryMb: 64,
    waitingMax: 1,
    read: Number,
  });
  const pid = await between.ask('start another');
  expect(process.kill(pid, 0)).toBe(true);
  await between.stop();
  await eventually('the other process has ended', () => {
    try {
      return process.kill(pid, 0) ? undefined : true;
    } catch {
      return true;
    }
  });
});
