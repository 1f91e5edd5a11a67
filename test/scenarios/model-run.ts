import { isDeepStrictEqual } from 'node:util';
import type { ClaimResult } from '../../src/claims/claims.ts';
import type { JournalEntry, Store } from '../../src/store/store.ts';
import { faultsOf } from './audit-claims.ts';
import { type Foretold, SourceModel } from '../reference/settle.ts';
import type { Reservation } from '../reference/store.ts';
import type { Asked } from './model-callbacks.ts';
import { countsTogether, mixesLimits, revisionAt, scripted } from './model-policies.ts';
import { type Made, type Models, type Source, make, pendingFor, pricesOf } from './model-changes.ts';
import type { Change, Command } from './model-script.ts';

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

const sources: readonly Source[] = ['shop', 'vault'];

interface Run {
  readonly rig: Rig;
  readonly models: Models;
  /** Up to where the journals have been compared. */
  readonly seen: Record<Source, string>;
  /** What was compared, in the order in which it was settled as far as it counts together. */
  readonly journal: JournalEntry[];
}

export interface Outcomes {
  /** What became of each callback, such as `repeat SUCCESS APPROVED`. */
  readonly callbacks: readonly string[];
  /** How the claims fared, such as `order expired`, each once. */
  readonly claims: ReadonlySet<string>;
  /** What became of alternatives, such as `none held`, each once. */
  readonly choices: ReadonlySet<string>;
}

/** Runs a script on the services and on the model, and compares them after every step. */
export async function runScript(rig: Rig, commands: readonly Command[]): Promise<Outcomes> {
  const reserved: Reservation[] = [];
  const run: Run = {
    rig,
    models: { shop: new SourceModel('all', reserved), vault: new SourceModel('all', reserved) },
    seen: { shop: '', vault: '' },
    journal: [],
  };
  for (const command of commands) {
    if (command.type === 'advance') rig.advance(command.ms);
    else if (command.type === 'reopen') await rig.reopen();
    else {
      const { callbacks, meanwhile } =
        command.type === 'burst' ? command : { callbacks: [], meanwhile: command.change };
      if (mayCountTogether(run.models, meanwhile)) {
        // No journal tells the order of callbacks of different sources, so only those of one come at once.
        const [first, second] = sourceOf(meanwhile) === 'vault' ? sources.toReversed() : sources;
        await step(
          run,
          callbacks.filter(({ source }) => source === first),
          meanwhile,
        );
        await step(
          run,
          callbacks.filter(({ source }) => source === second),
        );
      } else await step(run, callbacks, meanwhile);
    }
  }
  const prices = await rig.store().priceHistory({ after: 0, limit: 1000 });
  // Whatever the model says.
  const faults = faultsOf(run.journal, prices);
  if (faults.length > 0) throw new Error(faults.join('\n'));
  const decided = run.journal.filter(({ type }) => !CHANGES.has(type));
  return {
    callbacks: decided.map(({ type, verdict, code }) => `${type} ${verdict} ${code}`),
    claims: new Set(decided.flatMap(({ claims }) => claims.map(fared))),
    choices: new Set(sources.flatMap((source) => [...run.models[source].choices])),
  };
}

/** Whether callbacks of one source may count for the other, before the change or after it. */
const mayCountTogether = ({ shop }: Models, change: Change | undefined): boolean =>
  countsTogether(shop.inForce) || (change?.type === 'push' && countsTogether(revisionAt(change.revision)));

/** The one source that a change is about. */
const sourceOf = (change: Change | undefined): Source | undefined =>
  change !== undefined && 'source' in change ? change.source : undefined;

/** Entries that are about no callback. */
const CHANGES: ReadonlySet<JournalEntry['type']> = new Set(['list', 'order', 'freeze', 'release']);

/**
 * Callbacks at once, and a change meanwhile. The journal tells in which order they were settled; the model
 * follows it.
 */
async function step(run: Run, burst: readonly Asked[], change?: Change): Promise<void> {
  const { rig, models } = run;
  const half = Math.floor(burst.length / 2);
  const pending = burst.slice(0, half).map((asked, index) => rig.ask(index, asked));
  const changing = change === undefined ? undefined : make(rig.store(), models, change);
  pending.push(...burst.slice(half).map((asked, index) => rig.ask(index, asked)));
  const answers = await Promise.all(pending);
  const made = await changing;

  const journalled = new Map<string, JournalEntry[]>();
  for (const source of sources) {
    const followed = await follow(run, source, burst, made);
    for (const [body, entry] of followed) journalled.set(body, [...(journalled.get(body) ?? []), entry]);
  }
  const mayChange = change !== undefined || mixesLimits(models.vault.inForce);
  checkAnswers(burst, answers, journalled, mayChange);
}

