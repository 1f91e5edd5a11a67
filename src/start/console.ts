import { bothPeople } from '../approvals/signers.ts';
import { type PageParts, createPages } from '../console/pages.ts';
import { createReconciled } from '../console/reconciled.ts';
import type { AskService } from '../console/service-state.ts';
import { CHALLENGES, FAILURES, createAttempts } from '../console/sign-in/attempts.ts';
import { createInvitations } from '../console/sign-in/invitations.ts';
import { type AccessStore, type KnownAs, createPeople, knownByPeople } from '../console/sign-in/people.ts';
import { createProxySignIn } from '../console/sign-in/proxy.ts';
import { createSessions } from '../console/sign-in/sessions.ts';
import { CountersignError, messageOf } from '../errors.ts';
import { createConsoleApp, createForwardedApp } from '../http/console-app.ts';
import type { PasskeySignIn } from '../http/console-sign-in.ts';
import type { ConsoleParts } from '../http/console.ts';
import { listen, opsLimits } from '../http/server.ts';
import type { Log } from '../observe/log.ts';
import { logOpsFailures } from '../observe/ops-failures.ts';
import type { AskPlugin } from '../pipeline/decide.ts';
import { NO_PEOPLE } from '../policy/people.ts';
import type { Plugins } from '../plugins/plugins.ts';
import { type Follower, createFollower } from '../release/follow.ts';
import { consoleAddress, originOf } from '../settings/console.ts';
import type { Settings } from '../settings/schema.ts';
import { type Secrets, createSecrets } from '../settings/secrets.ts';
import type { SimulationParts } from '../simulation/simulate-live.ts';
import type { Simulate } from '../simulation/simulator.ts';
import { freezeText } from '../store/freezes.ts';
import type { Clock } from '../values/clock.ts';
import { type CandidateProcessParts, createCandidateProcesses } from './candidate-process.ts';
import { tlsContext } from './files.ts';
import { closeIfFailed } from './opened.ts';
import { fourEyesOf, signingScope } from './people.ts';
import { openPlugins } from './plugins.ts';
import { simulatorOf } from './simulator.ts';
import { orderSources } from './sources.ts';
import type { Store } from '../store/store.ts';
import { groupsOf, openStore } from './store.ts';
import { openTrust, peopleNow, signerRules } from './trust.ts';

/** Who may enter, as the settings say. */
type Entrance = Pick<ConsoleParts, 'identify' | 'passkeys' | 'hasProxy'>;

/** A session ends after half an hour without a request, and after twelve hours in any case. */
const SESSION_BOUNDS = { idleMs: 30 * 60_000, lifeMs: 12 * 3_600_000 };

interface EntranceParts {
  readonly store: AccessStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Absent if the people in the store count as they are. */
  readonly knownAs?: KnownAs | undefined;
}

/** Undefined if the settings let nobody in. */
async function openEntrance(
  { console }: Pick<Settings, 'console'>,
  parts: EntranceParts,
): Promise<Entrance | undefined> {
  if (console === undefined) return undefined;
  const named = console.proxy && createProxySignIn(console.proxy);
  const passkeys = console.passkeys && (await openPasskeys(console.passkeys, parts));
  return {
    passkeys,
    hasProxy: named !== undefined,
    async identify(request) {
      const token = passkeys && request.cookies.get(passkeys.cookie.name);
      const person = token === undefined ? undefined : await passkeys?.sessions.personOf(token);
      return person ?? named?.(request);
    },
  };
}

type PasskeySettings = NonNullable<NonNullable<Settings['console']>['passkeys']>;

/** The libraries of passkeys are loaded only if the settings ask for passkeys. */
async function openPasskeys(
  settings: PasskeySettings,
  { store, clock, log, knownAs }: EntranceParts,
): Promise<PasskeySignIn> {
  const { createPasskeys } = await import('../console/sign-in/passkeys.ts');
  const { host } = settings;
  const origin = originOf(settings);
  const people = createPeople(store, clock);
  const sessions = createSessions(store, people, SESSION_BOUNDS, clock, knownAs);
  const invitations = createInvitations(store, people, clock);
  const secure = origin.startsWith('https:');
  return {
    passkeys: createPasskeys({ host, origin, store, people, sessions, invitations, clock, knownAs }),
    sessions,
    failures: createAttempts(FAILURES, clock),
    challenges: createAttempts(CHALLENGES, clock),
    origin,
    cookie: { name: secure ? '__Host-countersign' : 'countersign', secure },
    report(event, { person, address, because }) {
      if (event === 'sign-in-refused') log.warn('console-sign-in-refused', { address, because });
      else log.info(`console-${event}`, { address, authenticatedBy: person });
    },
  };
}

export interface ConsoleProgramParts extends CandidateProcessParts {
  readonly settings: Settings;
  /**
   * Of the service that forwards requests to this console, which then listens on any port of loopback.
   * Without it, the console listens on `console.host` and `console.port`.
   */
  readonly secret?: string;
  readonly askService?: AskService;
  /** For tests: who sends a request, in place of the settings. */
  readonly identify?: ConsoleParts['identify'];
}

export interface ConsoleProgram {
  readonly url: string;
  close(): Promise<void>;
}

const LOOPBACK = { host: '127.0.0.1', port: 0 };

/**
 * Serves the console: a program like the command line, with a handle of its own on the store. Rejects for a
 * fault in settings or keys, and if the store is missing. A store that can't be reached is no fault: pages
 * say so.
 */
