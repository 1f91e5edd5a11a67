import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import { FREEZES_MAX, type FreezeDetail, LIFTED_MAX, assertFreeze, assertUnfreeze } from '../freezes.ts';
import {
  type Control,
  type Freeze,
  type HistoryEntry,
  type Push,
  type Releases,
  type Unfreeze,
} from '../store.ts';
import type { JournalTable } from './journal.ts';
import { type Row, integer, text } from './rows.ts';

type PushResult = Awaited<ReturnType<Releases['push']>>;
type FreezeResult = Awaited<ReturnType<Releases['freeze']>>;
type UnfreezeResult = Awaited<ReturnType<Releases['unfreeze']>>;

/** The part of what is in force that a decision depends on. */
export interface InForce {
  readonly revision: string;
  readonly prices: number;
  /** Whether a freeze is in effect that excepts nothing. */
  readonly isFrozen: boolean;
  /** Whether one is in effect that excepts what people approve. */
  readonly onlyApproved: boolean;
}

export interface ReleaseTables {
  inForce(): InForce;
  control(): Control;
  push(push: Push, nowMs: number): PushResult;
  document(revision: string): string | undefined;
  history(limit: number): readonly HistoryEntry[];
  /** Throws USAGE. A restore freezes for lost data. */
  freeze(
    freeze: Pick<Freeze, 'reason' | 'by'> & { readonly kind?: Freeze['kind'] | undefined },
    nowMs: number,
  ): FreezeResult;
  /** Throws USAGE. */
  unfreeze(unfreeze: Unfreeze, nowMs: number): UnfreezeResult;
}

/**
 * The sources that were ever registered. The journal of each gets the entries about freezes and the clock.
 */
export interface SourceTable {
  names(): readonly string[];
  register(sources: readonly string[]): void;
}

export function createReleases(
  connection: DatabaseSync,
  journal: JournalTable,
  sources: SourceTable,
): ReleaseTables {
  const find = connection.prepare(
    `SELECT revision, prices,
       EXISTS (SELECT 1 FROM freeze WHERE lifted_ms IS NULL AND kind <> 'except-approved') AS is_frozen,
       EXISTS (SELECT 1 FROM freeze WHERE lifted_ms IS NULL AND kind = 'except-approved') AS only_approved
     FROM control`,
  );
  const putInForce = connection.prepare(
    'UPDATE control SET sequence = sequence + 1, revision = ?, at_ms = ? RETURNING sequence',
  );
  const saveDocument = connection.prepare('INSERT INTO release VALUES (?, ?) ON CONFLICT DO NOTHING');
  const saveBeside = connection.prepare(
    'INSERT INTO release VALUES (?, ?) ON CONFLICT (revision) DO UPDATE SET document = excluded.document',
  );
  const addHistory = connection.prepare('INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)');
  const findDocument = connection.prepare('SELECT document FROM release WHERE revision = ?');
  const newest = connection.prepare('SELECT * FROM history ORDER BY sequence DESC LIMIT ?');
  const rows = createFreezeRows(connection);

  return {
    ...createFreezing(rows, journal, sources),
    control: rows.control,
    push({ revision, document, beside = {}, serial = 0, expected, by, message }, nowMs) {
      const before = rows.control();
      if (before.revision !== expected) return { outcome: 'conflict', control: before };
      saveDocument.run(revision, document);
      for (const [name, each] of Object.entries(beside)) saveBeside.run(name, each);
      const sequence = integer(putInForce.get(revision, nowMs) ?? {}, 'sequence');
      addHistory.run(sequence, revision, by, message, nowMs, serial);
      return { outcome: 'in-force', control: rows.control() };
    },
    document(revision) {
      const row = findDocument.get(revision);
      return row === undefined ? undefined : text(row, 'document');
    },
    history: (limit) =>
      newest.all(limit).map((row) => ({
        sequence: integer(row, 'sequence'),
        revision: text(row, 'revision'),
        by: text(row, 'by'),
        message: text(row, 'message'),
        atMs: integer(row, 'at_ms'),
        serial: integer(row, 'serial'),
      })),
    inForce() {
      const row = find.get() ?? {};
      return {
        revision: text(row, 'revision'),
        prices: integer(row, 'prices'),
        isFrozen: integer(row, 'is_frozen') !== 0,
        onlyApproved: integer(row, 'only_approved') !== 0,
      };
    },
  };
}

export function createSources(connection: DatabaseSync): SourceTable {
  const all = connection.prepare('SELECT name FROM source ORDER BY name');
  const add = connection.prepare('INSERT INTO source VALUES (?) ON CONFLICT DO NOTHING');
  return {
    names: () => all.all().map((row) => text(row, 'name')),
    register(sources) {
      for (const source of sources) add.run(source);
    },
  };
}

// ---- freezes ----

