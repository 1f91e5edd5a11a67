import type { Body } from './json.ts';

/** What happened: a request to the platform, a call of the receiver, or a command. */
export interface Entry {
  readonly number: number;
  /** The time of the sandbox's clock, as ISO 8601 in UTC. */
  readonly at: string;
  readonly kind: 'request' | 'confirmation' | 'cosigner' | 'command';
  /** The operation, or the id of the payment, withdrawal or transaction. */
  readonly about: string;
  readonly scheme: string;
  /** The text that was signed, without secrets; empty if none was. */
  readonly signed: string;
  /** The code of an answer, or the answer of the receiver. */
  readonly outcome: string;
  readonly why: string;
  /** The faults that were applied on purpose. */
  readonly faults: readonly string[];
}

export type NewEntry = Pick<Entry, 'kind' | 'about' | 'outcome' | 'why'> &
  Partial<Pick<Entry, 'scheme' | 'signed' | 'faults'>>;

export interface SandboxLog {
  add(entry: NewEntry): void;
  /** The latest entries, oldest first. */
  latest(count: number): readonly Entry[];
}

/** Older entries are dropped. */
const ENTRIES_MAX = 10_000;

export function createSandboxLog(now: () => number, onEntry: (entry: Entry) => void): SandboxLog {
  const entries: Entry[] = [];
  let number = 0;
  return {
    add(added) {
      const at = new Date(now()).toISOString();
      const entry = { number: ++number, at, scheme: '', signed: '', faults: [], ...added };
      entries.push(entry);
      if (entries.length > ENTRIES_MAX) entries.shift();
      onEntry(entry);
    },
    latest: (count) => entries.slice(-count),
  };
}

const SECRET_MEMBERS: ReadonlySet<string> = new Set(['secret', 'apiKey', 'code', 'token', 'refreshToken']);

/** A copy whose secret values are hidden, for the log. */
export function withoutSecrets(body: Body): Body {
  return new Map(
    [...body].map(([name, value]) =>
      SECRET_MEMBERS.has(name) ? [name, { kind: 'string', text: '(hidden)' }] : [name, value],
    ),
  );
}

/** An entry on one line. */
export function entryLine({ at, kind, about, scheme, signed, outcome, why, faults }: Entry): string {
  const parts = [at, kind, about, scheme, outcome, why === '' ? '' : `because ${why}`];
  if (signed !== '') parts.push(`signed ${signed}`);
  if (faults.length > 0) parts.push(`faults ${faults.join(', ')}`);
  return parts.filter((part) => part !== '').join('  ');
}