/** What the source's journal says that was answered, once the model has said the same. */
async function follow(
  { rig, models, seen, journal }: Run,
  source: Source,
  burst: readonly Asked[],
  made: Made | undefined,
): Promise<readonly (readonly [body: string, entry: JournalEntry])[]> {
  const model = models[source];
  const pending = pendingFor(model, source, made);
  const said: (readonly [string, JournalEntry])[] = [];
  for (const entry of await entriesAfter(rig.store(), source, seen[source])) {
    seen[source] = entry.id;
    journal.push(entry);
    pending.showsIn(entry);
    if (CHANGES.has(entry.type)) continue;
    const { body }: { readonly body: string } = JSON.parse(entry.detail);
    const asked = burst.find((each) => each.body === body);
    if (asked === undefined) throw differs('an entry about nothing that was asked', entry, undefined);
    const dependsOnPrices = model.propose(asked, entry.atMs).prices;
    const foretold = model.ask(asked, entry.atMs, entry.id);
    compare(entry, foretold, model, { nowMs: rig.nowMs(), dependsOnPrices });
    said.push([body, entry]);
  }
  pending.end();
  return said;
}

/**
 * Every callback has its own entry, which says what was answered. What is approved once stays approved, unless
 * something else than the callbacks themselves `mayChange` it.
 */
function checkAnswers(
  burst: readonly Asked[],
  answers: readonly string[],
  journalled: ReadonlyMap<string, readonly JournalEntry[]>,
  mayChange: boolean,
): void {
  const given = new Map<string, string[]>();
  for (const [index, { body }] of burst.entries())
    given.set(body, [...(given.get(body) ?? []), answers[index] ?? 'none']);
  // What was noticed in between may make another question of a speed-up, and tells more of a notice itself.
  const noticed = burst.some(({ type }) => type === 'sign_success');
  const lasting = new Set(
    burst
      .filter(({ type, speedUp }) => type !== 'sign_success' && !(speedUp && noticed))
      .map(({ body }) => body),
  );
  for (const [body, said] of given) {
    const entries = journalled.get(body) ?? [];
    const inOrder = entries.map(({ verdict }) => verdict);
    const written = inOrder.toSorted((a, b) => a.localeCompare(b));
    const sorted = said.toSorted((a, b) => a.localeCompare(b));
    if (!isDeepStrictEqual(sorted, written)) {
      throw new Error(`to ${body} it was answered ${sorted.join()}, and journalled ${written.join()}`);
    }
    const first = inOrder.indexOf('SUCCESS');
    if (!mayChange && lasting.has(body) && first !== -1 && inOrder.includes('FAILURE', first))
      throw new Error(`approved, and then refused in one instant: ${shown(entries)}`);
  }
}

function compare(
  entry: JournalEntry,
  foretold: Foretold,
  model: SourceModel,
  { nowMs, dependsOnPrices }: { readonly nowMs: number | undefined; readonly dependsOnPrices: boolean },
): void {
  const { type, verdict, code, of, claims } = entry;
  if (!isDeepStrictEqual({ type, verdict, code, of, claims, taken: foretold.taken }, foretold)) {
    throw differs('the journal and the model differ', entry, foretold);
  }
  const revision = scripted(model.inForce)?.release.revision ?? '';
  if (type !== 'notice' && code !== 'FROZEN' && entry.revision !== revision) {
    throw differs(`decided under another revision than ${revision}`, entry, foretold);
  }
  const prices = dependsOnPrices ? model.prices.version : 0;
  if (type !== 'notice' && code !== 'FROZEN' && pricesOf(entry.detail) !== prices) {
    throw differs(`decided with other prices than those of version ${prices}`, entry, foretold);
  }
  if (nowMs !== undefined && entry.atMs !== nowMs) throw differs(`not at ${nowMs}`, entry, foretold);
}

/** How a claim fared, so that a test sees that chance has been everywhere. */
function fared(result: ClaimResult): string {
  const { holds } = result;
  const how = holds ? 'holds' : 'fails';
  if (result.type === 'window') return result.reserved > 0n ? `window reserved, ${how}` : `window ${how}`;
  if (result.type === 'list') return result.missing ? 'list missing' : `list ${how}`;
  if (result.type === 'aged') {
    if (holds) return 'aged holds';
    return result.missing ? 'aged missing' : result.added.length === 0 ? 'aged absent' : 'aged young';
  }
  if (result.type === 'mark') return result.markedAtMs === 0 ? `mark ${how}, never made` : `mark ${how}`;
  if (result.type === 'order') return `order ${result.order}`;
  if (result.type === 'approval') return `approval ${result.approval}`;
  if (result.type === 'distinct') return `distinct ${how}, ${result.further === 0 ? 'known' : 'further'}`;
  if (result.type === 'refusals') return result.lockedAtMs === 0 ? 'refusals counted' : `locked out, ${how}`;
  if (result.type === 'not-checked') return 'not checked';
  if (holds) return 'speed-up holds';
  return result.approvedAtMs === 0
    ? 'speed-up of nothing'
    : result.speedUps > 0
      ? 'speed-up again'
      : 'speed-up late';
}

async function entriesAfter(store: Store, source: Source, after: string): Promise<readonly JournalEntry[]> {
  const found: JournalEntry[] = [];
  for (;;) {
    const page = await store.entries({ source, after: found.at(-1)?.id ?? after, limit: 1000 });
    found.push(...page);
    if (page.length < 1000) return found;
  }
}

function differs(what: string, entry: JournalEntry, foretold: Foretold | undefined): Error {
  return new Error(`${what}: journalled ${shown(entry)}, foretold ${shown(foretold)}`);
}

function shown(value: unknown): string {
  return JSON.stringify(value, (_name, each: unknown) => (typeof each === 'bigint' ? `${each}` : each), 1);
}
