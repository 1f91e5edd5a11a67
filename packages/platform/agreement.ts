import type { Operation } from './operation.ts';
import { operations } from './operations/registry.ts';

/** The schemes of requests (section 5). */
export const SCHEMES = ['md5', 'rsa', 'rsa-envelope'] as const;
/** What is tested of an operation over HTTP: the client, the sandbox and the command. */
export const SIDES = ['client', 'sandbox', 'command'] as const;

/**
 * A cell of the table in docs/operations.md. The test of this name in
 * test/scenarios/client-and-sandbox-agree.test.ts proves it.
 */
export interface Cell {
  readonly name: string;
  readonly operation: Operation;
  readonly scheme: (typeof SCHEMES)[number];
  readonly side: (typeof SIDES)[number];
}

/** A cell for each operation of the registry, scheme and side. */
export const cells: readonly Cell[] = operations.flatMap((operation) =>
  SCHEMES.flatMap((scheme) =>
    SIDES.map((side) => ({ name: `${operation.name}, ${scheme}, ${side}`, operation, scheme, side })),
  ),
);
