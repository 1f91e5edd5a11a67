import { z } from 'zod';
import { valuesOf } from '../members.ts';
import { checkEntries } from './entry.ts';
import { memberOf, memberText, memberTexts, textList, formatMember } from './parameter.ts';
import { ADDRESS_NOTE, defineRule, pass, refuse } from './rule.ts';

export const memberEquals = defineRule({
  name: 'member-equals',
  summary: 'A member must have a certain value, or one of several.',
  notes: [
    'A callback without the member is refused.',
    'Hexadecimal texts (`0x…`) and bech32 addresses (`bc1…`) are compared without regard to ' +
      'case, all others exactly.',
    'For a withdrawal to several addresses, each address in `to` must be one of the values.',
    ADDRESS_NOTE,
    'If the asset table has every symbol under `when`, the addresses and destination tags in the values are ' +
      'checked as their chain writes them.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z
    .strictObject({
      member: memberText.describe('The member, like memo or from.'),
      value: z.string({ error: 'a text' }).optional().describe('The value that it must have.'),
      values: textList.optional().describe('Several values. The member must have one of them.'),
    })
    .superRefine(({ value, values }, context) => {
      if ((value === undefined) !== (values === undefined)) return;
      context.addIssue({
        code: 'custom',
        message: value === undefined ? 'it names no value' : 'it has both value and values',
        params: { fix: 'give exactly one of value and values' },
      });
    }),
  listedValues: 'pass',
  example: `policy: exchange-deposits
callback: transfer
when: { source: vault }
rules:
  - member-equals: { member: memo, value: 88410023 }
  - member-equals: { member: pending_round, value: false }
`,
  cases: `tests:
  - test: a withdrawal with the memo passes
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer: { request_id: r1, from: ours, to: theirs, amount: '25', symbol: EOS, memo: '88410023' }
        expect: SUCCESS
  - test: another memo, no memo, and a speed-up are refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer: { request_id: r1, from: ours, to: theirs, amount: '25', symbol: EOS, memo: '88410024' }
        expect:
          { verdict: FAILURE, rule: member-equals#1, values: { values: '88410024', expected: '88410023' } }
      - source: vault
        transfer: { request_id: r2, from: ours, to: theirs, amount: '25', symbol: EOS }
        expect: { verdict: FAILURE, rule: member-equals#1, because: memo is missing }
      - source: vault
        transfer:
          { request_id: r3, from: ours, to: theirs, amount: '25', symbol: EOS, memo: '88410023',
            pending_round: true }
        expect: { verdict: FAILURE, rule: member-equals#2 }
`,
  compile: ({ member: name, value, values }, context) => {
    const member = memberOf(name, ['member'], context);
    if (member === undefined) return undefined;
    const texts = value === undefined ? (values ?? []) : [value];
    const path = [value === undefined ? 'values' : 'value'];
    const allowed = memberTexts(member, texts, path, context);
    if (allowed === undefined || !checkEntries([member], texts, path, context)) return undefined;
    const expected = [...allowed].slice(0, 5).join(', ');
    const others = allowed.size > 5 ? ` or one of ${allowed.size - 5} more` : '';
    return {
      compared: { members: [member] },
      evaluate: (callback) => {
        const found = valuesOf(callback, member);
        if (found.length === 0) return refuse(`${member} is missing`, { member, expected });
        const wrong = found.filter((each) => !allowed.has(each));
        return wrong.length > 0
          ? refuse(`${formatMember(member, wrong)} is not ${expected}${others}`, {
              member,
              expected,
              values: wrong.join(' '),
            })
          : pass(`${formatMember(member, found)} is as expected`, { member, expected });
      },
    };
  },
});
