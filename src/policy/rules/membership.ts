import { z } from 'zod';
import { messageOf } from '../../errors.ts';
import type { ListClaim } from '../../claims/list.ts';
import { entriesOf, entryMembers, lookedUp } from './entry.ts';
import { addressesStand } from './listed-addresses.ts';
import { textsText, formatMember } from './parameter.ts';
import { type Check, type Outcome, type RuleContext, pass, refuse } from './rule.ts';

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

/** A check that a list holds all, or none, of what the callback has under its members. */
export function compileMembership(
  { of, values, file, list }: z.output<typeof membershipParameters>,
  must: ListClaim['must'],
  context: RuleContext,
): Check | undefined {
  const members = entryMembers(of, ['of'], context);
  if (members === undefined) return undefined;
  if (list !== undefined) {
    if (!members.includes('amount')) return storeList(members, list, must);
    return context.fault(['list'], 'an amount is not kept in a list', 'use values, or an amount-limit');
  }
  const path = [file === undefined ? 'values' : 'file'];
  const texts = file === undefined ? values : fileTexts(file, context);
  const held = texts && entriesOf(members, texts, path, context);
  if (texts === undefined || held === undefined) return undefined;
  const written = file === undefined ? texts : (context.writtenList(file) ?? []);
  if (!addressesStand(members, written, path, context)) return undefined;
  return inlineList(members, file ?? 'the values of the policy', held, must);
}

function fileTexts(file: string, context: RuleContext): readonly string[] | undefined {
  try {
    return context.listFile(file);
  } catch (thrown) {
    return context.fault(['file'], messageOf(thrown), 'put the file beside the policy, one value a line');
  }
}

function inlineList(
  members: readonly string[],
  list: string,
  held: ReadonlySet<string>,
  must: ListClaim['must'],
): Check {
  const member = members.join(' ');
  return {
    evaluate: (callback) => {
      const found = lookedUp(callback, members);
      if (!found.ok) return without(found.missing, member, list);
      const { entries } = found;
      const wrong = entries.filter((entry) => held.has(entry) !== (must === 'hold-all'));
      const state = must === 'hold-all' ? 'is not on' : 'is on';
      if (wrong.length > 0) {
        const values = { member, list, values: joined(members, wrong) };
        return refuse(`${formatMember(member, wrong)} ${state} ${list}`, values);
      }
      const fine = must === 'hold-all' ? 'is on' : 'is not on';
      return pass(`${formatMember(member, entries)} ${fine} ${list}`, { member, list });
    },
  };
}

function storeList(members: readonly string[], list: string, must: ListClaim['must']): Check {
  const member = members.join(' ');
  return {
    evaluate: (callback) => {
      const found = lookedUp(callback, members);
      if (!found.ok) return without(found.missing, member, list);
      const { entries } = found;
      const wanted = must === 'hold-all' ? 'on' : 'not on';
      return {
        verdict: 'claim',
        because: `${formatMember(member, entries)} ${wanted} the list ${list}`,
        values: { member, list, values: joined(members, entries) },
        claims: [{ type: 'list', list, values: entries, must }],
      };
    },
  };
}

function without(missing: string, member: string, list: string): Outcome {
  return refuse(`${missing} is missing`, { member, list });
}

const joined = (members: readonly string[], entries: readonly string[]): string =>
  entries.join(members.length === 1 ? ' ' : ', ');
