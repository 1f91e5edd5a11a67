import { z } from 'zod';
import { LOWER, MORE, looserIf } from '../language/looser.ts';
import { entryMembers, entriesToLookUp, readListedEntry } from '../language/entry.ts';
import { membershipParameters } from './membership.ts';
import { durationText, formatMember } from '../language/parameter.ts';
import { refuse } from '../outcome.ts';
import { defineRule } from './rule.ts';

const listed = membershipParameters(MORE).shape;

export const coolingPeriod = defineRule({
  name: 'cooling-period',
  summary: 'The value of a member must have been on a list in the store for some time.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    of: listed.of,
    list: listed.list
      .unwrap()
      .describe('A list of the source in the store. `countersign list` changes it without a push.'),
    for: durationText
      .describe('The time since an entry was added, at least, from 1s to 92d, like 90s, 10m, 24h or 7d.')
      .register(looserIf, LOWER),
  }),
  compile: ({ of, list, for: period }, context) => {
    const members = entryMembers(of, ['of'], context);
    if (members === undefined) return undefined;
    if (members.includes('amount')) {
      return context.fault(['of'], 'an amount is not kept in a list', 'use an amount-limit');
    }
    const member = members.join(' ');
    const { when, assets } = context;
    return {
      lists: [list],
      looserLists: 'more',
      readListed: (_, written) => readListedEntry(members, written, { when, assets }),
      compared: { members },
      evaluate: (callback) => {
        const found = entriesToLookUp(callback, members);
        if (!found.ok) return refuse(`${found.missing} is missing`, { member, list, for: period.text });
        const { entries, also } = found;
        const values = entries.join(members.length === 1 ? ' ' : ', ');
        return {
          verdict: 'claim',
          because: `${formatMember(member, entries)} on the list ${list} for at least ${period.text}`,
          values: { member, list, for: period.text, values },
          claims: [{ type: 'aged', list, values: entries, also, ageMs: period.ms }],
          retryable: true,
        };
      },
    };
  },
});
