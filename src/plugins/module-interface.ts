/*
 * What a module of one's own is given, and what it must answer: types alone, for `import type` or a JSDoc
 * comment. The same is told to a service over HTTP. A member that is added here leaves `version` as it is;
 * one that changes its meaning does not.
 */

/** A callback, as whoever is asked about it is told of it. */
export interface AskedCallback {
  readonly version: 1;
  /** When it is asked, such as `2026-03-02T10:00:00.000Z`. */
  readonly at: string;
  /** Who sent it, as the settings name it. */
  readonly source: string;
  readonly kind: 'payment' | 'transfer' | 'web3';
  /** `appOrderId` or `request_id`. */
  readonly id: string;
  /** `payment:11321`. Within its source, all callbacks about the same thing share it. */
  readonly subject: string;
  readonly question: {
    readonly type: 'payment' | 'sign_prepare' | 'sign_start' | 'sign_success';
    readonly speedUp: boolean;
  };
  /**
   * The members by the names that policies use, as text; amounts are plain decimals, or `unlimited`.
   * Addresses and call data in hexadecimal have small letters. A member that is not there is left out. Only
   * `to` can be a list: of a withdrawal to several addresses.
   */
  readonly members: Readonly<Record<string, string | readonly string[]>>;
  /** Who is paid how much, an address each. */
  readonly payouts: readonly { readonly to: string; readonly amount: string }[];
  /** What the policy gives, under `with`. */
  readonly with: Readonly<Record<string, string>>;
}

export interface ModuleInput extends AskedCallback {
  /** The module, as the settings name it. */
  readonly module: string;
}

export interface ModuleAnswer {
  readonly verdict: 'yes' | 'no';
  /** A sentence for whoever asks why. Of more than 500 characters the first are kept. */
  readonly because?: string;
}

/** The default export of a module. What it throws, a promise that rejects and any other answer all refuse. */
export type OwnModule = (input: ModuleInput) => ModuleAnswer | Promise<ModuleAnswer>;
