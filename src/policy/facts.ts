import type { Movement } from '../callback/callback.ts';
import type { Amount } from '../values/amount.ts';
import { type Json, canonicalJson, sha256Hex } from '../values/canonical.ts';

/** How far the instant of a price may be ahead of now, because clocks differ. */
export const PRICE_AHEAD_MAX_MS = 60_000;

/**
 * The data that evaluation needs in addition to the policies and the callback. With them a recorded callback
 * can be evaluated again.
 */
export interface Facts {
  readonly nowMs: number;
  /** The scheme that signed a payment; undefined for a co-signer, whose callbacks are not signed. */
  readonly scheme: string | undefined;
  /** The group of the source in the settings, across which rules may count. */
  readonly group: string | undefined;
  readonly prices: PriceTable;
  /** The answers of services and modules, by {@link pluginQuestionKey}. A missing answer counts as failed. */
  readonly answers: ReadonlyMap<string, PluginAnswer>;
  /** Undefined if no rule needs it, or if nobody was asked yet. */
  readonly approval?: PeoplesApproval | undefined;
  /** Whether only what people approve may pass, by a freeze that excepts it. */
  readonly onlyApproved: boolean;
}

/** What people have said about exactly this callback. Their signatures were verified. */
export interface PeoplesApproval {
  /** Of the approval request. */
  readonly id: string;
  readonly version: number;
  /** The names of different people, each with a key of their own. None of them made the request. */
  readonly approvers: readonly string[];
  /** When the request was made. */
  readonly createdAtMs: number;
  /** The approvals count before this instant, and before the rule's own time is over. */
  readonly expiresAtMs: number;
  /** True if people have approved an announced order: it must still be announced. */
  readonly order?: true | undefined;
  /** Why none of them counts, such as a rejection: a sentence without its full stop. Empty if they count. */
  readonly because: string;
}

/**
 * The prices in force for all sources, in one currency that the operator chooses. Each change makes a new
 * version.
 */
export interface PriceTable {
  /** 0 before the first change of prices. */
  readonly version: number;
  /** By asset: the text in `symbol` of callbacks. */
  readonly prices: ReadonlyMap<string, Price>;
}

export interface Price {
  /** The price of one whole unit of the asset, in units of 10^-36. */
  readonly price: Amount;
  /** The instant at which the price was true. */
  readonly asOfMs: number;
}

/**
 * A question that a rule asks before it is evaluated: of a service over HTTP, or of a module in its own
 * thread.
 */
export interface PluginQuestion {
  readonly type: 'service' | 'module';
  /** The plugin's name in the settings. */
  readonly name: string;
  /** What the policy passes to the plugin: texts, lists and objects. */
  readonly parameters: Json;
  /** What the callback moves, in a policy with movements, as the policy and its asset table read it. */
  readonly movements?: readonly Movement[];
}

/** `failed` refuses like `no`, and says that the plugin needs to be repaired. */
export interface PluginAnswer {
  readonly verdict: 'yes' | 'no' | 'failed';
  /** The plugin's sentence, or the reason why it failed. At most 500 characters. */
  readonly because: string;
}

/**
 * The key of a question's answer. Equal questions have the same key, and are sent once. An answer about
 * movements is no answer about others, which another asset table or policy reads in the same call data.
 */
export function pluginQuestionKey({ type, name, parameters, movements }: PluginQuestion): string {
  const key = `${type}:${name}:${canonicalJson(parameters)}`;
  if (movements === undefined) return key;
  const texts = movements.map((each) => [
    each.type,
    each.symbol,
    each.contract,
    each.to,
    String(each.amount),
  ]);
  return `${key}:${sha256Hex(JSON.stringify(texts))}`;
}

export const NO_PRICES: PriceTable = { version: 0, prices: new Map() };

/** Facts at an instant. Facts that `more` leaves out are unknown. */
export function factsAt(nowMs: number, more: Partial<Omit<Facts, 'nowMs'>> = {}): Facts {
  const unknown = {
    scheme: undefined,
    group: undefined,
    prices: NO_PRICES,
    answers: new Map(),
    onlyApproved: false,
  };
  return { nowMs, ...unknown, ...more };
}
