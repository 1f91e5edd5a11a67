import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import { FREEZES_MAX, type FreezeDetail, LIFTED_MAX, expectFreeze, lossesIn } from '../freezes.ts';
import type { Control, Freeze, Releases, Unfreeze } from '../store.ts';
import type { JournalTable } from './journal.ts';
import { type Row, integer, text } from './rows.ts';
import type { SourceTable } from './sources.ts';

type FreezeResult = Awaited<ReturnType<Releases['freeze']>>;
type UnfreezeResult = Awaited<ReturnType<Releases['unfreeze']>>;

export interface FreezeTables {
  control(): Control;
  /** Throws USAGE. */
  freeze(freeze: Parameters<Releases['freeze']>[0], nowMs: number): FreezeResult;
  unfreeze(unfreeze: Unfreeze, nowMs: number): UnfreezeResult;
}

export function createFreezes(
  connection: DatabaseSync,
  journal: JournalTable,
  sources: SourceTable,
): FreezeTables {
  const { control, adopt, move, add, lift, writeFrozenColumns } = createFreezeRows(connection);
  const journalAct = (act: Omit<FreezeDetail, 'standing'>, { frozen }: Control): void => {
    const written: FreezeDetail = { ...act, standing: frozen.map(({ id }) => id) };
    const detail = JSON.stringify(written);
    for (const source of sources.names()) journal.append({ source, atMs: act.atMs, type: 'freeze', detail });
  };
  return {
    control,
    freeze({ reason, by }, nowMs) {
      expectFreeze({ reason, by });
      const { frozen } = adopt();
      const sequence = move(nowMs);
      const joined = frozen.length < FREEZES_MAX ? undefined : frozen.findLast(isOrdered);
      const id = joined?.id ?? `f${sequence}`;
      const freeze = { id, kind: 'operator', reason, by, atMs: nowMs } as const;
      add(joined === undefined ? freeze : { ...freeze, reason: `${reason}${JOINED}` });
      const now = writeFrozenColumns();
      journalAct({ change: 'freeze', by, atMs: nowMs, freezes: [freeze] }, now);
      return { freeze, control: now };
    },
    unfreeze({ by, ids, acknowledgeLoss = false }, nowMs) {
      const mayLift = new Set(acknowledgeLoss ? ['operator', 'loss'] : ['operator']);
      const before = adopt();
      const lifted = before.frozen.filter(({ id, kind }) => ids.includes(id) && mayLift.has(kind));
      if (lifted.length === 0) return { lifted, control: before };
      lift(lifted, { by, atMs: nowMs, sequence: move(nowMs) });
      const now = writeFrozenColumns();
      journalAct({ change: 'unfreeze', by, atMs: nowMs, freezes: lifted }, now);
      return { lifted, control: now };
    },
  };
}

interface FreezeRows {
  readonly control: () => Control;
  /** A freeze by a version that knows of one only becomes one of several. */
  readonly adopt: () => Control;
  /** Raises the sequence, and returns it. */
  readonly move: (nowMs: number) => number;
  /** In the place of one that has its id. */
  readonly add: (freeze: Freeze) => void;
  readonly lift: (
    freezes: readonly Freeze[],
    end: { readonly by: string; readonly atMs: number; readonly sequence: number },
  ) => void;
  /** Writes what a version reads that knows of one freeze only, after the freezes themselves. */
  readonly writeFrozenColumns: () => Control;
}

