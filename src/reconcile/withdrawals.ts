import {
  type Answered,
  type Approved,
  type Notification,
  type SourceJournal,
  type Success,
  answeredOf,
} from './approvals.ts';
import type { ClassName, Item, Side } from './classes.ts';
import {
  type Refusal,
  type SourceParts,
  type SourceResult,
  approvalOf,
  approvedSide,
  completeJournal,
  isOfDay,
  judgeEarlier,
  judgeRelease,
  releaseNote,
  releaseOf,
  sideText,
} from './source.ts';

/**
 * Reconciles the approved withdrawals and web3 transactions of a source with its notifications (section 6).
 */
export async function reconcileWithdrawals(parts: SourceParts): Promise<SourceResult> {
  const { journal, refusals } = await completeJournal(
    parts,
    ({ successes }) => !successes.some(({ repeats, speedUp }) => !repeats && !speedUp),
  );
  function* items(isWanted: (item: Item) => boolean): Generator<Item> {
    for (const [name, approved] of journal.subjects) {
      yield* itemsOf({ parts, journal, name, approved, refusal: refusals.get(name) }).filter(isWanted);
    }
  }
  return {
    others: () => items((item) => item.class !== 'matched'),
    matched: () => items((item) => item.class === 'matched'),
    ahead: [],
  };
}

/** A withdrawal or web3 transaction. */
interface Subject {
  readonly parts: SourceParts;
  readonly journal: SourceJournal;
  readonly name: string;
  readonly approved: Approved;
  readonly refusal: Refusal | undefined;
}

function* itemsOf(subject: Subject): Generator<Item> {
  const { parts, journal, name, approved } = subject;
  const { day, settleMs } = parts;
  yield* signedItems(subject);
  const answered = approvalOf(approved, journal, parts);
  if (answered === undefined) return;
  const isSigned = approved.notifications.some(
    (signed) =>
      signed.atMs < day.untilMs &&
      successesBefore(approved, signed).some(({ entry }) => entry === answered.entry),
  );
  if (isSigned) return;
  const release = judgeRelease(name, answered, journal, parts);
  if (release !== undefined) {
    yield itemOf(subject, 'released', { answered, note: release.note });
    return;
  }
  if (!isOfDay(name, answered, parts)) return;
  if (!answered.delivered) yield itemOf(subject, 'approved-late', { answered });
  else if (answered.atMs >= day.untilMs - settleMs) yield itemOf(subject, 'settling', { answered });
  else yield itemOf(subject, 'approved-not-signed', { answered, note: carriedNote(parts, name) });
}

/**
 * The notifications of the day, judged with those before it. A txid that comes again with the same terms is a
 * repeat, which says nothing more. A notification without txid may be about any signature, so each counts as
 * another one.
 */
function* signedItems(subject: Subject): Generator<Item> {
  const { day } = subject.parts;
  const { approved, journal } = subject;
  const txids = new Set<string>();
  const seen = new Set<string>();
  let unnamed = 0;
  let isSettled = false;
  for (const signed of approved.notifications) {
    if (signed.atMs >= day.untilMs) return;
    const isNew = !txids.has(signed.txid);
    if (signed.txid === '') unnamed++;
    else txids.add(signed.txid);
    const answered = answeredOf({ successes: successesBefore(approved, signed) }, journal);
    const isRepeat = signed.txid !== '' && seen.has(`${signed.txid} ${signed.terms}`);
    seen.add(`${signed.txid} ${signed.terms}`);
    // What was signed without approval is judged again once there is one.
    if (isRepeat && (isSettled || answered === undefined)) continue;
    const found = isSettled
      ? laterItem(subject, signed, isNew ? { txids: txids.size, unnamed } : undefined)
      : firstItem(subject, signed, answered);
    if (answered !== undefined) isSettled = true;
    if (signed.atMs < day.fromMs) continue;
    if (found !== undefined) yield found;
    if (signed.code === 'TXID_UNEXPECTED' && isNew && found?.class !== 'signed-twice')
      yield itemOf(subject, 'txid-unexpected', { signed, note: 'its approvals allow as many txids' });
  }
}

