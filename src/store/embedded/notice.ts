import type { NotificationRequest, NotificationResult } from '../store.ts';
import type { SettleTables } from './settle.ts';
import { notificationCode, withTxid } from './subject.ts';

/** The atomic step that NoticeResult describes, at an instant; run inside a transaction. */
export function notice(
  { releases, subjects, journal }: SettleTables,
  request: NotificationRequest,
  atMs: number,
): NotificationResult {
  const { source, subject, terms, txid, detail } = request;
  const found = subjects.find(source, subject);
  const known = found?.terms === terms ? found : undefined;
  const isNew = txid !== '' && known?.txids.includes(txid) !== true;
  const code = notificationCode(known, { isNew, frozen: releases.inForce().isFrozen });
  const verdict = code === 'NOTED' ? 'SUCCESS' : 'FAILURE';
  if (known !== undefined && isNew) subjects.save(source, subject, withTxid(known, txid), atMs);
  const id = journal.append({ source, atMs, type: 'notice', subject, verdict, code, detail });
  return { id, atMs, verdict, code };
}
