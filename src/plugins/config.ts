import type { SecretRef } from '../values/secret.ts';

/** How much whoever is asked may be asked, and when no longer. */
export interface Limits {
  /** From a question to its answer, its wait for a turn included. */
  readonly timeoutMs: number;
  /** Questions under way at once. */
  readonly concurrency: number;
  /** Questions that may wait beyond those. */
  readonly waiting: number;
  /** After so many failures in a row nothing is asked for a while. */
  readonly breaker: { readonly failures: number; readonly cooldownMs: number };
}

/** A service of the settings. */
export interface ServiceConfig extends Limits {
  readonly name: string;
  readonly url: string;
  readonly secret: SecretRef;
  /** A PEM file. */
  readonly ca?: string | undefined;
}

/** A module of the settings. */
export interface ModuleConfig extends Limits {
  readonly name: string;
  readonly file: string;
  /** Of the file's bytes, 64 lower-case hexadecimal digits. */
  readonly sha256: string;
  readonly memoryMb: number;
}
