import { isDeepStrictEqual } from 'node:util';
import type { JournalEntry, Store } from '../../src/store/store.ts';
import { type Asked, type Foretold, SourceModel, reservedBy } from './model.ts';
import type { Change, Command } from './model-commands.ts';
import { revisions } from './model-policies.ts';

/** Services under test: two replicas on one store. */
export interface Rig {
  /** The answer to one callback. */
  ask(replica: number, asked: Asked): Promise<string>;
  /** A handle of its own, as the command line has. */
  store(): Store;
  /** Moves the store's clock; does nothing where that is the real one. */
  advance(ms: number): void;
  /** What the store's clock says; undefined where it is the real one. */
  nowMs(): number | undefined;
  reopen(): Promise<void>;
}

const sources = ['shop', 'vault'] as const;
type Source = (typeof sources)[number];

interface Run {
  readonly rig: Rig;
  readonly models: Readonly<Record<Source, SourceModel>>;
  /** Up to where the journals have been compared. */
  readonly seen: Record<Source, string>;
  /** What was answered SUCCESS, whether decided or repeated. */
  readonly approved: Approved[];
}

interface Approved {
  readonly asked: Asked;
  readonly atMs: number;
  readonly revision: number | undefined;
  readonly claims: JournalEntry['claims'];
}

/**
 * Runs a script on the services and on the model, and compares them after every step. Returns what became of each callback,
 * such as `repeat SUCCESS APPROVED`.
 */
export async function runScript(rig: Rig, commands: readonly Command[]): Promise<readonly string[]> {
  const run: Run = {
    rig,
    models: { shop: new SourceModel(), vault: new SourceModel() },
    seen: { shop: '', vault: '' },
    approved: [],
  };
  for (const command of commands) {
    if (command.type === 'advance') rig.advance(command.ms);
    else if (command.type === 'reopen') await rig.reopen();
    else {
      const burst = command.type === 'burst' ? command.callbacks : [];
      await step(run, burst, command.type === 'burst' ? command.meanwhile : command.change);
    }
  }
  const journals = await Promise.all(sources.map((source) => entriesAfter(rig.store(), source, '')));
  checkTerms(run.approved);
  checkLimits(run.approved);
  return journals
    .flat()
    .filter(({ type }) => type !== 'list')
    .map(({ type, verdict, code }) => `${type} ${verdict} ${code}`);
}

/** Callbacks at once, and a change meanwhile. The journal tells in which order they were settled; the model follows it. */
async function step(
  { rig, models, seen, approved }: Run,
  burst: readonly Asked[],
  change?: Change,
): Promise<void> {
  const half = Math.floor(burst.length / 2);
  const asking = burst.slice(0, half).map((asked, index) => rig.ask(index, asked));
  const changing = change === undefined ? undefined : make(rig.store(), models, change);
  asking.push(...burst.slice(half).map((asked, index) => rig.ask(index, asked)));
  const answers = await Promise.all(asking);
  await changing;

  const journalled = new Map<string, string[]>();
  for (const source of sources) {
    const pending = pendingFor(models[source], source, change);
    for (const entry of await entriesAfter(rig.store(), source, seen[source])) {
      seen[source] = entry.id;
      pending.showsIn(entry);
      if (entry.type === 'list') continue;
      const { body }: { readonly body: string } = JSON.parse(entry.detail);
      const asked = burst.find((each) => each.body === body);
      if (asked === undefined) throw differs('an entry about nothing that was asked', entry, undefined);
      compare(entry, models[source].ask(asked, entry.atMs, entry.id), models[source], rig.nowMs());
      if (entry.verdict === 'SUCCESS' && entry.type !== 'notice')
        approved.push({ ...entry, asked, revision: models[source].inForce });
      journalled.set(body, [...(journalled.get(body) ?? []), entry.verdict]);
    }
    pending.make();
  }
  checkAnswers(burst, answers, journalled, change !== undefined);
}

/** Every callback has its own entry, which says what was answered; and duplicates agree. */
function checkAnswers(
  burst: readonly Asked[],
  answers: readonly string[],
  journalled: ReadonlyMap<string, readonly string[]>,
  changed: boolean,
): void {
  const given = new Map<string, string[]>();
  for (const [index, { body }] of burst.entries())
    given.set(body, [...(given.get(body) ?? []), answers[index] ?? 'none']);
  // What was noticed in between may make another question of a speed-up, and tells more of a notice itself.
  const noticed = burst.some(({ type }) => type === 'sign_success');
  const alike = new Set(
    burst
      .filter(({ type, speedUp }) => type !== 'sign_success' && !(speedUp && noticed))
      .map(({ body }) => body),
  );
  for (const [body, said] of given) {
    const written = (journalled.get(body) ?? []).toSorted((a, b) => a.localeCompare(b));
    const sorted = said.toSorted((a, b) => a.localeCompare(b));
    if (!isDeepStrictEqual(sorted, written)) {
      throw new Error(`to ${body} it was answered ${sorted.join()}, and journalled ${written.join()}`);
    }
    if (!changed && alike.has(body) && new Set(said).size > 1)
      throw new Error(`duplicates do not agree: ${sorted.join()} to ${body}`);
  }
}

