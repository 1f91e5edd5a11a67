import { z } from 'zod';
import { JOURNAL_TYPES, type JournalEntry } from '../store.ts';
import { readClaims } from './claims.ts';
import { expectReply, pairs, text } from './reply.ts';

/** An id of a stream: milliseconds, and a number within that millisecond. */
const ID = /^(0|[1-9]\d{0,15})-(0|[1-9]\d{0,15})$/;

export function isEntryId(id: string): boolean {
  return ID.test(id);
}

/** When the entry was written; NaN if the text is not an id. */
export function atMsOf(id: string): number {
  return Number(ID.exec(id)?.[1] ?? Number.NaN);
}

/** Negative if `a` was written before `b`. */
export function compareIds(a: string, b: string): number {
  return atMsOf(a) - atMsOf(b) || Number(ID.exec(a)?.[2]) - Number(ID.exec(b)?.[2]);
}

const entries = z.array(z.tuple([text, pairs]));
const types = z.enum(JOURNAL_TYPES);
const verdicts = z.enum(['SUCCESS', 'FAILURE', '']);

/** Reads the reply to XRANGE as entries of the source's journal. */
export function readEntries(source: string, reply: unknown): JournalEntry[] {
  return expectReply(entries, `the journal of ${source}`, reply).map(([id, fields]) => ({
    id,
    source,
    atMs: atMsOf(id),
    type: expectReply(types, `the type of entry ${id}`, fields.get('type')),
    subject: fields.get('subject') ?? '',
    verdict: expectReply(verdicts, `the verdict of entry ${id}`, fields.get('verdict')),
    code: fields.get('code') ?? '',
    revision: fields.get('revision') ?? '',
    of: fields.get('of') ?? '',
    claims: readClaims(fields.get('claims') ?? ''),
    detail: fields.get('detail') ?? '',
  }));
}
