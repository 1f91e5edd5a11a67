import { z } from 'zod';
import { candidateFile } from '../console/candidate-checks.ts';

/** What the service asks of a process, and what that answers, message by message. */
export const taskShape = z.discriminatedUnion('task', [
  z.object({
    task: z.literal('check'),
    files: z.array(candidateFile).readonly(),
    inForce: z.string(),
    document: z.string(),
    settingsFile: z.string().optional(),
  }),
  z.object({ task: z.literal('diff'), before: z.string(), after: z.string() }),
  z.object({
    task: z.literal('backtest'),
    document: z.string(),
    settingsFile: z.string().optional(),
    fromMs: z.number(),
    entriesMax: z.number(),
  }),
]);
export type Task = z.output<typeof taskShape>;

export const reportShape = z.discriminatedUnion('type', [
  z.object({ type: z.literal('progress'), callbacks: z.number(), part: z.number() }),
  /** The result of the task: {@link checkedShape}, or a text. */
  z.object({ type: z.literal('done'), result: z.unknown() }),
  /** A fault that the person can mend, or one of the program. */
  z.object({ type: z.literal('failed'), because: z.string(), isFault: z.boolean() }),
]);
export type Report = z.output<typeof reportShape>;
