import { z } from 'zod';
import type { Access } from '../store.ts';
import type { RedisParts } from './parts.ts';
import { parseReply, text } from './reply.ts';
import { loadScript, run } from './script.ts';

const changeScript = loadScript('change-access-1');
const changed = z.literal([0, 1]).transform((number) => number === 1);
/** The version, and after a blank the value. */
const RECORD = /^(\d{1,15}) (.+)$/s;
const record = text.regex(RECORD).nullable();

export function createAccess({ connection, keys }: RedisParts): Access {
  return {
    async access(id) {
      const reply = await connection.call('get', [keys.access(id)]);
      const [, version, value] = RECORD.exec(parseReply(record, 'a record of access', reply) ?? '') ?? [];
      return version === undefined || value === undefined ? undefined : { version: Number(version), value };
    },
    async changeAccess({ id, expected, value = '', keepMs }) {
      const reply = await run(connection, changeScript, [keys.access(id)], [expected, value, keepMs]);
      return parseReply(changed, 'a changed record of access', reply);
    },
  };
}
