import { z } from 'zod';
import { usageError } from '../../errors.ts';
import type { Clock } from '../../values/clock.ts';
import { ROLES, type Role } from '../../act/act.ts';
import {
  type AccessStore,
  INVITATION_MAX_MS,
  type People,
  attempt,
  digest,
  newToken,
  parsed,
} from './people.ts';

const lifeShape = z.object({
  expiresAtMs: z.number(),
  /** The last removal of the name when the invitation was made. A later one ends the invitation. */
  removalMs: z.number(),
});
type Life = Readonly<z.output<typeof lifeShape>>;

const shape = lifeShape.extend({
  name: z.string(),
  /** Empty for a further passkey of a person, who keeps the roles. */
  roles: z.array(z.enum(ROLES)),
});
export type Invitation = Readonly<z.output<typeof shape>>;

/** At most 128 characters, none of them a control character, no blanks around it. */
const NAME = /^[^\s\p{C}](?:[^\p{C}]{0,126}[^\s\p{C}])?$/u;

export interface Invitations {
  /** Resolves with the token, which is kept nowhere. Throws USAGE for a name that can't be shown. */
  create(invitation: {
    readonly name: string;
    readonly roles: readonly Role[];
    readonly keepMs: number;
  }): Promise<string>;
  find(token: string): Promise<Invitation | undefined>;
  /** Uses the invitation up. Undefined if it was used, is over, or never was. */
  take(token: string): Promise<Invitation | undefined>;
  /** Whether there is an invitation of that name whose time is not over. It may have been used. */
  isInvited(name: string): Promise<boolean>;
}

export function createInvitations(store: AccessStore, people: People, clock: Clock): Invitations {
  const idOf = (token: string): string => `invitation:${digest(token)}`;
  async function read(token: string): Promise<{ readonly version: number; readonly found?: Invitation }> {
    const record = await store.access(idOf(token));
    if (record === undefined) return { version: 0 };
    const found = parsed(shape, record);
    return (await isOpen(found.name, found)) ? { version: record.version, found } : { version: 0 };
  }

  async function isOpen(name: string, { expiresAtMs, removalMs }: Life): Promise<boolean> {
    return clock() < expiresAtMs && removalMs >= (await people.lastRemovalMs(name));
  }

  /** The store finds invitations only by their tokens. So it has the end of the last one of each name. */
  const invitedIdOf = (name: string): string => `invited:${digest(name)}`;
  const noteName = (name: string, life: Life): Promise<void> =>
    attempt(async () => {
      const record = await store.access(invitedIdOf(name));
      const before = record && parsed(lifeShape, record);
      if (
        before !== undefined &&
        before.expiresAtMs >= life.expiresAtMs &&
        before.removalMs >= life.removalMs
      )
        return { done: true, value: undefined };
      const keepMs = life.expiresAtMs - clock();
      const change = { expected: record?.version ?? 0, value: JSON.stringify(life), keepMs };
      return { done: await store.changeAccess({ id: invitedIdOf(name), ...change }), value: undefined };
    });

  return {
    async create({ name, roles, keepMs }) {
      if (!NAME.test(name)) {
        throw usageError(
          `${JSON.stringify(name.slice(0, 80))} can't be a name. Give at most 128 characters, without control ` +
            'characters or blanks around it',
        );
      }
      if (keepMs > INVITATION_MAX_MS) throw usageError('An invitation lasts at most 30 days');
      const token = newToken();
      const life = { expiresAtMs: clock() + keepMs, removalMs: await people.lastRemovalMs(name) };
      await noteName(name, life);
      const value = JSON.stringify({ name, roles, ...life });
      await store.changeAccess({ id: idOf(token), expected: 0, value, keepMs });
      return token;
    },
    find: async (token) => (await read(token)).found,
    async take(token) {
      const { version, found } = await read(token);
      if (found === undefined) return undefined;
      return (await store.changeAccess({ id: idOf(token), expected: version, keepMs: 0 }))
        ? found
        : undefined;
    },
    async isInvited(name) {
      const record = await store.access(invitedIdOf(name));
      return record !== undefined && isOpen(name, parsed(lifeShape, record));
    },
  };
}
