import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import type { Clock } from '../../values/clock.ts';
import { ROLES, type Role } from '../page.ts';
import { type AccessStore, digest, newToken, parsed } from './people.ts';

const shape = z.object({ name: z.string(), roles: z.array(z.enum(ROLES)), expiresAtMs: z.number() });
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
}

export function createInvitations(store: AccessStore, clock: Clock): Invitations {
  const idOf = (token: string): string => `invitation:${digest(token)}`;
  async function read(token: string): Promise<{ readonly version: number; readonly found?: Invitation }> {
    const record = await store.access(idOf(token));
    const found = record && parsed(shape, record);
    if (record === undefined || found === undefined || found.expiresAtMs <= clock()) return { version: 0 };
    return { version: record.version, found };
  }
  return {
    async create({ name, roles, keepMs }) {
      if (!NAME.test(name)) {
        throw new CountersignError(
          'USAGE',
          `${JSON.stringify(name.slice(0, 80))} can't be a name. Give at most 128 characters, without control ` +
            'characters or blanks around it',
        );
      }
      const token = newToken();
      const value = JSON.stringify({ name, roles, expiresAtMs: clock() + keepMs });
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
  };
}
