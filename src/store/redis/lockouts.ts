import { z } from 'zod';
import { missingLockout } from '../arguments.ts';
import type { Lockout, Lockouts } from '../store.ts';
import { type RedisParts, clockArgument, journalArguments } from './parts.ts';
import { digits, parseReply, text, texts } from './reply.ts';
import { loadScript, run } from './script.ts';

const liftScript = loadScript('lift-lockout-4');
const pageScript = loadScript('lockouts-2');
const PAGE_SIZE = 1000;

export function createLockouts(parts: RedisParts): Lockouts {
  return {
    lockouts: (source) => lockouts(parts, source),
    async liftLockout({ source, id, by, message }) {
      const keys = parts.keys.of(source);
      const reply = await run(
        parts.connection,
        liftScript,
        [keys.control, keys.refusals(id), keys.lockouts, keys.journal],
        [...journalArguments(parts), id, by, message],
      );
      if (reply === null) throw missingLockout(source, id);
      return lockoutOf(source, id, parseReply(fields, nameOf(source, id), reply));
    },
  };
}

/** A lock-out that is made or lifted meanwhile may be missing, or come twice. */
async function* lockouts(parts: RedisParts, source: string): AsyncGenerator<Lockout> {
  const keys = parts.keys.of(source);
  for (let skipped = 0; ; skipped += PAGE_SIZE) {
    const args = [clockArgument(parts), skipped, PAGE_SIZE];
    const reply = await run(parts.connection, pageScript, [keys.control, keys.lockouts], args);
    const ids = parseReply(texts, `the lock-outs of ${source}`, reply);
    const found = await Promise.all(
      ids.map((id) => parts.connection.call('hmget', [keys.refusals(id), 'locked', 'policy', 'whose'])),
    );
    for (const [index, id] of ids.entries()) {
      const row = fields.safeParse(found[index]).data;
      if (row !== undefined) yield lockoutOf(source, id, row);
    }
    if (ids.length < PAGE_SIZE) return;
  }
}

const fields = z.tuple([text, text, text]);
const locked = z.tuple([digits, digits, digits]);

function lockoutOf(source: string, id: string, [times, policy, whose]: z.output<typeof fields>): Lockout {
  const [sinceMs, untilMs, refusals] = parseReply(locked, nameOf(source, id), times.split(' '));
  return { source, id, policy, whose, refusals, sinceMs, untilMs };
}

const nameOf = (source: string, id: string): string => `the lock-out ${id} of ${source}`;
