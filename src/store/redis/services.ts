import { z } from 'zod';
import type { ServiceSeen, Services } from '../store.ts';
import { publishChange } from './copies.ts';
import { type RedisParts, clockArgument } from './parts.ts';
import { digits, expectJson, expectReply, readHash, text } from './reply.ts';
import { loadScript, run } from './script.ts';
import { lookAt } from './time.ts';

const attendScript = loadScript('attend-1');
const callScript = loadScript('call-services-1');

/** Beside the services, by their ids, the hash has the number of the last call. */
const CALL = 'call';
/** For so long a service that gives no sign is known. */
const LIFETIME_MS = 86_400_000;
const row = z.tuple([text, digits, digits, text, digits]);

export function createServices(parts: RedisParts): Services {
  const { connection, keys } = parts;
  return {
    async attend({ id, name, sequence, trouble }) {
      await run(
        connection,
        attendScript,
        [keys.services],
        [clockArgument(parts), LIFETIME_MS, id, name, sequence, trouble],
      );
    },
    async leave(id) {
      await connection.call('hdel', [keys.services, id]);
    },
    async callServices() {
      const call = expectReply(
        digits,
        'a call',
        await run(connection, callScript, [keys.services], [LIFETIME_MS]),
      );
      await publishChange(parts, String(call));
      return call;
    },
    async services() {
      // As `attend` has it: the clock, whether it is believed or not.
      const { clockMs } = await lookAt(parts, keys.inForce, 'look');
      const rows = await readHash(connection, 'the services', keys.services);
      const services = [...rows].flatMap(([id, json]) => (id === CALL ? [] : [seenOf(id, json)]));
      return {
        nowMs: clockMs,
        services: services.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      };
    },
  };
}

function seenOf(id: string, json: string): ServiceSeen {
  const [name, sequence, answered, trouble, atMs] = expectJson(row, `the service ${id}`, json);
  return { id, name, sequence, answered, trouble, atMs };
}
