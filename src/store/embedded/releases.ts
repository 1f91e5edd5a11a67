import type { DatabaseSync } from 'node:sqlite';
import type { HistoryEntry, Push, Releases } from '../store.ts';
import type { FreezeTables } from './freezes.ts';
import { integer, text } from './rows.ts';

type PushResult = Awaited<ReturnType<Releases['push']>>;

/** All that a decision needs of what is in force. */
export interface InForce {
  readonly revision: string;
  readonly prices: number;
  readonly isFrozen: boolean;
}

export interface ReleaseTables extends FreezeTables {
  inForce(): InForce;
  push(push: Push, nowMs: number): PushResult;
  document(revision: string): string | undefined;
  history(limit: number): readonly HistoryEntry[];
}

export function createReleases(connection: DatabaseSync, freezes: FreezeTables): ReleaseTables {
  const find = connection.prepare('SELECT revision, prices, frozen_at_ms FROM control');
  const putInForce = connection.prepare(
    'UPDATE control SET sequence = sequence + 1, revision = ?, at_ms = ? RETURNING sequence',
  );
  const keep = connection.prepare('INSERT INTO release VALUES (?, ?) ON CONFLICT DO NOTHING');
  const remember = connection.prepare('INSERT INTO history VALUES (?, ?, ?, ?, ?)');
  const findDocument = connection.prepare('SELECT document FROM release WHERE revision = ?');
  const newest = connection.prepare('SELECT * FROM history ORDER BY sequence DESC LIMIT ?');

  return {
    ...freezes,
    push({ revision, document, expected, by, message }, nowMs) {
      const before = freezes.control();
      if (before.revision !== expected) return { outcome: 'conflict', control: before };
      keep.run(revision, document);
      const sequence = integer(putInForce.get(revision, nowMs) ?? {}, 'sequence');
      remember.run(sequence, revision, by, message, nowMs);
      return { outcome: 'in-force', control: freezes.control() };
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
    inForce() {
      const row = find.get() ?? {};
      return {
        revision: text(row, 'revision'),
        prices: integer(row, 'prices'),
        isFrozen: row['frozen_at_ms'] !== null,
      };
    },
  };
}
