import { z } from 'zod';
import { messageOf } from '../../errors.ts';
import type { ListClaim } from '../../claims/list.ts';
import { checkAddresses, entriesOf, entryMembers, lookedUp } from './entry.ts';
import { formatMember, textsText } from './parameter.ts';
import { type Check, type RuleContext, pass, refuse } from './rule.ts';

const LIST = 'the name of a list in the store: lower-case letters, digits and hyphens, a letter first';

/** The parameters that allow-list and deny-list share. */
export const membershipParameters = z
  .strictObject({
    of: textsText.describe(
      'The member that is looked up, like userId or to; or several, like [to, symbol, memo], for entries that bind them together.',
    ),
    values: textsText.optional().describe('The values themselves.'),
    file: z
      .string({ error: 'the name of a file beside the policy' })
      .min(1, { error: 'the name of a file beside the policy' })
      .optional()
      .describe(
        'A file beside the policy, one value a line, `#` for comments. It becomes part of the revision.',
      ),
    list: z
      .string({ error: LIST })
      .regex(/^[a-z][a-z0-9-]{0,63}$/, { error: LIST })
      .optional()
      .describe(
        'A list of the source in the store, changed by `countersign list` without a push. If there is none, the callback is refused.',
      ),
  })
  .superRefine(({ values, file, list }, context) => {
    const given = [values, file, list].filter((each) => each !== undefined).length;
    if (given === 1) return;
    context.addIssue({
      code: 'custom',
      message:
        given === 0 ? 'it names no values, file or list' : 'it has more than one of values, file and list',
      params: { cure: 'give exactly one of values, file and list' },
    });
  });

export const membershipNotes: readonly string[] = [
  'A callback without the member, or without one of several, is refused.',
  'Hexadecimal texts (`0x…`) and bech32 addresses (`bc1…`) compare without regard to case, all others exactly.',
  'Entries of the store, of files and of the policy are compared in one form, word by word and in Unicode normal form C. A memo that looks like another (outer white space, characters that nobody sees, another normal form) never comes this far: such a callback is refused as it is read.',
  'With several members, a value is their texts in that order with one blank between them, like `rPEP… XRP 12345` for `[to, symbol, memo]`; the memo comes last, since it alone may have blanks in it.',
  'In a file, a value that has ` #` in it, or begins with `"`, is written as a JSON string: `"rPEP… XRP order #7"`.',
  'Where the asset table has every symbol under `when` (or in the value), addresses in `values` and `file` are checked as their chain writes them, so that a misspelt one is a fault and not an entry that does nothing.',
];

/** A check that a list holds all, or none, of the entries that a callback has under the members. */
export function compileMembership(
  { of, values, file, list }: z.output<typeof membershipParameters>,
  must: ListClaim['must'],
  context: RuleContext,
): Check | undefined {
  const members = entryMembers(of, ['of'], context);
  if (members === undefined) return undefined;
  if (list !== undefined) {
    if (members.includes('amount')) {
      return context.fault(['list'], 'an amount is not kept in a list', 'use values, or an amount-limit');
    }
    return { lists: [list], ...membershipCheck(members, must, list, undefined) };
  }
  const path = [file === undefined ? 'values' : 'file'];
  const texts = file === undefined ? values : fileTexts(file, context);
  const held = texts && entriesOf(members, texts, path, context);
  if (texts === undefined || held === undefined) return undefined;
  const written = file === undefined ? texts : (context.writtenList(file) ?? []);
  if (!checkAddresses(members, written, path, context)) return undefined;
  return membershipCheck(members, must, file ?? 'the values of the policy', held);
}

function fileTexts(file: string, context: RuleContext): readonly string[] | undefined {
  try {
    return context.listFile(file);
  } catch (thrown) {
    return context.fault(['file'], messageOf(thrown), 'put the file beside the policy, one value a line');
  }
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
    compared:
      must === 'hold-all'
        ? { members, effect: 'is refused', evades: false }
        : { members, effect: 'is not denied', evades: true },
    evaluate: (callback) => {
      const found = lookedUp(callback, members);
      if (!found.ok) return refuse(`${found.missing} is missing`, { member, list });
      const { entries } = found;
      if (held === undefined) {
        return {
          verdict: 'claim',
          because: `${formatMember(member, entries)} ${must === 'hold-all' ? 'on' : 'not on'} the list ${list}`,
          values: { member, list, values: joined(entries) },
          claims: [{ type: 'list', list, values: entries, must }],
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