function createFreezing(
  { control, nextSequence, save, lift }: FreezeRows,
  journal: JournalTable,
  sources: SourceTable,
): Pick<ReleaseTables, 'freeze' | 'unfreeze'> {
  const journalChange = (change: Omit<FreezeDetail, 'standing'>, { frozen }: Control): void => {
    const written: FreezeDetail = { ...change, standing: frozen.map(({ id }) => id) };
    const detail = JSON.stringify(written);
    for (const source of sources.names()) {
      journal.append({ source, atMs: change.atMs, type: 'freeze', detail });
    }
  };
  return {
    freeze({ reason, by, kind = 'operator' }, nowMs) {
      assertFreeze({ reason, by });
      const { frozen } = control();
      const sequence = nextSequence(nowMs);
      const joined =
        kind === 'loss' || frozen.length < FREEZES_MAX
          ? undefined
          : frozen.findLast((each) => each.kind === kind);
      const id = joined?.id ?? `f${sequence}`;
      const freeze: Freeze = { id, kind, reason, by, atMs: nowMs };
      save(joined === undefined ? freeze : { ...freeze, reason: `${reason}${JOINED}` });
      const now = control();
      journalChange({ change: 'freeze', by, atMs: nowMs, freezes: [freeze] }, now);
      return { freeze, control: now };
    },
    unfreeze({ by, reason = '', ids, acknowledgeLoss = false }, nowMs) {
      assertUnfreeze({ reason });
      const before = control();
      const lifted = before.frozen.filter(
        ({ id, kind }) => ids.includes(id) && (kind !== 'loss' || acknowledgeLoss),
      );
      if (lifted.length === 0) return { lifted, control: before };
      lift(lifted, { by, atMs: nowMs, sequence: nextSequence(nowMs) });
      const now = control();
      const why = reason !== '' && { reason };
      journalChange({ change: 'unfreeze', by, ...why, atMs: nowMs, freezes: lifted }, now);
      return { lifted, control: now };
    },
  };
}

interface FreezeRows {
  readonly control: () => Control;
  /** Increments the sequence and returns it. */
  readonly nextSequence: (nowMs: number) => number;
  /** Replaces a freeze of the same id. */
  readonly save: (freeze: Freeze) => void;
  readonly lift: (
    freezes: readonly Freeze[],
    end: { readonly by: string; readonly atMs: number; readonly sequence: number },
  ) => void;
}

function createFreezeRows(connection: DatabaseSync): FreezeRows {
  // One statement, so that the freezes and the row agree even if another process writes.
  const findAll = connection.prepare(
    `SELECT control.*,
       (SELECT json_group_array(json_array(id, kind, reason, by, at_ms) ORDER BY id)
        FROM freeze WHERE lifted_ms IS NULL) AS freezes,
       (SELECT json_group_array(json_array(id, lifted_by, lifted_ms) ORDER BY lifted_in, id)
        FROM freeze WHERE lifted_ms IS NOT NULL) AS lifted
     FROM control`,
  );
  const incrementSequence = connection.prepare(
    'UPDATE control SET sequence = sequence + 1, at_ms = ? RETURNING sequence',
  );
  const saveFreeze = connection.prepare(
    `INSERT INTO freeze (id, kind, reason, by, at_ms) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET reason = excluded.reason, by = excluded.by, at_ms = excluded.at_ms`,
  );
  const lift = connection.prepare(
    'UPDATE freeze SET lifted_by = ?, lifted_ms = ?, lifted_in = ? WHERE id = ?',
  );
  const dropOldLifted = connection.prepare(
    `DELETE FROM freeze WHERE lifted_ms IS NOT NULL AND id NOT IN
       (SELECT id FROM freeze WHERE lifted_ms IS NOT NULL
        ORDER BY lifted_in DESC, id DESC LIMIT ${LIFTED_MAX})`,
  );

  const control = (): Control => controlOf(findAll.get() ?? {});
  const save = ({ id, kind, reason, by, atMs }: Freeze): void => {
    saveFreeze.run(rowIdOf(id), kind, reason, by, atMs);
  };
  return {
    control,
    save,
    nextSequence: (nowMs) => integer(incrementSequence.get(nowMs) ?? {}, 'sequence'),
    lift(freezes, { by, atMs, sequence }) {
      for (const { id } of freezes) lift.run(by, atMs, sequence, rowIdOf(id));
      dropOldLifted.run();
    },
  };
}

/** Added to the reason of a freeze that joins another one: see FREEZES_MAX. */
const JOINED = ' (this id also covers an earlier freeze; see the journal)';

const rowIdOf = (id: string): number => Number(id.slice(1));

const freezeRows = z.array(
  z.tuple([z.int(), z.enum(['operator', 'except-approved', 'loss']), z.string(), z.string(), z.int()]),
);
const liftedRows = z.array(z.tuple([z.int(), z.string(), z.int()]));

function controlOf(row: Row): Control {
  return {
    sequence: integer(row, 'sequence'),
    revision: text(row, 'revision'),
    frozen: storedFreezes(row),
    lifted: parsedColumn(liftedRows, row, 'lifted').map(([id, by, atMs]) => ({ id: `f${id}`, by, atMs })),
    prices: integer(row, 'prices'),
  };
}

function storedFreezes(row: Row): readonly Freeze[] {
  return parsedColumn(freezeRows, row, 'freezes').map(([id, kind, reason, by, atMs]) => ({
    id: `f${id}`,
    kind,
    reason,
    by,
    atMs,
  }));
}

function parsedColumn<T>(schema: z.ZodType<T>, row: Row, column: string): T {
  try {
    return schema.parse(JSON.parse(text(row, column)));
  } catch (thrown) {
    throw new CountersignError(
      'STORE_CORRUPT',
      `the ${column} of the store can't be read; restore the store from a backup`,
      { column },
      thrown,
    );
  }
}
