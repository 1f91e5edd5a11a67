import { z } from 'zod';
import { expectFreeze } from '../freezes.ts';
import type { Releases } from '../store.ts';
import { bringAbout, complete, freezeRow, inForce, unfreeze } from './in-force.ts';
import { type RedisParts, clockArgument } from './parts.ts';
import { digits, expectJson, expectReply, optionalText, text, texts } from './reply.ts';
import { loadScript, run } from './script.ts';

const pushScript = loadScript('push-3');
const freezeScript = loadScript('freeze-1');

export function createReleases(parts: RedisParts): Releases {
  const { connection, keys } = parts;
  return {
    control: () => complete(parts),
    async push(push) {
      const reply = await run(
        connection,
        pushScript,
        [keys.inForce, keys.history, keys.documents],
        [clockArgument(parts), push.expected, push.revision, push.document, push.by, push.message],
      );
      const pushed = z.tuple([z.enum(['in-force', 'conflict']), ...inForce.def.items]);
      const [outcome, ...current] = expectReply(pushed, 'a push', reply);
      return { outcome, control: await bringAbout(parts, current) };
    },
    async document(revision) {
      const reply = await connection.call('hget', [keys.documents, revision]);
      return expectReply(optionalText, `the document of ${revision}`, reply);
    },
    async history(limit) {
      if (limit < 1) return [];
      const rows = expectReply(
        texts,
        'the history',
        await connection.call('lrange', [keys.history, 0, limit - 1]),
      );
      return rows.map((row) => {
        const [sequence, revision, by, message, atMs] = expectJson(historyRow, 'the history', row);
        return { sequence, revision, by, message, atMs };
      });
    },
    async freeze({ reason, by }) {
      expectFreeze({ reason, by });
      const given = [clockArgument(parts), reason, by, parts.memory.seen().ids];
      const reply = await run(connection, freezeScript, [keys.inForce], given);
      const [row, ...current] = expectReply(z.tuple([text, ...inForce.def.items]), 'a freeze', reply);
      const control = await bringAbout(parts, current);
      return { freeze: expectJson(freezeRow, 'a freeze', row), control };
    },
    unfreeze: (request) => unfreeze(parts, request),
  };
}

const historyRow = z.tuple([digits, text, text, text, digits]);
