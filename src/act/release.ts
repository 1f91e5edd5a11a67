import { z } from 'zod';
import { subjectOf } from '../callback/callback.ts';
import {
  type ReleaseRequest,
  type ReleaseResult,
  type ReleasingStore,
  firstRelease,
  releaseApproval as release,
  releaseResultJson,
} from '../orders/release.ts';
import type { OrderSource } from '../orders/orders.ts';
import { columns, counted, isoTime, printable } from '../values/text.ts';
import type { Act } from './act.ts';
import { named } from './orders.ts';

const input = z.strictObject({
  ...named,
  message: z.string().describe('Why the operation failed, for the journal; at most 1000 characters.'),
  members: z
    .strictObject({ userId: z.string(), symbol: z.string(), amount: z.string() })
    .partial()
    .default({})
    .describe('The approval is released only if it has these members.'),
});

interface Parts {
  readonly store: ReleasingStore;
  readonly sources: readonly OrderSource[];
}

type Result = ReleaseResult & Pick<ReleaseRequest, 'source' | 'kind' | 'id'>;

export const releaseApproval = {
  name: 'decisions release',
  summary:
    'Release the approval of an operation that failed for good: limits no longer count it, and it is refused ' +
    'from now on.',
  role: 'operate',
  input,
  async perform({ store, sources }, request, by) {
    const { source, kind, id } = request;
    return { source, kind, id, ...(await release(store, sources, { ...request, by })) };
  },
  fourEyes: {
    name: 'releases',
    async judge({ store, sources }, request) {
      const first = await firstRelease(store, sources, request);
      if (first === undefined) return { is: 'looser' };
      const { source, kind, id } = request;
      return { is: 'done', result: () => ({ source, kind, id, ...first }) };
    },
  },
  text: releaseText,
  json: (result) => releaseResultJson(result, result),
} satisfies Act<Parts, typeof input, Result>;

function doneText({ source, outcome, released, ...operation }: Result): string {
  const { id, atMs, by, message } = released;
  const subject = subjectOf(operation);
  return outcome === 'released'
    ? `Released ${subject} of ${source}, as entry ${source}/${id}. Callbacks about it are refused from now on.`
    : `${subject} of ${source} was released before, at ${isoTime(atMs)} by ${by} as ${source}/${id}: ${message}.`;
}

function releaseText(result: Result): string {
  const { amounts, kept } = result.given;
  const rows = amounts.map(({ policy, rule, amount, until }) => [
    `  ${amount}`,
    `${policy}/${rule}`,
    `would have counted until ${until}`,
  ]);
  const [latest] = kept.map(({ until }) => until).toSorted((a, b) => (a < b ? 1 : -1));
  const counts = rows.length === 0 ? [] : ['Given back:', columns(rows)];
  const none = latest === undefined ? ['No limit counted it any more.'] : [];
  return [
    printable(doneText(result)),
    ...(rows.length === 0 ? none : counts),
    ...(latest === undefined
      ? []
      : [`Not given back: ${counted(kept.length, 'count')}, the last until ${latest}. ${KEPT}`]),
  ].join('\n');
}

const KEPT = 'They count different values, or no longer have what was reserved there.';
