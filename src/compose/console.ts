import type { ConsoleParts } from '../http/console.ts';
import { CHALLENGES, FAILURES, createAttempts } from '../console/sign-in/attempts.ts';
import { createInvitations } from '../console/sign-in/invitations.ts';
import { type AccessStore, createPeople } from '../console/sign-in/people.ts';
import { createSessions } from '../console/sign-in/sessions.ts';
import type { PasskeySignIn } from '../http/console-sign-in.ts';
import type { Log } from '../observe/log.ts';
import { createProxySignIn } from '../console/sign-in/proxy.ts';
import type { Settings } from '../settings/schema.ts';
import { freezeText } from '../store/freezes.ts';
import type { Simulate } from '../simulation/simulator.ts';
import type { Clock } from '../values/clock.ts';
import type { CandidateProcesses } from './candidate-process.ts';
import type { Reconciliation } from './reconciliation.ts';
import type { Runtime } from './runtime.ts';
import { orderSources } from './sources.ts';
import { groupsOf } from './store.ts';

/** Who may enter, as the settings say. */
export interface Entrance {
  readonly identify: ConsoleParts['identify'];
  readonly passkeys?: PasskeySignIn | undefined;
  readonly hasProxy?: boolean;
}

/** A session ends after half an hour without a request, and after twelve hours in any case. */
const SESSION_BOUNDS = { idleMs: 30 * 60_000, lifeMs: 12 * 3_600_000 };

/** Undefined if the settings let nobody in. */
export async function openEntrance(
  { console }: Pick<Settings, 'console'>,
  { store, clock, log }: { readonly store: AccessStore; readonly clock: Clock; readonly log: Log },
): Promise<Entrance | undefined> {
  if (console === undefined) return undefined;
  const named = console.proxy && createProxySignIn(console.proxy);
  const passkeys = console.passkeys && (await openPasskeys(console.passkeys, { store, clock, log }));
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

/** The origin that browsers show. */
export const originOf = ({ host, origin = `https://${host}` }: PasskeySettings): string => origin;

/** The libraries of passkeys are loaded only if the settings ask for passkeys. */
async function openPasskeys(
  settings: PasskeySettings,
  { store, clock, log }: { readonly store: AccessStore; readonly clock: Clock; readonly log: Log },
): Promise<PasskeySignIn> {
  const { createPasskeys } = await import('../console/sign-in/passkeys.ts');
  const { host } = settings;
  const origin = originOf(settings);
  const people = createPeople(store, clock);
  const sessions = createSessions(store, people, SESSION_BOUNDS, clock);
  const invitations = createInvitations(store, people, clock);
  const secure = origin.startsWith('https:');
  return {
    passkeys: createPasskeys({ host, origin, store, people, sessions, invitations, clock }),
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

/** Of the assets whose prices a person changed. An asset has at most 64 characters. */
const ASSETS_LOGGED = 10;

/** The console of a service, on a handle of its own on the store. */
export interface Console {
  readonly parts: ConsoleParts;
  readonly close: () => Promise<void>;
}

/**
 * The pages are loaded only here: a service without a console doesn't have them in memory.
 */
export async function openConsole(
  settings: Settings,
  { store, readiness, follower, activity }: Pick<Runtime, 'store' | 'readiness' | 'follower' | 'activity'>,
  {
    entrance,
    env,
    simulate,
    reconciliationFailure,
    clock,
    log,
    checks,
  }: {
    readonly entrance: Entrance;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly simulate: Simulate;
    readonly reconciliationFailure: Reconciliation['failure'];
    readonly clock: Clock;
    readonly log: Log;
    readonly checks: CandidateProcesses;
  },
): Promise<Console> {
  const [{ createPages }, { createQueries, queried }, { createReadingProcess }] = await Promise.all([
    import('../console/pages.ts'),
    import('../console/queries.ts'),
    import('./console-reading.ts'),
  ]);
  const readingProcess = createReadingProcess({ store: settings.store, groups: groupsOf(settings) }, env);
  const queries = createQueries();
  return {
    parts: {
      ...createPages({
        store,
        reading: queried(readingProcess.reading, queries),
        readiness,
        activity,
        simulate,
        policies: follower,
        sources: orderSources(settings),
        checks,
        mayPush: settings.console?.push ?? false,
        runsDirectory: settings.reconcile.directory,
        reconciliationFailure,
        onPricesChanged({ by, assets, version }) {
          const more = assets.length > ASSETS_LOGGED ? ` and ${assets.length - ASSETS_LOGGED} more` : '';
          const because = `version ${version}: ${assets.slice(0, ASSETS_LOGGED).join(', ')}${more}`;
          log.info('console-prices', { authenticatedBy: by, count: assets.length, because });
        },
        clock,
      }),
      ...entrance,
      during: queries.during,
      // The follower hears of a freeze a moment later than the person who has frozen.
      async frozen() {
        const control = await store.control().catch(() => follower.control());
        return (control?.frozen ?? []).map(freezeText);
      },
    },
    async close() {
      await checks.stop();
      await readingProcess.close();
    },
  };
}
