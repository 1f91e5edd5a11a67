import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import type { ServiceSeen, Store } from '../store/store.ts';
import type { Session } from './session.ts';

/** Which services have seen a change, for the JSON of the command that made it. */
export interface TakenNote {
  /** Those that have seen it, by host and process. */
  readonly noted: readonly string[];
  /** Those that showed themselves just before, and have not seen it in time. */
  readonly silent: readonly string[];
  /** Why nobody can say, where nobody can. */
  readonly because?: string;
}

/** Services show themselves every other second: who has not for so long runs no more. */
const PRESENT_MS = 10_000;
/** For so long at most a command waits for services, */
const WAIT_MS = 3000;
/** and for so long where none seems to run: clocks may differ. */
const ABSENT_WAIT_MS = 700;
const LOOK_MS = 25;

/**
 * To be called by each command that has changed something: says to people whether running services have taken
 * note, or that none runs on this store, and returns the same for machines. Never throws: the change stands,
 * whoever has seen it.
 */
export async function takenNote(
  session: Session,
  change: { readonly sequence?: number } = {},
): Promise<TakenNote> {
  const note = await ask(session, change.sequence ?? 0).catch((thrown: unknown): TakenNote => {
    return { noted: [], silent: [], because: messageOf(thrown) };
  });
  session.report(sentenceOf(note, session.settings().store.url));
  return note;
}

async function ask(session: Session, sequence: number): Promise<TakenNote> {
  const store = await session.store();
  if ((await store.services()).services.length === 0) return { noted: [], silent: [] };
  const call = await store.callServices();
  const sinceMs = performance.now();
  for (;;) {
    const { noted, present, others } = await look(store, { call, sequence });
    const waitMs = present.length > 0 ? WAIT_MS : noted.length === 0 && others > 0 ? ABSENT_WAIT_MS : 0;
    if (performance.now() - sinceMs >= waitMs) return { noted, silent: present };
    await pause(LOOK_MS);
  }
}

async function look(
  store: Store,
  { call, sequence }: { readonly call: number; readonly sequence: number },
): Promise<{ noted: readonly string[]; present: readonly string[]; others: number }> {
  const { nowMs, services } = await store.services();
  const hasNoted = (service: ServiceSeen): boolean =>
    service.answered >= call && service.sequence >= sequence;
  const others = services.filter((service) => !hasNoted(service));
  return {
    noted: services.filter(hasNoted).map(({ name }) => name),
    present: others.filter(({ atMs }) => Math.abs(nowMs - atMs) < PRESENT_MS).map(({ name }) => name),
    others: others.length,
  };
}

function sentenceOf({ noted, silent, because }: TakenNote, url: string): string {
  if (because !== undefined) {
    return `Whether a running service has taken note could not be found out (${because}); see its /readyz.`;
  }
  if (silent.length > 0) {
    return `Not seen within ${WAIT_MS / 1000} s by ${silent.join(', ')}: see whether it still runs. It decides nothing by what was in force before.`;
  }
  if (noted.length > 0) return `Noted by the running service ${noted.join(', ')}.`;
  return `No service runs on ${url}: if one answers callbacks, it has another store; give its settings with --config.`;
}
