import { type OpenedStore, openStore } from '../compose/store.ts';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../settings/load.ts';
import type { Settings } from '../settings/schema.ts';
import { type Secrets, createSecrets } from '../settings/secrets.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { printableJson } from '../values/printable.ts';

/** Nobody reads what is printed any more, as in `countersign decisions export | head`. */
export class OutputClosed extends Error {}

/** The process around a call: its streams, environment and clock, so that a test can give others. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Resolves once `out` can take more; absent where it always can. Rejects with {@link OutputClosed}. */
  readonly drained?: () => Promise<void>;
  /** Shows a line in the place of the one before; absent where nobody watches. */
  readonly progress?: (line: string) => void;
  readonly input: () => Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly user: string;
  readonly version: string;
  /** Resolves with the signal's name when the process is told to stop. */
  readonly stopped: () => Promise<string>;
}

/**
 * What a command works with: where it prints, and the settings and the store, read when it first needs them.
 */
export interface Session extends Pick<Terminal, 'env' | 'clock' | 'input' | 'stopped' | 'version'> {
  /** Who is recorded as having done something: `--by`, else the operating system's user. */
  readonly by: string;
  /** Prints `value` as JSON with `--json`, else the text, each with a line break. */
  print(text: string, value: unknown): void;
  /** A line to people, on standard error, and not with `--json`. */
  report(line: string): void;
  /** How far long work is, for people who watch; the empty text clears it. Not with `--json`. */
  progress(line: string): void;
  /**
   * Resolves once what was printed has been taken, so that long output waits for its reader, and ends with
   * it.
   */
  drained(): Promise<void>;
  readonly settingsFile: string;
  settings(): Settings;
  secrets(): Secrets;
  /** The store that the settings name, with all its sources registered. Rejects with STORE_UNREACHABLE. */
  store(): Promise<Store>;
  close(): Promise<void>;
}

/** Options that every command has. */
export interface SessionOptions {
  readonly config: string | undefined;
  readonly json: boolean;
  readonly by: string | undefined;
}

const SECRETS_POLL_MS = 1000;

export function openSession(terminal: Terminal, { config, json, by }: SessionOptions): Session {
  const { env, clock, input, stopped, version } = terminal;
  let settings: Settings | undefined;
  let secrets: Secrets | undefined;
  let opened: OpenedStore | undefined;

  const session: Session = {
    env,
    clock,
    input,
    stopped,
    version,
    by: by ?? terminal.user,
    print: (text, value) => terminal.out(`${json ? printableJson(value) : text}\n`),
    report: (line) => (json ? undefined : terminal.err(`${line}\n`)),
    progress: (line) => (json ? undefined : terminal.progress?.(line)),
    drained: async () => terminal.drained?.(),
    settingsFile: config ?? env['COUNTERSIGN_CONFIG'] ?? DEFAULT_SETTINGS_FILE,
    settings: () => (settings ??= loadSettings({ file: config, env })),
    secrets: () => (secrets ??= createSecrets({ env, pollMs: SECRETS_POLL_MS })),
    async store() {
      const { store, sources } = session.settings();
      if (opened === undefined) {
        opened = await openStore(store, session.secrets().read, clock);
        await opened.store.register(sources.map(({ name }) => name));
      }
      return opened.store;
    },
    async close() {
      await opened?.store.close();
    },
  };
  return session;
}
