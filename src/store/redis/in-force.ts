import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import type { Control } from '../store.ts';
import type { RedisParts } from './parts.ts';
import { digits, expectJson, expectReply, optionalText, text, texts } from './reply.ts';
import { loadScript, run } from './script.ts';

const raiseScript = loadScript('raise-1');
const takeScript = loadScript('take-1');
/** How often a change is spread again because another one was made meanwhile. */
const ATTEMPTS = 50;

/**
 * What is in force as scripts give and take it: sequence, revision, who froze, as JSON or the empty text, and the version of
 * the prices.
 *
 * It stands in one place, and a copy of it with each source, for settle to read. A change is made in that place and then
 * spread: it resolves once every source has it. Whatever a change that broke off left undone, the next `control` of any
 * process completes, and so it does after a failover that lost a copy.
 */
export type InForce = readonly [sequence: string, revision: string, frozen: string, prices: string];
export const inForce = z.tuple([text, text, text, text]);

async function readInForce(parts: RedisParts): Promise<InForce> {
  const names = ['sequence', 'revision', 'frozen', 'prices'];
  const reply = await parts.connection.call('hmget', [parts.keys.inForce, ...names]);
  const fields = z.tuple([optionalText, optionalText, optionalText, optionalText]);
  const [sequence = '0', revision = '', frozen = '', prices = '0'] = expectReply(
    fields,
    'what is in force',
    reply,
  );
  return [sequence, revision, frozen, prices];
}

/** Reads what is in force, and gives it to sources that do not have it yet. */
export async function complete(parts: RedisParts): Promise<Control> {
  const current = await readInForce(parts);
  await spread(parts, current);
  return controlOf(current);
}

/**
 * Spreads a change until every source has it, or a later one, and tells whoever watches. A failover may have lost a change
 * that sources have taken already, and by its sequence they take this one for an older: its sequence is then raised.
 */
export async function bringAbout(parts: RedisParts, changed: InForce): Promise<Control> {
  let own = changed;
  let current = changed;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const kept = await spread(parts, current);
    if (kept === 0) {
      // A notice may be lost: whoever follows polls as well.
      await parts.connection.call('publish', [parts.keys.changed, current[0]]).catch(() => undefined);
      return controlOf(own);
    }
    const before = current;
    current = await readInForce(parts);
    if (current[0] !== before[0]) continue;
    current = expectReply(
      inForce,
      'what is in force',
      await run(parts.connection, raiseScript, [parts.keys.inForce], [kept]),
    );
    if (own === before) own = current;
  }
  throw new CountersignError(
    'STORE_UNREACHABLE',
    `what is in force was changed again each of ${ATTEMPTS} times that it was given to the sources; look whether it is as it should be, and change it again if not`,
  );
}

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

function controlOf([sequence, revision, frozen, prices]: InForce): Control {
  return {
    sequence: expectReply(digits, 'the sequence in force', sequence),
    revision,
    frozen: frozen === '' ? undefined : frozenOf(frozen),
    prices: expectReply(digits, 'the version of the prices', prices),
  };
}

function frozenOf(json: string): NonNullable<Control['frozen']> {
  const [reason, by, atMs] = expectJson(z.tuple([text, text, digits]), 'the freeze', json);
  return { reason, by, atMs };
}
