import type { ClassName } from '../../src/reconcile/classes.ts';
import type { Fault } from '../../packages/sandbox/faults.ts';

/** A fault of the sandbox that makes its bill, or what its co-signer signs, differ from what was approved. */
export type Discrepancy = Extract<Fault, `bill-${string}` | `sign-${string}`>;

/** An exception that a reconciliation must report. */
export interface Expected {
  readonly class: ClassName;
  readonly id: string;
  /** 0 for the day of the order, 1 for the next day. */
  readonly day: 0 | 1;
}

/** Of an order, withdrawal or transaction that is sped up so many times. */
type Expectation = (id: string, speedUps: number) => readonly Expected[];

const onDay = (name: ClassName, id: string, day: 0 | 1 = 0): Expected => ({ class: name, id, day });
/** In the first round and in each speed-up. */
const eachTime =
  (name: ClassName): Expectation =>
  (id, speedUps) =>
    Array.from({ length: 1 + speedUps }, () => onDay(name, id));
const alone =
  (name: ClassName): Expectation =>
  (id) => [onDay(name, id)];

/** What the reconciliation must say about the order, withdrawal or transaction with a fault, and nothing more. */
const EXPECTATIONS: Readonly<Record<Discrepancy, Expectation>> = {
  'bill-omit': alone('approved-not-billed'),
  'bill-twice': alone('billed-twice'),
  'bill-amount': alone('billed-different'),
  'bill-user': alone('billed-different'),
  'bill-day': (id) => [onDay('approved-not-billed', id), onDay('billed-late', id, 1)],
  'bill-invented': (id) => [onDay('billed-never-approved', `invented-${id}`)],
  'bill-refused': alone('billed-never-approved'),
  'sign-unasked': eachTime('signed-without-approval'),
  'sign-refused': eachTime('signed-without-approval'),
  'sign-amount': alone('signed-different'),
  'sign-address': alone('signed-different'),
  'sign-twice': eachTime('signed-twice'),
  'sign-speed-up': alone('signed-twice'),
};

export const expectedOf = (fault: Discrepancy, id: string, { speedUps = 0 } = {}): readonly Expected[] =>
  EXPECTATIONS[fault](id, speedUps);

export const isDiscrepancy = (fault: string): fault is Discrepancy => Object.hasOwn(EXPECTATIONS, fault);

export const DISCREPANCIES: readonly Discrepancy[] = Object.keys(EXPECTATIONS).filter(isDiscrepancy);
