import { z } from 'zod';
import { messageOf } from '../../errors.ts';
import { valuesOf } from '../members.ts';
import type { ListClaim } from '../proposal.ts';
import { memberOf, memberText, memberTexts, textsText, told } from './parameter.ts';
import { type Check, type RuleContext, pass, refuse } from './rule.ts';

const LIST = 'the name of a list in the store: lower-case letters, digits and hyphens, a letter first';

/** The parameters that allow-list and deny-list share. */
export const membershipParameters = z
  .strictObject({
    of: memberText.describe('The member that is looked up, like userId or to.'),
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
  'A callback without the member is refused.',
  'Hexadecimal texts (`0x…`) and bech32 addresses (`bc1…`) compare without regard to case, all others exactly.',
];

/** A check that a list holds all, or none, of what the callback has under a member. */
export function compileMembership(
  { of, values, file, list }: z.output<typeof membershipParameters>,
  must: ListClaim['must'],
  context: RuleContext,
): Check | undefined {
  const member = memberOf(of, ['of'], context);
  if (member === undefined) return undefined;
  if (list !== undefined) {
    if (member !== 'amount') return storeList(member, list, must);
    return context.fault(['list'], 'an amount is not kept in a list', 'use values, or an amount-limit');
  }
  const texts = file === undefined ? values : fileTexts(file, context);
  const held = texts && memberTexts(member, texts, [file === undefined ? 'values' : 'file'], context);
  return held && inlineList(member, file ?? 'the policy’s values', held, must);
}

function fileTexts(file: string, context: RuleContext): readonly string[] | undefined {
  try {
    return context.listFile(file);
  } catch (thrown) {
    return context.fault(['file'], messageOf(thrown), 'put the file beside the policy, one value a line');
  }
}

function inlineList(member: string, list: string, held: ReadonlySet<string>, must: ListClaim['must']): Check {
  return {
    evaluate: (callback) => {
      const found = valuesOf(callback, member);
      if (found.length === 0) return refuse(`${member} is missing`, { member, list });
      const wrong = found.filter((value) => held.has(value) !== (must === 'hold-all'));
      const state = must === 'hold-all' ? 'is not on' : 'is on';
      if (wrong.length > 0) {
        return refuse(`${told(member, wrong)} ${state} ${list}`, { member, list, values: wrong.join(' ') });
      }
      const fine = must === 'hold-all' ? 'is on' : 'is not on';
      return pass(`${told(member, found)} ${fine} ${list}`, { member, list });
    },
  };
}

function storeList(member: string, list: string, must: ListClaim['must']): Check {
  return {
    evaluate: (callback) => {
      const values = valuesOf(callback, member);
      if (values.length === 0) return refuse(`${member} is missing`, { member, list });
      const wanted = must === 'hold-all' ? 'on' : 'not on';
      return {
        verdict: 'claim',
        because: `${told(member, values)} ${wanted} the list ${list}`,
        values: { member, list, values: values.join(' ') },
        claims: [{ type: 'list', list, values, must }],
      };
    },
  };
}
