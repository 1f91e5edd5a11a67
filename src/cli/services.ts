import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import type { ServiceStatus, Store } from '../store/store.ts';
import type { Session } from './session.ts';

/** Which running services have applied a change, for the JSON of the command that made it. */
export interface AppliedBy {
  /** Services that have applied it, by host and process. */
  readonly noted: readonly string[];
  /** Running services that have not applied it in time. */
  readonly silent: readonly string[];
  /** Why it is not known which services have applied the change. Absent if it is known. */
  readonly because?: string;
}

/** Services send a heartbeat every two seconds. A service without a heartbeat for this time has stopped. */
export const RUNNING_MS = 10_000;
/** How long a command waits for running services. */
const WAIT_MS = 3000;
/** How long it waits if all services seem to have stopped, since clocks may differ. */
const STOPPED_WAIT_MS = 700;
const POLL_MS = 25;

/**
 * Called after a change of policies, lists, orders, prices or freezes. It waits for the running services,
 * reports which of them have applied the change, and returns the same as JSON. It never throws, because the
 * change is already made.
 */
export async function servicesThatApplied(
  session: Session,
  change: { readonly sequence?: number } = {},
): Promise<AppliedBy> {
  const applied = await waitForServices(session, change.sequence ?? 0).catch((thrown: unknown): AppliedBy => {
    return { noted: [], silent: [], because: messageOf(thrown) };
  });
  session.report(sentenceOf(applied, session.settings().store.url));
  return applied;
}

async function waitForServices(session: Session, sequence: number): Promise<AppliedBy> {
  const store = await session.store();
  if ((await store.services()).services.length === 0) return { noted: [], silent: [] };
  const call = await store.requestHeartbeats();
  const sinceMs = performance.now();
  for (;;) {
    const { noted, running, others } = await readServices(store, { call, sequence });
    const waitMs = running.length > 0 ? WAIT_MS : noted.length === 0 && others > 0 ? STOPPED_WAIT_MS : 0;
    if (performance.now() - sinceMs >= waitMs) return { noted, silent: running };
    await pause(POLL_MS);
  }
}

async function readServices(
  store: Store,
  { call, sequence }: { readonly call: number; readonly sequence: number },
): Promise<{ noted: readonly string[]; running: readonly string[]; others: number }> {
  const { nowMs, services } = await store.services();
  const hasApplied = (service: ServiceStatus): boolean =>
    service.answered >= call && service.sequence >= sequence;
  const others = services.filter((service) => !hasApplied(service));
  return {
    noted: services.filter(hasApplied).map(({ name }) => name),
    running: others.filter(({ atMs }) => Math.abs(nowMs - atMs) < RUNNING_MS).map(({ name }) => name),
    others: others.length,
  };
}

function sentenceOf({ noted, silent, because }: AppliedBy, url: string): string {
  if (because !== undefined) {
    return (
      `It is not known whether running services have applied the change: ${because}. See /readyz of ` +
      'the services.'
    );
  }
  if (silent.length > 0) {
    return (
      `Not applied within ${WAIT_MS / 1000} s by ${silent.join(', ')}. Check that it still runs. It ` +
      "can't decide by the state before the change."
    );
  }
  if (noted.length > 0) return `Applied by the running service ${noted.join(', ')}.`;
  return (
    `No service runs on ${url}. If one answers callbacks, it uses another store: give its settings ` +
    'with --config.'
  );
}
