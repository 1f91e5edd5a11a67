import { setTimeout as sleep } from 'node:timers/promises';
import { CountersignError } from '../../src/errors.ts';
import { answerQuestions } from '../../src/values/worker.ts';

/* A program for a thread or process. It does what each question says, and answers with the question. */

const asked: string[] = [];

const DO: Readonly<Record<string, () => unknown>> = {
  exit: () => process.exit(7),
  loop: () => {
    for (;;);
  },
  wait: () => sleep(60_000),
  refuse: () => {
    throw new CountersignError('NOT_FOUND', 'no such list', { list: 'x' }, new Error('the disk'));
  },
  throw: () => {
    throw new TypeError('a bug\n\u001b[31m');
  },
  memory: () => {
    const kept: unknown[] = [];
    for (;;) kept.push(Array.from({ length: 10_000 }, () => kept.length));
  },
  asked: () => [...asked],
  wrong: () => 12,
  pid: () => process.pid,
};

await answerQuestions<string, unknown>(async () => {
  const how = process.env['START'];
  if (how === 'fail') throw new Error('no key is there');
  if (how === 'never') await sleep(60_000);
  return (question, note) => {
    asked.push(question);
    note(`asked ${question}`);
    return DO[question]?.() ?? question;
  };
});
