/*
 * The input and the answer of a module: types alone, for `import type` or a JSDoc comment. A service gets the
 * same input over HTTP. A new member does not change `version`; a new meaning of a member does.
 */

/** A callback as a plugin gets it. */
export interface PluginInput {
  readonly version: 1;
  /** The time of the question, such as `2026-03-02T10:00:00.000Z`. */
  readonly at: string;
  /** The sender, by its name in the settings. */
  readonly source: string;
  readonly kind: 'payment' | 'transfer' | 'web3';
  /** `appOrderId` or `request_id`. */
  readonly id: string;
  /** Such as `payment:11321`. All callbacks of one source about the same thing share it. */
  readonly subject: string;
  readonly question: {
    readonly type: 'payment' | 'sign_prepare' | 'sign_start' | 'sign_success';
    readonly speedUp: boolean;
  };
  /**
   * The members by the names that policies use, as text. Amounts are plain decimals, or `unlimited`.
   * Hexadecimal addresses and call data are in lower case. Missing members are left out. Only `to` can be a
   * list: the recipients of a withdrawal to several addresses.
   */
  readonly members: Readonly<Record<string, string | readonly string[]>>;
  /** The amount for each recipient, one entry for each address. */
  readonly payouts: readonly { readonly to: string; readonly amount: string }[];
  /**
   * What a web3 transaction moves: native coins, and the tokens of its call data. Only questions of policies
   * with `movements` have it.
   */
  readonly movements?: readonly PluginMovement[];
  /**
   * Only in a simulation: the answer approves nothing. Answer as for a real callback, but do
   * nothing else, such as asking a person.
   */
  readonly simulated?: true;
  /** The parameters in the policy, under `with`. */
  readonly with: Readonly<Record<string, string>>;
}

export interface PluginMovement {
  readonly type: 'native' | 'transfer' | 'approval';
  /** The asset in the asset table; left out if it does not have the contract. */
  readonly symbol?: string;
  /** The contract of the token; left out for native coins. */
  readonly contract?: string;
  /** The recipient or the spender. */
  readonly to: string;
  /** A plain decimal, `unlimited`, or `unknown`: of an unknown asset, or not in the call data. */
  readonly amount: string;
}

export interface ModuleInput extends PluginInput {
  /** The name of the module in the settings. */
  readonly module: string;
}

export interface ModuleAnswer {
  readonly verdict: 'yes' | 'no';
  /** The reason, as one sentence of at most 500 characters. A longer text is cut. */
  readonly because?: string;
}

/**
 * The default export of a module. A thrown error, a rejected promise and any other answer refuse the
 * callback.
 */
export type OwnModule = (input: ModuleInput) => ModuleAnswer | Promise<ModuleAnswer>;
