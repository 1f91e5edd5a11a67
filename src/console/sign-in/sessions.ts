import { z } from 'zod';
import type { Clock } from '../../values/clock.ts';
import type { Person } from '../page.ts';
import { type AccessStore, type KnownAs, type People, digest, newToken, parsed } from './people.ts';

const MINUTE_MS = 60_000;
/** A further session ends the oldest. */
const SESSIONS_MAX = 10;

const shape = z.object({ name: z.string(), startedMs: z.number(), seenMs: z.number() });

export interface Sessions {
  /** Resolves with the token for the cookie. The store has only its digest. */
  start(name: string): Promise<string>;
  /** The person of a session that still lasts; undefined also for somebody who was removed. */
  personOf(token: string): Promise<Person | undefined>;
  end(token: string): Promise<void>;
  /** Ends all sessions of a person. Resolves with their number. */
  endAll(name: string): Promise<number>;
}

export interface SessionBounds {
  /** A session ends after this time without a request. */
  readonly idleMs: number;
  /** A session ends after this time, whatever it is used for. */
  readonly lifeMs: number;
}

export function createSessions(
  store: AccessStore,
  people: People,
  { idleMs, lifeMs }: SessionBounds,
  clock: Clock,
  knownAs: KnownAs = (member) => member,
): Sessions {
  const idOf = (session: string): string => `session:${session}`;
  const drop = async (session: string): Promise<void> => {
    const record = await store.access(idOf(session));
    if (record !== undefined)
      await store.changeAccess({ id: idOf(session), expected: record.version, keepMs: 0 });
  };
  const forget = (name: string, ended: readonly string[]): Promise<unknown> =>
    people.change(
      name,
      (member) => member && { ...member, sessions: member.sessions.filter((each) => !ended.includes(each)) },
    );

  return {
    async start(name) {
      const token = newToken();
      const session = digest(token);
      const nowMs = clock();
      const value = JSON.stringify({ name, startedMs: nowMs, seenMs: nowMs });
      await store.changeAccess({ id: idOf(session), expected: 0, value, keepMs: lifeMs });
      let ended: readonly string[] = [];
      await people.change(name, (member) => {
        if (member === undefined) return undefined;
        const sessions = [...member.sessions, session];
        ended = sessions.slice(0, -SESSIONS_MAX);
        return { ...member, sessions: sessions.slice(-SESSIONS_MAX), lastSignInMs: nowMs };
      });
      for (const each of ended) await drop(each);
      return token;
    },
    async personOf(token) {
      const session = digest(token);
      const record = await store.access(idOf(session));
      if (record === undefined) return undefined;
      const { name, startedMs, seenMs } = parsed(shape, record);
      const nowMs = clock();
      if (nowMs >= startedMs + lifeMs || nowMs >= seenMs + idleMs || nowMs < startedMs) return undefined;
      const member = await people.find(name);
      // A person who was removed and invited again has other sessions.
      if (member === undefined || !member.sessions.includes(session)) return undefined;
      const known = knownAs(member);
      if (known !== undefined && nowMs - seenMs >= MINUTE_MS) {
        const value = JSON.stringify({ name, startedMs, seenMs: nowMs });
        const keepMs = startedMs + lifeMs - nowMs;
        await store.changeAccess({ id: idOf(session), expected: record.version, value, keepMs });
      }
      return known && { name, roles: known.roles };
    },
    async end(token) {
      const session = digest(token);
      const record = await store.access(idOf(session));
      if (record === undefined) return;
      await drop(session);
      await forget(parsed(shape, record).name, [session]);
    },
    async endAll(name) {
      const sessions = (await people.find(name))?.sessions ?? [];
      for (const each of sessions) await drop(each);
      await forget(name, sessions);
      return sessions.length;
    },
  };
}
