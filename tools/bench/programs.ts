import type { Sending } from './callbacks.ts';
import {
  ALTERNATIVE_RULES,
  BLOCKED,
  COSIGNER_RULES,
  FEW_RULES,
  LIST_RULES,
  MANY_RULES,
  rulesInAll,
} from './policies.ts';

/** One row: what runs, what it is sent, and what it must answer. */
export interface Program {
  readonly name: string;
  readonly runs: 'floor' | 'redis' | 'embedded';
  readonly policies: string;
  readonly sending: Sending;
  readonly answer: 'SUCCESS' | 'FAILURE';
  /** Processes on one store, behind nothing: each takes its share of the connections. */
  readonly processes: number;
  /** Users on the list that the policies look into. */
  readonly listed: number;
  /** Subjects that Redis knows before. */
  readonly subjects: number;
}

/** A row with what differs from five rules on Redis, one process, paid by RSA. */
export function program(name: string, differs: Partial<Program> = {}): Program {
  return {
    name,
    runs: 'redis',
    policies: FEW_RULES,
    sending: 'rsa',
    answer: 'SUCCESS',
    processes: 1,
    listed: 0,
    subjects: 0,
    ...differs,
  };
}

const MANY = { policies: MANY_RULES, listed: BLOCKED.entries };

export const FLOOR = program('floor', { runs: 'floor' });
export const FIVE_RULES = program('rsa, 5 rules');
export const TWENTY_RULES = program('rsa, 20 rules of 100 policies', MANY);
export const EMBEDDED = program('embedded: rsa, 5 rules', { runs: 'embedded' });
export const EMBEDDED_MANY = program('embedded: rsa, 20 rules', { ...MANY, runs: 'embedded' });
export const BAD_SIGNATURES = program('bad signatures', { sending: 'bad signatures', answer: 'FAILURE' });
export const OVERSIZED = program('oversized bodies', { sending: 'oversized', answer: 'FAILURE' });

/** The rows by number of connections; the floor first, to which the others are compared. */
export const LOADS: readonly { readonly connections: number; readonly programs: readonly Program[] }[] = [
  { connections: 1, programs: [FLOOR, FIVE_RULES, TWENTY_RULES, EMBEDDED] },
  {
    connections: 32,
    programs: [
      FLOOR,
      FIVE_RULES,
      program('rsa, 5 rules in alternatives', { policies: ALTERNATIVE_RULES }),
      TWENTY_RULES,
      program('rsa, 20 rules, 2 processes', { ...MANY, processes: 2 }),
      EMBEDDED,
      EMBEDDED_MANY,
      program('md5, 5 rules', { sending: 'md5' }),
      program('rsa-envelope, 5 rules', { sending: 'rsa-envelope' }),
      program('withdrawal, 5 rules', { sending: 'withdrawal', policies: COSIGNER_RULES }),
      program('web3, call data', { sending: 'web3', policies: COSIGNER_RULES }),
      program('repeats', { sending: 'repeats' }),
      program('refusals', { sending: 'refusals', answer: 'FAILURE' }),
      BAD_SIGNATURES,
      OVERSIZED,
    ],
  },
  { connections: 256, programs: [FLOOR, TWENTY_RULES, EMBEDDED] },
];

/** What grows, from row to row; each row is compared to the first, at c=32. */
export const GROWTHS: readonly { readonly of: string; readonly programs: readonly Program[] }[] = [
  {
    of: 'subjects in Redis',
    programs: [1000, 100_000, 10_000_000].map((subjects) =>
      program(`${subjects} subjects in Redis`, { subjects }),
    ),
  },
  {
    of: 'entries of a list',
    programs: [10, 1000, 100_000, 1_000_000].map((listed) =>
      program(`${listed} entries of a list`, { listed, policies: LIST_RULES }),
    ),
  },
  {
    of: 'rules in force',
    programs: [5, 101, 1001].map((rules) =>
      program(`${rules} rules in force`, { policies: rulesInAll(rules) }),
    ),
  },
];
