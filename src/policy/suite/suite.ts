import type { Kind, Verdict } from '../../callback/callback.ts';
import type { Members } from '../../values/members.ts';
import type { Amount } from '../../values/amount.ts';
import type { PluginAnswer, PluginQuestion } from '../facts.ts';

/** A test of a test file. */
export interface PolicyTest {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly name: string;
  readonly nowMs: number;
  readonly given: GivenState;
  readonly callbacks: readonly TestCallback[];
}

/** The state before the first callback of a test. */
export interface GivenState {
  readonly lists: readonly GivenList[];
  readonly prices: readonly { readonly asset: string; readonly price: Amount; readonly asOfMs: number }[];
  readonly orders: readonly GivenOrder[];
  readonly answers: readonly {
    readonly type: PluginQuestion['type'];
    readonly name: string;
    readonly verdict: PluginAnswer['verdict'];
  }[];
  /** The group of each source that has one. */
  readonly groups: ReadonlyMap<string, string>;
}

export interface GivenList {
  readonly source: string;
  readonly list: string;
  /** Comparable texts. `addedMs` is 0 without `added`. */
  readonly values: readonly { readonly value: string; readonly addedMs: number }[];
}

export interface GivenOrder {
  readonly source: string;
  readonly subject: string;
  readonly members: Readonly<Record<string, string>>;
  readonly expiresMs: number;
}

export interface TestCallback {
  readonly line: number;
  readonly source: string;
  readonly kind: Kind;
  readonly members: Members;
  readonly scheme: string | undefined;
  /** The people who have approved it; undefined if nobody was asked. */
  readonly approvedBy: readonly string[] | undefined;
  /** Since the callback before it. */
  readonly afterMs: number;
  readonly expect: Expectation;
}

/** An absent member may be anything. */
export interface Expectation {
  readonly verdict: Verdict;
  /** `amount-limit#1`, or with the policy before it, `small-payments/amount-limit#1`. */
  readonly rule?: string | undefined;
  readonly code?: string | undefined;
  readonly values?: Readonly<Record<string, string>> | undefined;
  readonly because?: string | undefined;
}

export const NOTHING_GIVEN: GivenState = {
  lists: [],
  prices: [],
  orders: [],
  answers: [],
  groups: new Map(),
};
