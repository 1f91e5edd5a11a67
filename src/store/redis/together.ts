import { Cluster, type Redis } from 'ioredis';

export type Command = readonly [name: string, ...args: (string | number)[]];

/**
 * Sends commands as one pipeline, on a Cluster a second time if the slot of their keys has moved; rejects
 * with the first error.
 */
export async function together(
  client: Redis | Cluster,
  commands: readonly Command[],
): Promise<readonly unknown[]> {
  const answers = await pipelined(client, commands);
  const fault = faultIn(answers);
  if (fault === undefined) return answers.map(([, answer]) => answer);
  if (!(client instanceof Cluster) || !fault.message.startsWith('MOVED')) throw fault;
  // A pipeline is not redirected. What was answered so was not done, and may be asked again.
  await new Promise<void>((resolve) => client.refreshSlotsCache(() => resolve()));
  const again = await pipelined(client, commands);
  const faultAgain = faultIn(again);
  if (faultAgain !== undefined) throw faultAgain;
  return again.map(([, answer]) => answer);
}

type Answers = readonly (readonly [fault: Error | null, answer: unknown])[];

async function pipelined(client: Redis | Cluster, commands: readonly Command[]): Promise<Answers> {
  // Else a pipeline of a Cluster would wait for it to be ready.
  if (client.status !== 'ready') throw new Error('Connection is closed.');
  const pipeline = client.pipeline();
  for (const [name, ...args] of commands) pipeline.call(name, ...args);
  const answers = (await pipeline.exec()) ?? [];
  if (answers.length !== commands.length) throw new Error('some commands have no answer');
  return answers;
}

const faultIn = (answers: Answers): Error | undefined =>
  answers.find(([fault]) => fault !== null)?.[0] ?? undefined;
