import { isBuiltin, registerHooks } from 'node:module';
import { getHeapStatistics } from 'node:v8';
import { workerData } from 'node:worker_threads';
import { type Answer, answerQuestions } from '../values/worker.ts';
import type { ModuleInput, OwnModule } from './module-interface.ts';

/*
 * The program of a module's thread. It loads the bytes that were hashed, from memory, and answers one
 * question after the other. The module can change anything here, so module.ts trusts no answer.
 */

/** The answer of the thread. `externalBytes` is memory that the resource limits of a thread do not cover. */
export interface ThreadAnswer {
  readonly externalBytes: number;
  readonly verdict: 'yes' | 'no' | 'failed';
  readonly because: string;
}

const MAX_CHARACTERS = 1000;

function messageOf(thrown: unknown): string {
  try {
    return (thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown)).slice(
      0,
      MAX_CHARACTERS,
    );
  } catch {
    return 'a value without a text';
  }
}

async function load(bytes: Uint8Array): Promise<OwnModule> {
  const url = `data:text/javascript;base64,${Buffer.from(bytes).toString('base64')}`;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === url || isBuiltin(specifier)) return next(specifier, context);
      const named = specifier.slice(0, 100);
      throw new Error(
        `it imports ${named}; its SHA-256 is of this file alone, so bundle what it needs into it`,
      );
    },
  });
  const loaded: { readonly default?: unknown } = await import(url);
  if (!isModule(loaded.default)) throw new Error('its default export is not a function');
  return loaded.default;
}

const isModule = (value: unknown): value is OwnModule => typeof value === 'function';

async function answer(
  ownModule: OwnModule,
  input: ModuleInput,
): Promise<Pick<ThreadAnswer, 'verdict' | 'because'>> {
  try {
    const answered: unknown = await ownModule(input);
    if (typeof answered !== 'object' || answered === null) {
      return { verdict: 'failed', because: 'its answer is not an object' };
    }
    const { verdict, because = '', ...others }: Record<string, unknown> = { ...answered };
    const [extra] = Object.keys(others);
    if (extra !== undefined) {
      const named = extra.slice(0, 100);
      return { verdict: 'failed', because: `its answer has an unknown member: ${named}` };
    }
    if (verdict !== 'yes' && verdict !== 'no') {
      return { verdict: 'failed', because: 'its verdict is neither yes nor no' };
    }
    if (typeof because !== 'string') return { verdict: 'failed', because: 'its because is not a text' };
    return { verdict, because: because.slice(0, MAX_CHARACTERS) };
  } catch (thrown) {
    return { verdict: 'failed', because: `it threw ${messageOf(thrown)}` };
  }
}

async function open(): Promise<Answer<ModuleInput, ThreadAnswer>> {
  const bytes: Uint8Array = workerData;
  const ownModule = await load(bytes).catch((thrown: unknown) => {
    throw new Error(messageOf(thrown));
  });
  return async (input) => ({
    ...(await answer(ownModule, input)),
    externalBytes: getHeapStatistics().external_memory,
  });
}

await answerQuestions(open);
