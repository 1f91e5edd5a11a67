import { z } from 'zod';
import type { Control, Releases } from '../store.ts';
import { type RedisParts, clockArgument } from './parts.ts';
import { digits, expectJson, expectReply, optionalText, text, texts } from './reply.ts';
import { loadScript, run } from './script.ts';

const pushScript = loadScript('push-3');
const freezeScript = loadScript('freeze-1');
const unfreezeScript = loadScript('unfreeze-1');
const takeScript = loadScript('take-1');

/** What is in force as scripts give and take it: sequence, revision, and who froze, as JSON or the empty text. */
type InForce = readonly [sequence: string, revision: string, frozen: string];
const inForce = z.tuple([text, text, text]);

/**
 * What is in force stands in one place, and a copy of it with each source, for settle to read. A change is made in that
 * place and then spread: it resolves once every source has it. Whatever a change that broke off left undone, the next
 * `control` of any process completes, and so it does after a failover that lost a copy.
 */
export function createReleases(parts: RedisParts): Releases {
  const { connection, keys } = parts;
  const tell = async (changed: InForce): Promise<Control> => {
    // A notice may be lost: whoever follows polls as well.
    await connection.call('publish', [keys.changed, changed[0]]).catch(() => undefined);
    return controlOf(changed);
  };
  // A failover may have lost a change that sources have taken already, and by its number they take this one for an older.
  const insist = async (make: (above: number) => Promise<InForce>): Promise<Control> => {
    let changed = await make(0);
    const kept = await spread(parts, changed);
    const [sequence] = await readInForce(parts);
    if (kept > 0 && sequence === changed[0]) {
      changed = await make(kept);
      await spread(parts, changed);
    }
    return tell(changed);
  };
  return {
    async control() {
      const current = await readInForce(parts);
      await spread(parts, current);
      return controlOf(current);
    },
    async push(push) {
      const reply = await run(
        connection,
        pushScript,
        [keys.inForce, keys.history, keys.documents],
        [clockArgument(parts), push.expected, push.revision, push.document, push.by, push.message],
      );
      const pushed = z.tuple([z.enum(['in-force', 'conflict']), text, text, text]);
      const [outcome, ...current] = expectReply(pushed, 'a push', reply);
      await spread(parts, current);
      return { outcome, control: await tell(current) };
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
    freeze: ({ reason, by }) =>
      insist(async (above) => {
        const given = [clockArgument(parts), reason, by, above];
        return expectReply(inForce, 'a freeze', await run(connection, freezeScript, [keys.inForce], given));
      }),
    unfreeze: () =>
      insist(async (above) =>
        expectReply(inForce, 'an unfreeze', await run(connection, unfreezeScript, [keys.inForce], [above])),
      ),
  };
}

const historyRow = z.tuple([digits, text, text, text, digits]);

/**
 * Makes sources known: first their names, then what is in force. A change in between finds the names; a change before
 * is what is read. Until a source has its copy, its settles are stale.
 */
export async function register(parts: RedisParts, sources: readonly string[]): Promise<void> {
  if (sources.length === 0) return;
  await parts.connection.call('sadd', [parts.keys.sources, ...sources]);
  const current = await readInForce(parts);
  await Promise.all(sources.map((source) => take(parts, source, current)));
}

async function readInForce(parts: RedisParts): Promise<InForce> {
  const reply = await parts.connection.call('hmget', [parts.keys.inForce, 'sequence', 'revision', 'frozen']);
  const fields = z.tuple([optionalText, optionalText, optionalText]);
  const [sequence = '0', revision = '', frozen = ''] = expectReply(fields, 'what is in force', reply);
  return [sequence, revision, frozen];
}

/** Returns 0 once every source has it, else the highest sequence of what some keep instead. */
async function spread(parts: RedisParts, current: InForce): Promise<number> {
  const reply = await parts.connection.call('smembers', [parts.keys.sources]);
  const sources = expectReply(texts, 'the sources', reply);
  const kept = await Promise.all(sources.map((source) => take(parts, source, current)));
  return Math.max(0, ...kept);
}

async function take(parts: RedisParts, source: string, current: InForce): Promise<number> {
  const reply = await run(parts.connection, takeScript, [parts.keys.of(source).control], current);
  return expectReply(digits, `what ${source} takes`, reply);
}

function controlOf([sequence, revision, frozen]: InForce): Control {
  return {
    sequence: expectReply(digits, 'the sequence in force', sequence),
    revision,
    frozen: frozen === '' ? undefined : frozenOf(frozen),
  };
}

function frozenOf(json: string): NonNullable<Control['frozen']> {
  const [reason, by, atMs] = expectJson(z.tuple([text, text, digits]), 'the freeze', json);
  return { reason, by, atMs };
}
