import { z } from 'zod';
import { valuesOf } from '../members.ts';
import { memberOf, memberText, memberTexts, textsText, told } from './parameter.ts';
import { defineRule, pass, refuse } from './rule.ts';

export const memberEquals = defineRule({
  name: 'member-equals',
  summary: 'A member must have one value, or one of a few.',
  notes: [
    'A callback without the member is refused.',
    'Hexadecimal texts (`0x…`) and bech32 addresses (`bc1…`) compare without regard to case, all others exactly.',
    'Of a withdrawal to several addresses, every address in `to` must be one of the values.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z
    .strictObject({
      member: memberText.describe('The member, like memo or from.'),
      value: z.string({ error: 'a text' }).optional().describe('The value it must have.'),
      values: textsText.optional().describe('The values of which it must have one.'),
    })
    .superRefine(({ value, values }, context) => {
      if ((value === undefined) !== (values === undefined)) return;
      context.addIssue({
        code: 'custom',
        message: value === undefined ? 'it names no value' : 'it has both value and values',
        params: { cure: 'give exactly one of value and values' },
      });
    }),
  example: `policy: exchange-deposits
callback: transfer
when: { source: vault }
rules:
  - member-equals: { member: memo, value: 88410023 }
  - member-equals: { member: pending_round, value: false }
`,
  compile: ({ member: name, value, values }, context) => {
    const member = memberOf(name, ['member'], context);
    if (member === undefined) return undefined;
    const texts = value === undefined ? (values ?? []) : [value];
    const allowed = memberTexts(member, texts, [value === undefined ? 'values' : 'value'], context);
    if (allowed === undefined) return undefined;
    const expected = [...allowed].slice(0, 5).join(', ');
    return {
      evaluate: (callback) => {
        const found = valuesOf(callback, member);
        if (found.length === 0) return refuse(`${member} is missing`, { member, expected });
        const wrong = found.filter((each) => !allowed.has(each));
        return wrong.length > 0
          ? refuse(`${told(member, wrong)} is not ${expected}`, { member, expected, values: wrong.join(' ') })
          : pass(`${told(member, found)} is as expected`, { member, expected });
      },
    };
  },
});
