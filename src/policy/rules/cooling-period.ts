import { z } from 'zod';
import { entryMembers, entriesToLookUp, readListedEntry } from './entry.ts';
import { membershipParameters } from './membership.ts';
import { durationText, formatMember } from './parameter.ts';
import { refuse } from '../outcome.ts';
import { ADDRESS_NOTE, NEW_VALUES_NOTE, defineRule } from './rule.ts';

export const coolingPeriod = defineRule({
  name: 'cooling-period',
  summary: 'The value of a member must have been on a list in the store for some time.',
  notes: [
    'This is an allow-list whose entries count only some time after they were added. In that ' +
      'time, others can notice a wrong entry.',
    NEW_VALUES_NOTE,
    'A callback is refused if it lacks one of the members, or if the source has no such list.',
    'A withdrawal to several addresses passes only if all of them have been on the list for that time.',
    'With several members, an entry has their texts in that order with one blank between them, ' +
      'as in allow-list.',
    ADDRESS_NOTE,
    'A refusal is not final: each repeat is decided again, and passes once the entry is old enough.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    of: membershipParameters.shape.of,
    list: membershipParameters.shape.list
      .unwrap()
      .describe('A list of the source in the store. `countersign list` changes it without a push.'),
    for: durationText.describe(
      'The time since an entry was added, at least, from 1s to 92d, like 90s, 10m, 24h or 7d.',
    ),
  }),
  bounds: { for: 'minimum' },
  example: `policy: partners-after-a-day
callback: transfer
when: { source: vault }
rules:
  - cooling-period: { of: to, list: partners, for: 24h }
`,
  cases: `tests:
  - test: an address that was added a day ago passes, and not a second earlier
    now: 2026-03-02T09:59:59Z
    given:
      lists: { vault: { partners: [{ value: 'bc1qone', added: 2026-03-01T10:00:00Z }] } }
    callbacks:
      - source: vault
        transfer:
          { type: sign_start, request_id: r1, from: bc1qfrom, to: bc1qone, amount: '0.5', symbol: BTC }
        expect:
          { verdict: FAILURE, rule: cooling-period#1,
            values: { list: partners, for: 24h, values: bc1qone } }
      - source: vault
        after: 1s
        transfer:
          { type: sign_start, request_id: r1, from: bc1qfrom, to: bc1qone, amount: '0.5', symbol: BTC }
        expect: SUCCESS
  - test: an address that is not on the list is refused
    now: 2026-03-02T10:00:00Z
    given:
      lists: { vault: { partners: [{ value: 'bc1qone', added: 2026-01-01T00:00:00Z }] } }
    callbacks:
      - source: vault
        transfer:
          { type: sign_start, request_id: r1, from: bc1qfrom, to: bc1qtwo, amount: '0.5', symbol: BTC }
        expect: { verdict: FAILURE, rule: cooling-period#1, because: to bc1qtwo is not on the list partners }
  - test: everything is refused while there is no such list
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { type: sign_start, request_id: r1, from: bc1qfrom, to: bc1qone, amount: '0.5', symbol: BTC }
        expect: { verdict: FAILURE, rule: cooling-period#1, because: there is no list partners }
`,
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
