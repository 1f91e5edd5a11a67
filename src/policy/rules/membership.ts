import { z } from 'zod';
import type { ListClaim } from '../../claims/list.ts';
import { type FEWER, type MORE, looserIf } from '../language/looser.ts';
import {
  checkEntries,
  entriesOf,
  entryMembers,
  entriesToLookUp,
  readListedEntry,
} from '../language/entry.ts';
import { formatMember, listName, textList } from '../language/parameter.ts';
import { pass, refuse } from '../outcome.ts';
import { type RuleContext, compileLines } from '../rule-context.ts';
import { type Check } from './rule.ts';

/** The parameters of allow-list, to which more entries are looser, and of deny-list, to which fewer are. */
export const membershipParameters = (looser: typeof MORE | typeof FEWER) =>
  z
    .strictObject({
      of: textList.describe(
        'The member to look up, like userId or to. With several, like [to, symbol, memo], an ' +
          'entry binds their values together.',
      ),
      values: textList.optional().describe('The entries of the list.').register(looserIf, looser),
      file: z
        .string({ error: 'the name of a file beside the policy' })
        .min(1, { error: 'the name of a file beside the policy' })
        .optional()
        .describe(
          'A file beside the policy, with an entry a line and `#` for comments. It becomes part ' +
            'of the revision.',
        )
        .register(looserIf, looser),
      list: listName
        .optional()
        .describe(
          'A list of the source in the store. `countersign list` changes it without a push. If ' +
            'the source has no such list, the callback is refused.',
        ),
    })
    .superRefine(({ values, file, list }, context) => {
      const given = [values, file, list].filter((each) => each !== undefined).length;
      if (given === 1) return;
      context.addIssue({
        code: 'custom',
        message:
          given === 0 ? 'it names no values, file or list' : 'it has more than one of values, file and list',
        params: { fix: 'give exactly one of values, file and list' },
      });
    });

/** A check that a list holds all, or none, of the entries that a callback has under the members. */
export function compileMembership(
  { of, values, file, list }: z.output<ReturnType<typeof membershipParameters>>,
  must: ListClaim['must'],
  context: RuleContext,
): Check | undefined {
  const members = entryMembers(of, ['of'], context);
  if (members === undefined) return undefined;
  if (list !== undefined) {
    if (members.includes('amount')) {
      return context.fault(['list'], 'an amount is not kept in a list', 'use values, or an amount-limit');
    }
    const { when, assets } = context;
    return {
      lists: [list],
      looserLists: must === 'hold-all' ? 'more' : 'fewer',
      readListed: (_, written) => readListedEntry(members, written, { when, assets }),
      ...membershipCheck(members, must, list, undefined),
    };
  }
  const path = [file === undefined ? 'values' : 'file'];
  const heldBy = (
    texts: readonly string[],
    written: readonly string[],
    own: RuleContext,
  ): ReadonlySet<string> | undefined => {
    const held = entriesOf(members, texts, path, own);
    return held && checkEntries(members, written, path, own) ? held : undefined;
  };
  const fix = 'put the file beside the policy, one value a line';
  const held =
    file === undefined
      ? values && heldBy(values, values, context)
      : compileLines(file, { path, fix }, context, heldBy);
  return held && membershipCheck(members, must, file ?? 'the values of the policy', held);
}

/** `held` are the entries of the policy or its file; undefined for a list in the store. */
function membershipCheck(
  members: readonly string[],
  must: ListClaim['must'],
  list: string,
  held: ReadonlySet<string> | undefined,
): Check {
  const member = members.join(' ');
  const joined = (entries: readonly string[]): string => entries.join(members.length === 1 ? ' ' : ', ');
  return {
    compared: must === 'hold-all' ? { members } : { members, effect: 'is not denied' },
    evaluate: (callback) => {
      const found = entriesToLookUp(callback, members);
      if (!found.ok) return refuse(`${found.missing} is missing`, { member, list });
      const { entries, also } = found;
      if (held === undefined) {
        const on = must === 'hold-all' ? 'on' : 'not on';
        return {
          verdict: 'claim',
          because: `${formatMember(member, entries)} ${on} the list ${list}`,
          values: { member, list, values: joined(entries) },
          claims: [{ type: 'list', list, values: entries, also, must }],
        };
      }
      const wrong = entries.filter((entry) => held.has(entry) !== (must === 'hold-all'));
      if (wrong.length > 0) {
        const state = must === 'hold-all' ? 'is not on' : 'is on';
        return refuse(`${formatMember(member, wrong)} ${state} ${list}`, {
          member,
          list,
          values: joined(wrong),
        });
      }
      const state = must === 'hold-all' ? 'is on' : 'is not on';
      return pass(`${formatMember(member, entries)} ${state} ${list}`, { member, list });
    },
  };
}
