import type { DatabaseSync } from 'node:sqlite';
import type { Control, HistoryEntry, Push, Releases } from '../store.ts';
import { integer, text } from './rows.ts';

type PushResult = Awaited<ReturnType<Releases['push']>>;

export interface ReleaseTables {
  control(): Control;
  push(push: Push, nowMs: number): PushResult;
  document(revision: string): string | undefined;
  history(limit: number): readonly HistoryEntry[];
  /** Undefined lifts the freeze. */
  freeze(freeze: { readonly reason: string; readonly by: string } | undefined, nowMs: number): Control;
}

export function createReleases(connection: DatabaseSync): ReleaseTables {
  const find = connection.prepare('SELECT * FROM control');
  const putInForce = connection.prepare(
    'UPDATE control SET sequence = sequence + 1, revision = ?, at_ms = ? RETURNING sequence',
  );
  const setFrozen = connection.prepare(
    `UPDATE control
     SET sequence = sequence + 1, frozen_reason = ?, frozen_by = ?, frozen_at_ms = ?, at_ms = ?`,
  );
  const keep = connection.prepare('INSERT INTO release VALUES (?, ?) ON CONFLICT DO NOTHING');
  const remember = connection.prepare('INSERT INTO history VALUES (?, ?, ?, ?, ?)');
  const findDocument = connection.prepare('SELECT document FROM release WHERE revision = ?');
  const newest = connection.prepare('SELECT * FROM history ORDER BY sequence DESC LIMIT ?');

  const control = (): Control => {
    const row = find.get() ?? {};
    const frozen = row['frozen_at_ms'] !== null;
    return {
      sequence: integer(row, 'sequence'),
      revision: text(row, 'revision'),
      frozen: frozen
        ? {
            reason: text(row, 'frozen_reason'),
            by: text(row, 'frozen_by'),
            atMs: integer(row, 'frozen_at_ms'),
          }
        : undefined,
      prices: integer(row, 'prices'),
    };
  };

  return {
    control,
    push({ revision, document, expected, by, message }, nowMs) {
      const before = control();
      if (before.revision !== expected) return { outcome: 'conflict', control: before };
      keep.run(revision, document);
      const sequence = integer(putInForce.get(revision, nowMs) ?? {}, 'sequence');
      remember.run(sequence, revision, by, message, nowMs);
      return { outcome: 'in-force', control: control() };
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
      })),
    freeze(freeze, nowMs) {
      setFrozen.run(freeze?.reason ?? null, freeze?.by ?? null, freeze === undefined ? null : nowMs, nowMs);
      return control();
    },
  };
}
