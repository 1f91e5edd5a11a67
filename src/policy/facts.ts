import type { Amount } from '../values/amount.ts';
import type { Json } from '../values/canonical.ts';

/**
 * What evaluation needs beside the policies and the callback. All of it is given, so that a recorded callback
 * can be judged again.
 */
export interface Facts {
  readonly nowMs: number;
  /** The scheme that a payment was signed with; undefined for a co-signer, whose callbacks are not signed. */
  readonly scheme: string | undefined;
  readonly prices: PriceTable;
  /**
   * What services and modules answered, by {@link pluginQuestionKey}. A question without an answer counts as
   * failed.
   */
  readonly answers: ReadonlyMap<string, PluginAnswer>;
}

/**
 * The prices in force for all sources, in one currency of the operator's choice. Each change of any price is
 * a version.
 */
export interface PriceTable {
  /** 0 while no price was ever set. */
  readonly version: number;
  /** By asset, as callbacks name it in `symbol`. */
  readonly prices: ReadonlyMap<string, Price>;
}

export interface Price {
  /** Of one whole unit of the asset, in units of 10^-36. */
  readonly price: Amount;
  /** The instant of which it is true. */
  readonly asOfMs: number;
}

/**
 * What must be asked of somebody before a rule can judge: a service over HTTP, or a module in a thread of its
 * own.
 */
export interface PluginQuestion {
  readonly of: 'service' | 'module';
  /** As the settings name it. */
  readonly name: string;
  /** What the policy gives it, as texts, lists and objects. */
  readonly parameters: Json;
}

/** `failed` is no answer: refused like a `no`, and told apart for whoever has to mend it. */
export interface PluginAnswer {
  readonly verdict: 'yes' | 'no' | 'failed';
  /** A sentence: what was answered, or what failed. At most 500 characters. */
  readonly because: string;
}

export const NO_PRICES: PriceTable = { version: 0, prices: new Map() };

/** Facts at an instant; without more, nothing else is known. */
export function factsAt(nowMs: number, more: Partial<Omit<Facts, 'nowMs'>> = {}): Facts {
  return { nowMs, scheme: undefined, prices: NO_PRICES, answers: new Map(), ...more };
}
