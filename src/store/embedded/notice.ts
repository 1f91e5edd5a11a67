import type { NoticeRequest, NoticeResult } from '../store.ts';
import type { SettleTables } from './settle.ts';
import { noticeCode, withTxid } from './subject.ts';

/** The atomic step that NoticeResult describes, at an instant; run inside a transaction. */
export function notice(
  { releases, subjects, journal }: SettleTables,
  request: NoticeRequest,
  atMs: number,
): NoticeResult {
  const { source, subject, terms, txid, detail } = request;
  const found = subjects.find(source, subject);
  const known = found?.terms === terms ? found : undefined;
  const isNew = txid !== '' && known?.txids.includes(txid) !== true;
  const code = noticeCode(known, { isNew, frozen: releases.inForce().isFrozen });
  const verdict = code === 'NOTED' ? 'SUCCESS' : 'FAILURE';
  if (known !== undefined && isNew) subjects.save(source, subject, withTxid(known, txid), atMs);
  const id = journal.append({ source, atMs, type: 'notice', subject, verdict, code, detail });
  return { id, atMs, verdict, code };
}