function createFreezeRows(connection: DatabaseSync): FreezeRows {
  // One statement, so that the freezes are those of the row, whatever another process writes.
  const findAll = connection.prepare(
    `SELECT control.*,
       (SELECT json_group_array(json_array(id, kind, reason, by, at_ms) ORDER BY id)
        FROM freeze WHERE lifted_ms IS NULL) AS freezes,
       (SELECT json_group_array(json_array(id, lifted_by, lifted_ms) ORDER BY lifted_in, id)
        FROM freeze WHERE lifted_ms IS NOT NULL) AS lifted
     FROM control`,
  );
  const move = connection.prepare('UPDATE control SET sequence = sequence + 1, at_ms = ? RETURNING sequence');
  const setFrozen = connection.prepare(
    'UPDATE control SET frozen_reason = ?, frozen_by = ?, frozen_at_ms = ?',
  );
  const addFreeze = connection.prepare(
    `INSERT INTO freeze (id, kind, reason, by, at_ms) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET reason = excluded.reason, by = excluded.by, at_ms = excluded.at_ms`,
  );
  const lift = connection.prepare(
    'UPDATE freeze SET lifted_by = ?, lifted_ms = ?, lifted_in = ? WHERE id = ?',
  );
  const forgetLifted = connection.prepare(
    `DELETE FROM freeze WHERE lifted_ms IS NOT NULL AND id NOT IN
       (SELECT id FROM freeze WHERE lifted_ms IS NOT NULL ORDER BY lifted_in DESC, id DESC LIMIT ${LIFTED_MAX})`,
  );

  const control = (): Control => controlOf(findAll.get() ?? {});
  const add = ({ id, kind, reason, by, atMs }: Freeze): void => {
    addFreeze.run(rowOf(id), kind, reason, by, atMs);
  };
  return {
    control,
    add,
    adopt() {
      const before = control();
      before.frozen.forEach(add);
      return before;
    },
    move: (nowMs) => integer(move.get(nowMs) ?? {}, 'sequence'),
    lift(freezes, { by, atMs, sequence }) {
      for (const { id } of freezes) lift.run(by, atMs, sequence, rowOf(id));
      forgetLifted.run();
    },
    writeFrozenColumns() {
      const legacy = legacyFreezeOf(standingIn(findAll.get() ?? {}));
      setFrozen.run(legacy?.reason ?? null, legacy?.by ?? null, legacy?.atMs ?? null);
      return control();
    },
  };
}

/** Said of the freezes that share an id: see FREEZES_MAX. */
const JOINED = ' (and what stood under this id before: see the journal)';

const isOrdered = ({ kind }: Freeze): boolean => kind === 'operator';
const rowOf = (id: string): number => Number(id.slice(1));

/** Which freeze a version is told of that knows of one only: a loss before all others. */
const legacyFreezeOf = (frozen: readonly Freeze[]): Freeze | undefined =>
  lossesIn(frozen).at(-1) ?? frozen.at(-1);

const freezeRows = z.array(
  z.tuple([
    z.int(),
    z.enum(['operator', 'loss', 'unknown']).catch('unknown'),
    z.string(),
    z.string(),
    z.int(),
  ]),
);
const liftedRows = z.array(z.tuple([z.int(), z.string(), z.int()]));

function controlOf(row: Row): Control {
  const sequence = integer(row, 'sequence');
  return {
    sequence,
    revision: text(row, 'revision'),
    frozen: row['frozen_at_ms'] === null ? [] : frozenOf(row, sequence),
    lifted: rowsOf(liftedRows, row, 'lifted').map(([id, by, atMs]) => ({ id: `f${id}`, by, atMs })),
    prices: integer(row, 'prices'),
  };
}

function standingIn(row: Row): readonly Freeze[] {
  return rowsOf(freezeRows, row, 'freezes').map(([id, kind, reason, by, atMs]) => ({
    id: `f${id}`,
    kind,
    reason,
    by,
    atMs,
  }));
}

/** At least one. What a version wrote that knows of one freeze only stands beside those of the table. */
function frozenOf(row: Row, sequence: number): readonly Freeze[] {
  const frozen = standingIn(row);
  const [reason, by] = [text(row, 'frozen_reason'), text(row, 'frozen_by')];
  const atMs = integer(row, 'frozen_at_ms');
  const legacy = legacyFreezeOf(frozen);
  const isShown = legacy?.reason === reason && legacy.by === by && legacy.atMs === atMs;
  return isShown ? frozen : [...frozen, { id: `f${sequence}`, kind: 'operator', reason, by, atMs }];
}

function rowsOf<T>(schema: z.ZodType<T>, row: Row, column: string): T {
  try {
    return schema.parse(JSON.parse(text(row, column)));
  } catch (thrown) {
    throw new CountersignError(
      'STORE_CORRUPT',
      `the ${column} of the store can't be read: restore the store from a backup`,
      { column },
      thrown,
    );
  }
}
