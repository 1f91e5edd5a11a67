import type { Callback } from '../../src/callback/callback.ts';
import { subjectOf } from '../../src/callback/callback.ts';
import { proposalToJson } from '../../src/policy/proposal.ts';
import type { PluginAnswer } from '../../src/policy/facts.ts';
import type { Release } from '../../src/policy/release.ts';
import type { RecordItem } from '../../src/journal/record.ts';
import { simulate } from '../../src/simulation/simulate.ts';
import { type SimulationStore, openSimulationStore } from '../../src/store/embedded/simulation.ts';
import type { JournalEntry, JournalType } from '../../src/store/store.ts';
import { entryOf } from '../journal/entries.ts';

export const START_MS = Date.UTC(2026, 2, 2, 10);

/** Makes a record as a service would leave it that decides under a release. */
export interface Recorder {
  readonly items: readonly RecordItem[];
  /** A callback with its body, at so many milliseconds from the start; the entry that it left. */
  ask(callback: Callback, body: object, atMs: number, more?: Asked): JournalEntry;
  list(list: string, add: readonly string[], remove: readonly string[], atMs: number): void;
  /** An entry as it is given. */
  add(entry: Partial<JournalEntry> & { readonly atMs: number; readonly type: JournalType }): JournalEntry;
  prices(version: number, atMs: number, set: readonly (readonly [asset: string, price: bigint])[]): void;
  close(): void;
}

interface Asked {
  readonly answers?: ReadonlyMap<string, PluginAnswer>;
  /** What was decided, whatever the release says. */
  readonly over?: Partial<JournalEntry>;
}

export function createRecorder(release: Release): Recorder {
  const store: SimulationStore = openSimulationStore('memory');
  store.push(release.revision, 0);
  const items: RecordItem[] = [];
  let repeats = new Set<string>();
  const add: Recorder['add'] = ({ atMs, ...entry }) => {
    const none = { subject: '', verdict: '', code: '' } as const;
    const made = entryOf({ id: String(items.length + 1), ...none, ...entry, atMs: START_MS + atMs });
    items.push(made);
    return made;
  };
  return {
    items,
    add,
    ask(callback, body, atMs, { answers = new Map(), over = {} } = {}) {
      const at = START_MS + atMs;
      const simulated = simulate({ store, release }, callback, {
        atMs: at,
        scheme: undefined,
        group: undefined,
        prices: store.prices(),
        answers,
      });
      const { verdict, code } = simulated;
      const proposal = simulated.proposal && proposalToJson(simulated.proposal);
      const claims = simulated.proposal && 'claims' in simulated.result ? simulated.result.claims : [];
      const subject = subjectOf(callback);
      const name = `${callback.source} ${subject}`;
      const type = simulated.proposal === undefined ? 'notice' : repeats.has(name) ? 'repeat' : 'decision';
      repeats = new Set([...repeats, name]);
      const answered = answers.size > 0 ? { answers: Object.fromEntries(answers) } : {};
      return add({
        source: callback.source,
        type,
        subject,
        verdict,
        code,
        claims,
        detail: JSON.stringify({ body: JSON.stringify(body), ...answered, proposal }),
        ...over,
        atMs,
      });
    },
    list(list, added, removed, atMs) {
      store.changeList(
        { source: 'shop', list, add: added, remove: removed, by: 'ada', message: '' },
        START_MS + atMs,
      );
      const detail = JSON.stringify({ list, add: added, remove: removed, by: 'ada', message: '' });
      add({ type: 'list', detail, atMs });
    },
    prices(version, atMs, set) {
      const changes = set.map(([asset, price]) => ({ asset, price, asOfMs: START_MS + atMs }));
      store.changePrices({ set: changes, remove: [], by: 'feed' }, START_MS + atMs);
      items.push({ version, atMs: START_MS + atMs, set: changes, remove: [], by: 'feed' });
    },
    close: () => store.close(),
  };
}
