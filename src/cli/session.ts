import type { FourEyes } from '../approvals/acts.ts';
import type { Signature } from '../approvals/signers.ts';
import { fourEyesOf, signingScope } from '../start/people.ts';
import { peopleNow } from '../start/trust.ts';
import { signAsOperator } from './ssh-sign.ts';
import { groupsOf, openStore } from '../start/store.ts';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../settings/load.ts';
import type { Settings } from '../settings/schema.ts';
import { type Secrets, createSecrets } from '../settings/secrets.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { printableJson } from '../values/printable.ts';

/** The reader of the output went away, as in `countersign decisions export | head`. */
export class OutputClosed extends Error {}

/** The streams, environment and clock of a call. Tests give their own. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Resolves once `out` can take more. Absent if it always can. Rejects with {@link OutputClosed}. */
  readonly drained?: () => Promise<void>;
  /** Replaces the line that it showed before. Absent without a terminal. */
  readonly progress?: (line: string) => void;
  /** Asks a person a question. Absent without a terminal. */
  readonly confirm?: (question: string) => Promise<boolean>;
  readonly input: () => Promise<Buffer>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly user: string;
  readonly version: string;
  /** The commit that the program is made from, or `unknown`. */
  readonly commit: string;
  /** Resolves with the name of the signal that stops the process. */
  readonly stopped: () => Promise<string>;
}

/**
 * The output, the settings and the store of a command. Settings and store are opened on first use.
 */
export interface Session extends Pick<
  Terminal,
  'env' | 'clock' | 'input' | 'stopped' | 'version' | 'commit'
> {
  /** The name that is recorded for changes: `--by`, or the user of the operating system. */
  readonly by: string;
  /** How acts wait for a second person: see Author. */
  readonly fourEyes: FourEyes | undefined;
  /** Prints the text, or with `--json` the value as JSON, and a line break. */
  print(text: string, value: unknown): void;
  /** Prints a line for people on standard error. Nothing with `--json`. */
  report(line: string): void;
  /** Shows the progress of long work. The empty text clears it. Nothing with `--json`. */
  progress(line: string): void;
  /** Whether a person agrees. Undefined if nobody can be asked: without a terminal, or with `--json`. */
  confirm(question: string): Promise<boolean | undefined>;
  /**
   * Resolves once the reader has taken the output, so that long output waits for it. Rejects if the reader
   * went away.
   */
  drained(): Promise<void>;
  readonly settingsFile: string;
  settings(): Settings;
  secrets(): Secrets;
  /**
   * The store of the settings, with all their sources registered. In the background, writes don't take
   * precedence over those of services. Rejects with STORE_UNREACHABLE.
   */
  store(as?: 'command' | 'background'): Promise<Store>;
  close(): Promise<void>;
}

/** The options of every command. */
export interface SessionOptions {
  readonly config: string | undefined;
  readonly json: boolean;
  readonly by: string | undefined;
  /** The SSH key of the person, in a file. */
  readonly key: string | undefined;
}

export function openSession(terminal: Terminal, { config, json, by, key }: SessionOptions): Session {
  const { env, clock, input, stopped, version, commit } = terminal;
  let settings: Settings | undefined;
  let secrets: Secrets | undefined;
  let opened: Store | undefined;

  const session: Session = {
    env,
    clock,
    input,
    stopped,
    version,
    commit,
    by: by ?? terminal.user,
    get fourEyes() {
      const store = (): Promise<Store> => session.store();
      const sign = async (statement: string): Promise<Signature> => {
        const people = await peopleNow(session.settings(), await store());
        return signAsOperator(statement, key ?? '', { people, scope: signingScope(session.settings()) });
      };
      return fourEyesOf(session.settings(), { store, clock, sign: key === undefined ? undefined : sign });
    },
    print: (text, value) => terminal.out(`${json ? printableJson(value) : text}\n`),
    report: (line) => (json ? undefined : terminal.err(`${line}\n`)),
    progress: (line) => (json ? undefined : terminal.progress?.(line)),
    confirm: async (question) => (json ? undefined : terminal.confirm?.(question)),
    drained: async () => terminal.drained?.(),
    settingsFile: config ?? env['COUNTERSIGN_CONFIG'] ?? DEFAULT_SETTINGS_FILE,
    settings: () => (settings ??= loadSettings({ file: config, env })),
    secrets: () => (secrets ??= createSecrets({ env })),
    async store(as = 'command') {
      const { store, sources } = session.settings();
      if (opened === undefined) {
        const groups = groupsOf({ sources });
        opened = await openStore(store, session.secrets().read, clock, { as, groups });
        await opened.register(sources.map(({ name }) => name));
      }
      return opened;
    },
    async close() {
      await opened?.close();
    },
  };
  return session;
}
