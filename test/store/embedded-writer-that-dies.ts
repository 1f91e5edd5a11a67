import { answerQuestions } from '../../src/values/worker.ts';

/* A writer thread that is ready, and ends without a word at the first batch that it is given. */
await answerQuestions(() => () => process.exit(7));
