import { usageError } from '../errors.ts';
import type { Control, Freeze, LiftedFreeze, Unfreeze } from './store.ts';

/** The most freezes that can be in effect at the same time: see Releases.freeze. */
export const FREEZES_MAX = 100;
/** The number of lifted freezes that {@link Control} keeps. */
export const LIFTED_MAX = 20;
const REASON_MAX = 1000;
const BY_MAX = 200;

/** Throws USAGE if the reason or the author is too long to be kept and shown with a hundred freezes. */
export function assertFreeze({ reason, by }: Pick<Freeze, 'reason' | 'by'>): void {
  const bounds = [
    ['reason', reason, REASON_MAX],
    ['author', by, BY_MAX],
  ] as const;
  for (const [what, text, most] of bounds) {
    if (text.length <= most) continue;
    throw usageError(
      `the ${what} of the freeze has ${text.length} characters, and nothing was frozen; give at most ${most}`,
      { what, characters: text.length },
    );
  }
}

/** Throws USAGE if the reason is too long to be kept. */
export function assertUnfreeze({ reason }: Required<Pick<Unfreeze, 'reason'>>): void {
  if (reason.length <= REASON_MAX) return;
  throw usageError(
    `the reason of the unfreeze has ${reason.length} characters, and nothing was lifted; give at most ${REASON_MAX}`,
    { what: 'reason', characters: reason.length },
  );
}

/** The detail of a journal entry of type `freeze`, as JSON. Each source's journal gets one. */
export interface FreezeDetail {
  readonly change: 'freeze' | 'unfreeze';
  readonly by: string;
  /** Why freezes were lifted, if somebody said so. */
  readonly reason?: string;
  readonly atMs: number;
  /** The freeze that was added, or the freezes that were lifted. */
  readonly freezes: readonly Freeze[];
  /** The ids of the freezes in effect afterwards. */
  readonly standing: readonly string[];
}

/** The freezes for lost data, oldest first. Approvals stop until an operator acknowledges each of them. */
export function lossesIn(frozen: Control['frozen']): readonly Freeze[] {
  return frozen.filter(({ kind }) => kind === 'loss');
}

/** Whether freezes are in effect, and each of them excepts what people approve. */
export const onlyApprovedPass = (frozen: Control['frozen']): boolean =>
  frozen.length > 0 && frozen.every(({ kind }) => kind === 'except-approved');

/** What a freeze excepts, after a comma, and before what `end` is; the empty text for nothing. */
export const exceptionText = ({ kind }: { readonly kind?: string | undefined }, end = ''): string =>
  kind === 'except-approved' ? `, except what people approve${end}` : '';

/** `f3 by ada: drill`; `f3 by ada, except what people approve: drill`. */
export function freezeText({ id, kind, by, reason }: Freeze): string {
  return `${id} by ${by}${exceptionText({ kind })}: ${reason}`;
}

/** The difference between two readings of the freezes. */
export interface FreezeChanges {
  readonly added: readonly Freeze[];
  /** `liftedBy` is undefined if the store no longer keeps who lifted the freeze. */
  readonly lifted: readonly (Freeze & { readonly liftedBy: string | undefined })[];
}

export function freezeChanges(
  before: Pick<Control, 'frozen'> | undefined,
  now: Pick<Control, 'frozen' | 'lifted'>,
): FreezeChanges {
  const earlier = before?.frozen ?? [];
  const has = (freezes: readonly Freeze[], { id, reason }: Freeze): boolean =>
    freezes.some((freeze) => freeze.id === id && freeze.reason === reason);
  const liftedBy = (id: string): string | undefined =>
    now.lifted.findLast((each: LiftedFreeze) => each.id === id)?.by;
  return {
    added: now.frozen.filter((freeze) => !has(earlier, freeze)),
    lifted: earlier
      .filter(({ id }) => !now.frozen.some((freeze) => freeze.id === id))
      .map((freeze) => ({ ...freeze, liftedBy: liftedBy(freeze.id) })),
  };
}
