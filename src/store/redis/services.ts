import { z } from 'zod';
import type { ServiceStatus, Services } from '../store.ts';
import { publishChange } from './in-force.ts';
import { type RedisParts, clockArgument } from './parts.ts';
import { digits, parseJson, parseReply, readHash, text } from './reply.ts';
import { loadScript, run } from './script.ts';
import { compareClock } from './time.ts';

const heartbeatScript = loadScript('heartbeat-1');
const requestHeartbeatsScript = loadScript('request-heartbeats-1');

/** The field of the hash with the number of the last request. The other fields are ids of services. */
const CALL = 'call';
/** How long a silent service stays listed. */
const LIFETIME_MS = 86_400_000;
const row = z.tuple([text, digits, digits, text, digits]);

export function createServices(parts: RedisParts): Services {
  const { connection, keys } = parts;
  return {
    async heartbeat({ id, name, sequence, trouble }) {
      const args = [clockArgument(parts), LIFETIME_MS, id, name, sequence, trouble];
      await run(connection, heartbeatScript, [keys.services], args);
    },
    async removeService(id) {
      await connection.call('hdel', [keys.services, id]);
    },
    async requestHeartbeats() {
      const reply = await run(connection, requestHeartbeatsScript, [keys.services], [LIFETIME_MS]);
      const call = parseReply(digits, 'a call', reply);
      await publishChange(parts, String(call));
      return call;
    },
    async services() {
      // `heartbeat` stores the time of the clock, even while the clock has jumped.
      const { clockMs } = await compareClock(parts, keys.inForce, 'look');
      const rows = await readHash(connection, 'the services', keys.services);
      const services = [...rows].flatMap(([id, json]) => (id === CALL ? [] : [seenOf(id, json)]));
      return {
        nowMs: clockMs,
        services: services.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      };
    },
  };
}

function seenOf(id: string, json: string): ServiceStatus {
  const [name, sequence, answered, trouble, atMs] = parseJson(row, `the service ${id}`, json);
  return { id, name, sequence, answered, trouble, atMs };
}
