import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { claimsOf, distinctClaim, refusalsClaim, request } from './requests.ts';

/**
 * Settles so many questions at once on the store at an address, and prints for each a line of JSON: its value,
 * the verdict and the results of its claims. Every second question is refused by its proposal.
 */
const [address = '', name = '', count = '', max = '', after = ''] = process.argv.slice(2);
const store = address.startsWith('redis')
  ? await openRedisStore({ url: address, commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 })
  : await openEmbeddedStore({ path: address });

async function settle(index: number): Promise<void> {
  const value = `v${index % 40}`;
  const isRefused = index % 2 === 0;
  const claims = isRefused ? [refusalsClaim(Number(after))] : [distinctClaim([value], Number(max))];
  const subject = `payment:${name}-${index}`;
  const result = await store.settle(request({ subject, claims, approves: !isRefused }));
  const verdict = 'verdict' in result ? result.verdict : result.outcome;
  process.stdout.write(`${JSON.stringify({ value, isRefused, verdict, results: claimsOf(result) })}\n`);
}

await Promise.all(Array.from({ length: Number(count) }, (_, index) => settle(index)));
await store.close();
