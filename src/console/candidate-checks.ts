import { z } from 'zod';

/**
 * A file of a candidate: policies, `assets.yaml`, tests (`*.test.yaml`), or one that the policies refer to.
 */
export const candidateFile = z.object({ name: z.string(), text: z.string() });
export type CandidateFile = z.output<typeof candidateFile>;

export interface CheckRequest {
  readonly files: readonly CandidateFile[];
  /** The revision in force, and its document; empty texts for none. */
  readonly inForce: string;
  readonly document: string;
  readonly by: string;
}

export interface DiffRequest {
  /** Documents of revisions; undefined for none. */
  readonly before: string | undefined;
  readonly after: string;
  readonly by: string;
}

/** What was found about a candidate, in the words of the commands. */
export const checkedShape = z.discriminatedUnion('valid', [
  z.object({ valid: z.literal(false), faults: z.string() }),
  z.object({
    valid: z.literal(true),
    /** Its SHA-256 is the revision. */
    document: z.string(),
    revision: z.string(),
    /** `3 policies, 9 rules`. */
    size: z.string(),
    warnings: z.array(z.string()),
    /** What lists in the store have that nothing can match under it: a reason against a push. */
    lists: z.array(z.string()),
    tests: z.object({ count: z.number(), failed: z.number(), text: z.string() }),
    diff: z.object({ same: z.boolean(), loosens: z.array(z.string()), text: z.string() }),
  }),
]);
export type Checked = z.output<typeof checkedShape>;

/** A backtest that was started, and what came of it. */
export interface Backtest {
  readonly revision: string;
  readonly files: readonly CandidateFile[];
  readonly days: number;
  readonly by: string;
  readonly startedAtMs: number;
  readonly callbacks: number;
  /** The part of the record, from 0 to 1, that was read. */
  readonly part: number;
  readonly outcome:
    | { readonly state: 'running' }
    /** As `policy backtest` prints it. */
    | { readonly state: 'done'; readonly text: string }
    | { readonly state: 'failed'; readonly because: string }
    | { readonly state: 'cancelled'; readonly by: string };
}

export interface BacktestRequest extends Pick<Backtest, 'revision' | 'files' | 'days' | 'by'> {
  readonly document: string;
}

/**
 * Work on candidates, in processes of their own, and bounded in time and memory. One check runs at a time,
 * and people take turns. Each verb throws USAGE if its bound is exceeded, BUSY if too many checks of this
 * person wait, and USAGE while another backtest runs.
 */
export interface CandidateChecks {
  check(request: CheckRequest): Promise<Checked>;
  /** As `policy diff` words it. */
  diff(request: DiffRequest): Promise<string>;
  startBacktest(request: BacktestRequest): void;
  /** The one that runs, or the last. Forgotten when the service ends. */
  backtest(): Backtest | undefined;
  /** False if none runs. */
  cancelBacktest(by: string): boolean;
}

const TEST_FILE = /\.test\.ya?ml$/i;

export const isTestFile = ({ name }: CandidateFile): boolean => TEST_FILE.test(name);
