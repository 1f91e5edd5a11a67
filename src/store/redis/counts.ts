import { z } from 'zod';
import type { CountedBucket, Counts } from '../store.ts';
import type { RedisParts } from './parts.ts';
import { digits, parseReply, readHash } from './reply.ts';

/** Counters are hashes: see window.lua. Each is read in one step, but not all of them in the same. */
export function createCounts({ connection, keys }: RedisParts): Counts {
  return {
    buckets: (source, counters) =>
      Promise.all(
        counters.map(async (key) => {
          const what = `the counter ${key} of ${source}`;
          return bucketsIn(what, await readHash(connection, what, keys.of(source).counter(key)));
        }),
      ),
  };
}

const amount = z.string().regex(/^\d+$/).transform(BigInt);
/** The total, the numbers of the first and the last bucket, the end and the sum of the last one, and one end more. */
const headShape = z.tuple([amount, digits, digits, digits, amount, digits]);
const bucketShape = z.tuple([digits, amount]);

function bucketsIn(what: string, counter: ReadonlyMap<string, string>): readonly CountedBucket[] {
  if (counter.size === 0) return [];
  const head = (counter.get('head') ?? '').split(' ');
  const [, first, last, lastEndMs, lastAmount] = parseReply(headShape, what, head);
  if (first > last) return [];
  const earlier = Array.from({ length: last - first }, (_, at): CountedBucket => {
    const bucket = (counter.get(String(first + at)) ?? '').split('|');
    const [endMs, sum] = parseReply(bucketShape, what, bucket);
    return { endMs, amount: sum };
  });
  return [...earlier, { endMs: lastEndMs, amount: lastAmount }];
}
