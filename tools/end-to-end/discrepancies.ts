import type { ClassName } from '../../src/reconcile/classes.ts';
import type { Fault } from '../../src/sandbox/faults.ts';

/** A fault of the sandbox that makes its bill, or what its co-signer signs, differ from what was approved. */
export type Discrepancy = Extract<Fault, `bill-${string}` | `sign-${string}`>;

/** An exception that a reconciliation must report. */
export interface Expected {
  readonly class: ClassName;
  readonly id: string;
  /** 0 for the day of the order, 1 for the next day. */
  readonly day: 0 | 1;
}

type Expectation = (id: string) => readonly Expected[];

const onDay = (name: ClassName, id: string, day: 0 | 1 = 0): Expected => ({ class: name, id, day });
const alone =
  (name: ClassName): Expectation =>
  (id) => [onDay(name, id)];

/** What the reconciliation must say about the order, withdrawal or transaction with a fault, and nothing more. */
const EXPECTATIONS: Readonly<Record<Discrepancy, Expectation>> = {
  'bill-omit': alone('approved-not-billed'),
  'bill-twice': alone('billed-twice'),
  'bill-two-days': (id) => [onDay('billed-twice', id, 1)],
  'bill-transfer': alone('billed-twice'),
  'bill-amount': alone('billed-different'),
  'bill-coin': alone('billed-different'),
  'bill-user': alone('billed-different'),
  'bill-swap': alone('billed-different'),
  'bill-order': (id) => [onDay('approved-not-billed', id), onDay('billed-never-approved', `${id}-1`)],
  'bill-type': alone('billed-different'),
  'bill-day': (id) => [onDay('approved-not-billed', id), onDay('billed-late', id, 1)],
  'bill-invented': (id) => [onDay('billed-never-approved', `invented-${id}`)],
  'bill-refused': alone('billed-never-approved'),
  'sign-unasked': alone('signed-without-approval'),
  'sign-refused': alone('signed-without-approval'),
  'sign-early': (id) => [onDay('signed-without-approval', id), onDay('txid-unexpected', id)],
  'sign-amount': alone('signed-different'),
  'sign-address': alone('signed-different'),
  'sign-coin': alone('signed-different'),
  'sign-memo': alone('signed-different'),
  'sign-outputs': alone('signed-different'),
  'sign-input': alone('signed-different'),
  'sign-contract': alone('signed-different'),
  'sign-twice': alone('signed-twice'),
  'sign-speed-up': alone('signed-twice'),
  'sign-silent': alone('approved-not-signed'),
  'sign-late': (id) => [onDay('approved-not-signed', id), onDay('signed-late', id, 1)],
};

export const expectedOf = (fault: Discrepancy, id: string): readonly Expected[] => EXPECTATIONS[fault](id);

const isDiscrepancy = (fault: string): fault is Discrepancy => Object.hasOwn(EXPECTATIONS, fault);

export const DISCREPANCIES: readonly Discrepancy[] = Object.keys(EXPECTATIONS).filter(isDiscrepancy);
