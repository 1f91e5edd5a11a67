import type { z } from 'zod';
import { type Act, perform } from '../act/act.ts';
import { orderSources } from '../start/sources.ts';
import { type Call, type CommandRow, byOption, fourEyesKey } from './command.ts';
import { servicesThatApplied } from './services.ts';
import type { Session } from './session.ts';

/** What the rows of acts need, of a command's session. */
export async function actParts(session: Session) {
  const { clock } = session;
  const settings = session.settings();
  const { deployment } = settings;
  return { store: await session.store(), sources: orderSources(settings), clock, deployment };
}

type CommandParts = Awaited<ReturnType<typeof actParts>>;

/** The command of an act, which has the name and the summary of the act. */
export function actCommand<I extends z.ZodObject, R>(
  act: Act<CommandParts, I, R>,
  {
    example,
    define = (command) => command,
    input,
  }: {
    readonly example: string;
    readonly define?: (command: Parameters<typeof byOption>[0]) => Parameters<typeof byOption>[0];
    readonly input: (session: Session, call: Call) => z.input<I> | Promise<z.input<I>>;
  },
): CommandRow {
  return {
    path: act.name,
    summary: act.summary,
    example,
    define(command) {
      define(command);
      if (act.recordsAuthor !== false) byOption(command);
      if (act.fourEyes !== undefined) fourEyesKey(command);
    },
    async run(session, call) {
      // What is wrong with a call is said even if the store can't be reached.
      const given = await input(session, call);
      const result = await perform(act, await actParts(session), given, session);
      const json = act.json(result);
      const services = act.followed && { services: await servicesThatApplied(session, act.followed(result)) };
      session.print(act.text(result), { ...json, ...services });
      return act.isDone?.(result) === false ? 1 : 0;
    },
  };
}