/** The first notification after the approval, or one without approval. */
function firstItem(subject: Subject, signed: Notification, answered: Answered | undefined): Item {
  const { parts, journal, approved, name, refusal } = subject;
  if (answered === undefined)
    return itemOf(subject, 'signed-without-approval', { signed, note: refusalNote(refusal) });
  if (signed.code === 'SIGNED_AFTER_RELEASE') {
    const release = releaseOf(name, journal, parts);
    const note = release === undefined ? '' : releaseNote(release, parts);
    return itemOf(subject, 'signed-after-release', { signed, answered, note });
  }
  if (signed.terms !== approved.terms || signed.code === 'SIGNED_WITHOUT_APPROVAL')
    return itemOf(subject, 'signed-different', { signed, answered, note: termsNote(signed, approved) });
  if (!answered.delivered)
    return itemOf(subject, 'signed-after-failure', { signed, answered, note: 'see the entry of type late' });
  const earlier = judgeEarlier(name, answered, parts);
  if (earlier === undefined || earlier.what === 'expected')
    return itemOf(subject, 'matched', { signed, answered, note: earlier?.note ?? '' });
  const note = `approved ${new Date(answered.atMs).toISOString()}; ${earlier.note}`;
  return itemOf(subject, 'signed-late', { signed, note });
}

/** A further notification. `count`: how many signatures there are with this one; undefined if it is no new one. */
function laterItem(
  subject: Subject,
  signed: Notification,
  count: { readonly txids: number; readonly unnamed: number } | undefined,
): Item | undefined {
  const { approved } = subject;
  if (signed.terms !== approved.terms)
    return itemOf(subject, 'signed-twice', { signed, note: termsNote(signed, approved) });
  if (count === undefined) return undefined;
  const { txids, unnamed } = count;
  const [signatures, allowed] = [txids + unnamed, 1 + speedUpsBefore(approved, signed)];
  const counted =
    unnamed === 0 ? `${txids} txids` : `${signatures} signatures, ${unnamed} of them without txid`;
  const name = signatures > allowed ? 'signed-twice' : 'speed-up';
  return itemOf(subject, name, { signed, note: `${counted}, and approvals for ${allowed}` });
}

function itemOf(
  { parts: { source }, approved }: Subject,
  name: ClassName,
  {
    signed,
    answered,
    note = '',
  }: { readonly signed?: Notification; readonly answered?: Answered; readonly note?: string },
): Item {
  return {
    class: name,
    flow: approved.kind === 'web3' ? 'web3' : 'transfer',
    source,
    id: approved.id,
    ours: answered && approvedSide(source, approved, answered),
    theirs: signed && signedSide(signed),
    note,
  };
}

/** By the order of the journal: several entries may have the same millisecond. */
const successesBefore = ({ successes }: Approved, { after }: Notification): readonly Success[] =>
  successes.slice(0, after);

const speedUpsBefore = (approved: Approved, signed: Notification): number =>
  successesBefore(approved, signed).filter(({ speedUp, repeats }) => speedUp && !repeats).length;

const signedSide = ({ coin, amount, atMs, txid }: Notification): Side => ({
  coin,
  amount,
  user: '',
  time: new Date(atMs).toISOString(),
  place: txid === '' ? 'without txid' : txid,
});

function termsNote(signed: Notification, approved: Approved): string {
  const what =
    signed.terms === approved.terms
      ? `the journal noted ${signed.code}`
      : sideText(signed) === sideText(approved)
        ? 'another address, memo or other term'
        : `${sideText(signed)} was signed and ${sideText(approved)} approved`;
  return `${what}; see entry ${signed.entry}`;
}

const refusalNote = (refusal: Refusal | undefined): string =>
  refusal === undefined
    ? 'the journal has no sign_start about it'
    : `${refusal.code} at ${new Date(refusal.atMs).toISOString()}, entry ${refusal.entry}`;

function carriedNote({ earlier }: SourceParts, subject: string): string {
  const carried = earlier.settling.get(subject);
  return carried === undefined ? '' : `carried from item ${carried}`;
}
