import { setImmediate as breathe } from 'node:timers/promises';
import { z } from 'zod';
import { CountersignError, messageOf } from '../errors.ts';
import type { Release } from '../policy/release.ts';
import { checkedValue, listInForce, sourcesToFill } from '../release/lists.ts';
import type { Store } from '../store/store.ts';
import { counted } from '../values/text.ts';
import type { Act } from './act.ts';

interface Parts {
  readonly store: Pick<Store, 'changeList' | 'lists'>;
  /** The policies in force. Undefined if no policies are in force, or if this version can't compile them. */
  readonly release: Release | undefined;
  /** Shows how far a long change is. The empty text clears it. */
  readonly progress?: (line: string) => void;
}

const input = z.strictObject({
  source: z.string(),
  list: z.string(),
  /** The texts that the list keeps: see src/release/lists.ts. Without any, the list is made. */
  add: z.array(z.string()).readonly(),
  remove: z.array(z.string()).readonly(),
  message: z.string(),
  /** Whether to make a list that no policy in force looks into. */
  create: z.boolean(),
});
type Input = z.output<typeof input>;

const CHANGES = ['added', 'removed'] as const;

/** What really was added or removed. */
interface Result extends Pick<Input, 'source' | 'list'> {
  readonly added: number;
  readonly removed: number;
  readonly entries: number;
  readonly version: number;
  /** Whether values were to be added, removed, or both; neither for a list that was only made. */
  readonly asked: readonly (typeof CHANGES)[number][];
}

/**
 * Values that one step changes, and the most that a page changes: each step is a version. Decisions of the
 * source wait during a step.
 */
export const STEP_VALUES = 10_000;

/**
 * Changes the list of a source, in atomic steps of bounded size. After a failure, the same change does the
 * rest. Throws NOT_FOUND for a list that nothing in force looks into, unless it exists or is to be made.
 */
export const changeList: Act<Parts, typeof input, Result> = {
  name: 'list',
  summary: 'Change a list.',
  role: 'operate',
  input,
  async perform({ store, release, progress }, { source, list, add, remove, message, create }, by) {
    await sourcesToFill(store, release, { list, sources: [source], create });
    const all = add.length + remove.length;
    let [added, removed, done] = [0, 0, 0];
    for (;;) {
      const to = done + STEP_VALUES;
      const step = {
        add: add.slice(done, to),
        remove: remove.slice(Math.max(0, done - add.length), Math.max(0, to - add.length)),
      };
      const changed = await store
        .changeList({ source, list, ...step, by, message })
        .catch((thrown: unknown) => {
          progress?.('');
          throw partialChangeError(thrown, `${source}/${list}`, done, all);
        });
      added += changed.added;
      removed += changed.removed;
      done += step.add.length + step.remove.length;
      if (done === all) {
        progress?.('');
        const { entries, version } = changed.summary;
        const asked = CHANGES.filter((what) => (what === 'removed' ? remove : add).length > 0);
        return { source, list, added, removed, entries, version, asked };
      }
      progress?.(`${source}/${list}: ${done} of ${all}`);
    }
  },
  fourEyes: {
    name: 'lists',
    async judge({ store, release }, { source, list, add, remove, create }) {
      await sourcesToFill(store, release, { list, sources: [source], create });
      // A callback is refused as long as its deny-list does not exist, so making one loosens.
      const exists = (await store.lists(source)).some((each) => each.list === list);
      const looser = release && listInForce(release, list).looserFor(source);
      const tightens = looser === 'more' ? add.length === 0 : looser === 'fewer' && remove.length === 0;
      return { is: exists && tightens ? 'tighter' : 'looser' };
    },
  },
  text: ({ source, list, ...result }) => `${source}/${list}: ${changeText(result)}`,
  notice: (result) => `${changeText(result)}.`,
  json: ({ source, list, added, removed, entries, version }) => ({
    source,
    list,
    changed: added + removed,
    entries,
    version,
  }),
  followed: () => ({}),
  version: {
    of: 'the list',
    before: async ({ store }, { source, list }) =>
      (await store.lists(source)).find((each) => each.list === list)?.version ?? 0,
    after: ({ version }) => version,
  },
};

/** `2 added, 5 entries now (version 3)`. */
function changeText({ asked, entries, version, ...counts }: Omit<Result, 'source' | 'list'>): string {
  const done = (asked.length === 0 ? ['added' as const] : asked)
    .map((what) => `${counts[what]} ${what}`)
    .join(', ');
  return `${done}, ${counted(entries, 'entry', 'entries')} now (version ${version})`;
}

function partialChangeError(thrown: unknown, list: string, done: number, all: number): unknown {
  if (!(thrown instanceof CountersignError) || done === 0) return thrown;
  const message =
    `${done} of ${all} values of ${list} are done, then: ${messageOf(thrown)}. Make the same change ` +
    'again for the rest';
  return new CountersignError(thrown.code, message, thrown.data, thrown);
}

/**
 * The sentence for a list that has no effect yet, which people don't expect who add values; empty if it has.
 */
export function unusedText(release: Release | undefined, list: string): string {
  if (listInForce(release, list).isUsed) return '';
  return `No rule in force uses the list ${list}. It has no effect until a policy names it (list: ${list}).`;
}

/** A value as somebody wrote it, trimmed. */
export interface WrittenValue {
  readonly value: string;
  /** The line that it is on, with the colon that follows it, for errors. */
  readonly place: string;
}

const FAULTS_SHOWN = 10;
/** Values that are read before other work gets a turn. */
const BREATH_VALUES = 500;

/**
 * The texts that values are on a list, each once. `read` throws for a value that no list can hold, and the
 * faults of all of them are thrown as one error.
 */
export async function listTexts(
  written: readonly WrittenValue[],
  read: (value: string) => readonly string[],
): Promise<readonly string[]> {
  const faults: CountersignError[] = [];
  const found = new Set<string>();
  for (const [at, { value, place }] of written.entries()) {
    if (at % BREATH_VALUES === BREATH_VALUES - 1) await breathe();
    try {
      for (const text of read(checkedValue(value))) found.add(text);
    } catch (thrown) {
      if (!(thrown instanceof CountersignError)) throw thrown;
      faults.push(new CountersignError(thrown.code, `${place}${thrown.message}`, thrown.data));
    }
  }
  const [first] = faults;
  if (first === undefined) return [...found];
  if (faults.length === 1) throw first;
  const shown = faults.slice(0, FAULTS_SHOWN).map(({ message }) => message);
  const more = faults.length > FAULTS_SHOWN ? [`and ${faults.length - FAULTS_SHOWN} more`] : [];
  throw new CountersignError(first.code, [...shown, ...more].join('\n'), first.data);
}