async function make(store: Store, models: Run['models'], change: Change): Promise<void> {
  const by = 'the model';
  if (change.type === 'freeze') await store.freeze({ reason: 'chance', by });
  else if (change.type === 'unfreeze') await store.unfreeze({ by });
  else if (change.type === 'push') {
    const { revision, document } = releaseOf(change.revision);
    const expected = (await store.control()).revision;
    const { outcome } = await store.push({ revision, document, expected, by, message: 'chance' });
    if (outcome !== 'in-force') throw new Error('nobody else pushes, and yet there was a conflict');
  } else {
    const { source, list, value } = change;
    const [add, remove] = models[source].holds(list, value) ? [[], [value]] : [[value], []];
    await store.changeList({ source, list, add, remove, by, message: 'chance' });
  }
}

/** A change that was made among callbacks takes effect for the model where the journal first shows it, at the latest after all. */
function pendingFor(
  model: SourceModel,
  source: Source,
  change: Change | undefined,
): { showsIn(entry: JournalEntry): void; make(): void } {
  let open = change;
  const apply = (): void => {
    if (open?.type === 'push') model.inForce = open.revision;
    else if (open?.type === 'toggle') {
      if (open.source === source) model.toggle(open.list, open.value);
    } else if (open !== undefined) model.frozen = open.type === 'freeze';
    open = undefined;
  };
  const shown = ({ type, code, revision }: JournalEntry): boolean => {
    if (open?.type === 'toggle') return type === 'list';
    if (open?.type === 'freeze') return code === 'FROZEN';
    if (open?.type === 'unfreeze') return code === 'NOTED' || (type !== 'notice' && code !== 'FROZEN');
    if (open === undefined || type === 'notice' || type === 'list' || code === 'FROZEN') return false;
    return revision === releaseOf(open.revision).revision;
  };
  return {
    showsIn: (entry) => (shown(entry) ? apply() : undefined),
    make: apply,
  };
}

function compare(
  entry: JournalEntry,
  foretold: Foretold,
  { inForce }: SourceModel,
  nowMs: number | undefined,
): void {
  const { type, verdict, code, of, claims } = entry;
  if (!isDeepStrictEqual({ type, verdict, code, of, claims }, foretold)) {
    throw differs('the journal and the model differ', entry, foretold);
  }
  const revision = inForce === undefined ? '' : releaseOf(inForce).revision;
  if (type !== 'notice' && code !== 'FROZEN' && entry.revision !== revision) {
    throw differs(`decided under another revision than ${revision}`, entry, foretold);
  }
  if (nowMs !== undefined && entry.atMs !== nowMs) throw differs(`not at ${nowMs}`, entry, foretold);
}

const subjectOf = ({ source, kind, id }: Asked): string => `${source} ${kind}:${id}`;

/** Whatever the model says: nothing was approved with two terms. */
function checkTerms(approved: readonly Approved[]): void {
  const termsOf = new Map<string, string>();
  for (const { asked } of approved) {
    const subject = subjectOf(asked);
    if ((termsOf.get(subject) ?? asked.terms) !== asked.terms)
      throw new Error(`${subject} was approved with two terms`);
    termsOf.set(subject, asked.terms);
  }
}

const LENGTH_MS = { '10m': 600_000, '1h': 3_600_000, day: 86_400_000 } as const;

/**
 * Whatever the model says: in no window of the exact length, wherever it begins, does what was reserved sum to more than the
 * greatest limit there was.
 */
function checkLimits(approved: readonly Approved[]): void {
  const reserved = approved.flatMap(({ asked, atMs, revision, claims }) =>
    reservedBy(revision, asked, claims).map((each) => ({ ...each, atMs })),
  );
  for (const [counter, all] of Map.groupBy(reserved, (each) => each.counter)) {
    const max = all.reduce((most, each) => (each.max > most ? each.max : most), 0n);
    for (const { window, atMs } of all) {
      const fromMs = window === 'day' ? atMs - (atMs % LENGTH_MS.day) - 1 : atMs - LENGTH_MS[window];
      const within = all.filter((each) => each.atMs > fromMs && each.atMs <= atMs);
      const sum = within.reduce((total, { amount }) => total + amount, 0n);
      if (sum > max) throw new Error(`${counter}: ${sum} was approved until ${atMs}, of at most ${max}`);
    }
  }
}

async function entriesAfter(store: Store, source: Source, after: string): Promise<readonly JournalEntry[]> {
  const found: JournalEntry[] = [];
  for (;;) {
    const page = await store.entries({ source, after: found.at(-1)?.id ?? after, limit: 1000 });
    found.push(...page);
    if (page.length < 1000) return found;
  }
}

function releaseOf(index: number): (typeof revisions)[number]['release'] {
  const found = revisions[index];
  if (found === undefined) throw new Error(`there is no revision ${index}`);
  return found.release;
}

function differs(what: string, entry: JournalEntry, foretold: Foretold | undefined): Error {
  const shown = (value: unknown): string =>
    JSON.stringify(value, (_name, each: unknown) => (typeof each === 'bigint' ? `${each}` : each), 1);
  return new Error(`${what}: journalled ${shown(entry)}, foretold ${shown(foretold)}`);
}
