import { answerQuestions, startProcess } from '../../src/values/worker.ts';

/* A process that starts another one, and answers with the id of that. */
await answerQuestions(() => async () => {
  const other = startProcess<string, unknown>({
    name: 'the other process',
    entry: new URL('./answering.ts', import.meta.url),
    env: {},
    memoryMb: 32,
    waitingMax: 1,
    read: (pid) => pid,
  });
  return other.ask('pid');
});