export function startConsole(parts: ConsoleProgramParts): Promise<ConsoleProgram> {
  return closeIfFailed(parts.log, (opened) => start(parts, opened));
}

async function start(parts: ConsoleProgramParts, opened: AsyncDisposableStack): Promise<ConsoleProgram> {
  const { settings, env, clock, log, secret, identify } = parts;
  if (secret === undefined && identify === undefined) requireConsole(settings);
  const secrets = createSecrets({ env });
  const groups = groupsOf(settings);
  const store = await openStore(settings.store, secrets.read, clock, { groups });
  opened.defer(() => store.close());
  const follower = createFollower({
    store,
    pollMs: settings.policies.pollMs,
    trust: openTrust(settings, { store, clock }),
  });
  opened.defer(() => follower.stop());
  const checks = createCandidateProcesses(parts);
  opened.defer(() => checks.stop());
  const { simulate, ...simulation } = createSimulation(parts, secrets, { store, policies: follower });
  opened.defer(() => simulation.close());
  const signers = signerRules(settings);
  const knownAs =
    signers && knownByPeople(() => bothPeople(signers.pinned, follower.current()?.people ?? NO_PEOPLE));
  const entrance = identify ? { identify } : await openEntrance(settings, { store, clock, log, knownAs });
  const console = entrance && {
    ...createPages({
      store,
      groupOf: (source) => groups.get(source),
      reconciled: createReconciled(),
      askService: parts.askService ?? (() => Promise.resolve(undefined)),
      simulate,
      policies: follower,
      sources: orderSources(settings),
      deployment: settings.deployment,
      checks,
      scope: signingScope(settings),
      signers,
      operators: () => peopleNow(settings, store),
      // With signers, people sign what is pushed at the command line.
      mayPush: (settings.console?.push ?? false) && settings.signers === undefined,
      runsDirectory: settings.reconcile.directory,
      onPricesChanged: pricesLogged(log),
      clock,
    }),
    ...entrance,
    fourEyes: fourEyesOf(settings, { store: () => Promise.resolve(store), clock }),
    frozen: () => frozenNow(store, follower),
  };
  const onFailed = logOpsFailures(log);
  const app =
    secret === undefined
      ? createConsoleApp(settings.ops.hosts, { console, onFailed })
      : createForwardedApp(secret, { console, simulate, onFailed });
  const tls = secret === undefined ? tlsContext(settings, 'ops', secrets) : undefined;
  const listening = await listen(app, {
    ...(secret === undefined ? consoleAddress(settings.console) : LOOPBACK),
    tls,
    limits: opsLimits(settings.public.limits),
    setting: 'console',
    // All connections are those of the service.
    ...(secret !== undefined && { isTrustedProxy: () => true }),
  });
  opened.defer(() => listening.stop(0));
  opened.defer(
    secrets.watch(() => {
      simulation.reload();
      const context = tls && tlsContext(settings, 'ops', secrets);
      if (context !== undefined) listening.useTls(context);
    }),
  );
  await follower.start();
  return { url: listening.url, close: () => opened.disposeAsync() };
}

/** The follower hears of a freeze a moment later than the person who has frozen. */
async function frozenNow(store: Store, follower: Follower): Promise<readonly string[]> {
  const control = await store.control().catch(() => follower.control());
  return (control?.frozen ?? []).map(freezeText);
}

/** Throws SETTINGS_INVALID if nobody can sign in. */
function requireConsole({ console }: Settings): void {
  if (console !== undefined) return;
  throw new CountersignError(
    'SETTINGS_INVALID',
    'the settings have no console, so nobody can sign in; set console.passkeys or console.proxy',
  );
}

/** Services and modules are asked by a first simulation. Before that, they take no memory. */
function createSimulation(
  parts: ConsoleProgramParts,
  secrets: Secrets,
  { store, policies }: Pick<SimulationParts, 'policies'> & { readonly store: Store },
) {
  const { settings, clock, log } = parts;
  let opening: Promise<Plugins> | undefined;
  const plugins = (): Promise<Plugins> => {
    opening ??= openPlugins(parts, secrets, {
      answered: () => undefined,
      secretUsed: () => undefined,
    });
    // The next simulation tries again.
    opening.catch(() => (opening = undefined));
    return opening;
  };
  const ask: AskPlugin = async (...asked) => (await plugins()).askSimulated(...asked);
  const simulated = simulatorOf(settings, { store, policies, clock, ask });
  const simulate: Simulate = async (...given) => {
    await plugins();
    return simulated(...given);
  };
  return {
    simulate,
    reload(): void {
      opening
        ?.then((each) => each.reload())
        .catch((thrown: unknown) => log.error('inquiry-keys-unreadable', { because: messageOf(thrown) }));
    },
    close: async (): Promise<void> => (await opening?.catch(() => undefined))?.close(),
  };
}

/** Of the assets whose prices a person changed. An asset has at most 64 characters. */
const ASSETS_LOGGED = 10;

const pricesLogged =
  (log: Log): PageParts['onPricesChanged'] =>
  ({ by, assets, version }) => {
    const more = assets.length > ASSETS_LOGGED ? ` and ${assets.length - ASSETS_LOGGED} more` : '';
    const because = `version ${version}: ${assets.slice(0, ASSETS_LOGGED).join(', ')}${more}`;
    log.info('console-prices', { authenticatedBy: by, count: assets.length, because });
  };
