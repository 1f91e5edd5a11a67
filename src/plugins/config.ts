import type { SecretRef } from '../values/secret.ts';

/** The limits on the questions to one plugin. */
export interface Limits {
  /** From a question to its answer, including its time in the queue. */
  readonly timeoutMs: number;
  /** The most questions in flight. */
  readonly concurrency: number;
  /** The most questions in the queue. */
  readonly waiting: number;
  /** After `failures` failures in a row, the plugin gets no question for `cooldownMs`. */
  readonly breaker: { readonly failures: number; readonly cooldownMs: number };
}

/** A service in the settings. */
export interface ServiceConfig extends Limits {
  readonly name: string;
  readonly url: string;
  readonly secret: SecretRef;
  /** A PEM file with the certificate authority of the service. */
  readonly ca?: string | undefined;
}

/** A module in the settings. */
export interface ModuleConfig extends Limits {
  readonly name: string;
  readonly file: string;
  /** The SHA-256 of the file's bytes: 64 lower-case hexadecimal digits. */
  readonly sha256: string;
  /** For each thread. */
  readonly memoryMb: number;
}
