import { describe, expect, it } from 'vitest';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { type PolicyFault, formatFault } from '../../src/policy/fault.ts';

function faults(...texts: readonly string[]): readonly PolicyFault[] {
  const files = texts.map((text, index) => ({ name: `${'abc'[index]}.yaml`, text }));
  const compiled = readPolicyFiles(files, () => undefined);
  return compiled.ok ? [] : compiled.faults;
}

const SOUND = `policy: sound
callback: payment
rules:
  - amount-limit: { max: 1 }
`;

const cases: readonly (readonly [
  what: string,
  text: string,
  place: string,
  message: string,
  expectedFix: string,
])[] = [
  ['an empty file', '', 'a.yaml', 'the file holds no policy', 'write one, or delete the file'],
  ['a file of comments', '# later\n', 'a.yaml', 'the file holds no policy', 'write one, or delete the file'],
  [
    'an empty document',
    `${SOUND}---\n`,
    'a.yaml:5:4',
    '"" is not valid',
    'write a mapping of policy, description, callback',
  ],
  ['an empty list of policies', '[]\n', 'a.yaml', 'the file holds no policy', 'write one'],
  [
    'a text',
    'approve everything\n',
    'a.yaml:1:1',
    '"approve everything" is not valid',
    'write a mapping of policy',
  ],
  [
    'no name',
    'callback: payment\nrules: [amount-limit: { max: 1 }]\n',
    'a.yaml:1:1 policy',
    'policy is missing',
    'write a name of at most 64',
  ],
  [
    'an upper-case name',
    SOUND.replace('sound', 'Sound'),
    'a.yaml:1:9 policy',
    '"Sound" is not valid',
    'write a name of at most 64 lower-case letters',
  ],
  [
    'a name too long',
    SOUND.replace('sound', 'a'.repeat(65)),
    'a.yaml:1:9 policy',
    'is not valid',
    'write a name of at most 64',
  ],
  [
    'no kind',
    SOUND.replace('callback: payment\n', ''),
    'a.yaml:1:1 callback',
    'callback is missing',
    'write one of payment, transfer, web3',
  ],
  [
    'a stranger’s kind',
    SOUND.replace('payment', 'payments'),
    'a.yaml:2:11 callback',
    '"payments" is not valid',
    'write one of payment, transfer, web3',
  ],
  [
    'no rules',
    'policy: a\ncallback: payment\n',
    'a.yaml:1:1 rules',
    'rules is missing',
    'write a list of at least one rule',
  ],
  [
    'an empty list of rules',
    'policy: a\ncallback: payment\nrules: []\n',
    'a.yaml:3:8 rules',
    'a list is not valid',
    'write a list of at least one rule',
  ],
  [
    'rules without a hyphen',
    'policy: a\ncallback: payment\nrules:\n  amount-limit: { max: 1 }\n',
    'a.yaml:4:3 rules',
    'a mapping is not valid',
    'write a list of at least one rule',
  ],
  [
    'too many rules',
    `policy: a\ncallback: payment\nrules:\n${'  - amount-limit: { max: 1 }\n'.repeat(101)}`,
    'a.yaml:4:3 rules',
    'a list is not valid',
    'at most 100',
  ],
  [
    'a misspelt member',
    `${SOUND}movement: {}\n`,
    'a.yaml:5:1 movement',
    '"movement" is not known here',
    'did you mean movements?',
  ],
  [
    'an unknown member',
    `${SOUND}priority: 1\n`,
    'a.yaml:5:1 priority',
    '"priority" is not known here',
    'known here: policy, description, callback, when, movements, rules',
  ],
  [
    'a prototype',
    `${SOUND}__proto__: { rules: [] }\n`,
    'a.yaml:5:1 __proto__',
    '"__proto__" is not known here',
    'known here',
  ],
  [
    'a description that is a list',
    `${SOUND}description: [a]\n`,
    'a.yaml:5:14 description',
    'a list is not valid',
    'write a text',
  ],
  [
    'a rule that is a text',
    SOUND.replace('amount-limit: { max: 1 }', 'allow'),
    'a.yaml:4:5 rules[0]',
    '"allow" is not a rule',
    'write its name and parameters',
  ],
  [
    'a misspelt rule',
    SOUND.replace('amount-limit', 'amuont-limit'),
    'a.yaml:4:5 rules[0].amuont-limit',
    'there is no rule "amuont-limit"',
    'did you mean amount-limit?',
  ],
  [
    'an unknown rule',
    SOUND.replace('amount-limit', 'two-person-approval'),
    'a.yaml:4:5 rules[0].two-person-approval',
    'there is no rule "two-person-approval"',
    'known here: amount-limit, window-limit',
  ],
  [
    'two rules in one entry',
    SOUND.replace('{ max: 1 }', '{ max: 1 }\n    deny-list: { of: userId, values: 1 }'),
    'a.yaml:4:5 rules[0]',
    'it names 2 rules',
    'one rule in each entry',
  ],
  [
    'no rule beside its mode',
    SOUND.replace('amount-limit: { max: 1 }', 'mode: observe'),
    'a.yaml:4:5 rules[0]',
    'it names no rule',
    'one rule in each entry',
  ],
  [
    'a misspelt mode',
    `${SOUND}    mode: observed\n`,
    'a.yaml:5:11 rules[0].mode',
    '"observed" is not a mode',
    'write observe, or leave it out',
  ],
  [
    'a misspelt name of mode',
    `${SOUND}    moed: observe\n`,
    'a.yaml:5:5 rules[0].moed',
    'there is no rule "moed"',
    'did you mean mode?',
  ],
  [
    'a mode among the parameters',
    SOUND.replace('max: 1', 'max: 1, mode: observe'),
    'a.yaml:4:29 rules[0].amount-limit.mode',
    '"mode" is not known here',
    'known here: min, max',
  ],
  [
    'an unknown parameter',
    SOUND.replace('max', 'maks: 2, max'),
    'a.yaml:4:21 rules[0].amount-limit.maks',
    '"maks" is not known here',
    'did you mean max?',
  ],
  [
    'a parameter that is not valid',
    SOUND.replace('max: 1', 'max: ten'),
    'a.yaml:4:26 rules[0].amount-limit.max',
    '"ten" is not valid',
    'write a plain decimal, like 10000',
  ],
  [
    'a blank that looks like another',
    SOUND.replace('max: 1', 'max: "1\u00a0"'),
    'a.yaml:4:26 rules[0].amount-limit.max',
    '"1⟨a no-break space (U+00A0)⟩" is not valid',
    'write a plain decimal, like 10000',
  ],
  [
    'a missing file',
    SOUND.replace('amount-limit: { max: 1 }', 'deny-list: { of: userId, file: x.txt }'),
    'a.yaml:4:36 rules[0].deny-list.file',
    'there is no file x.txt',
    'put the file beside the policy',
  ],
  [
    'a misspelt member of a rule',
    SOUND.replace(
      'amount-limit: { max: 1 }',
      'velocity-limit: { per: [source, userid], window: 1m, max: 1 }',
    ),
    'a.yaml:4:37 rules[0].velocity-limit.per[1]',
    'no member "userid"',
    'did you mean userId?',
  ],
  [
    'a misspelt member in when',
    SOUND.replace('rules', 'when: { simbol: X }\nrules'),
    'a.yaml:3:9 when.simbol',
    'a payment callback has no member "simbol"',
    'did you mean symbol?',
  ],
  [
    'a member of another kind in when',
    SOUND.replace('rules', 'when: { to: X }\nrules'),
    'a.yaml:3:9 when.to',
    'a payment callback has no member "to"',
    'known here: source, userId',
  ],
  [
    'a member twice in when',
    SOUND.replace('rules', 'when: { symbol: X, payCoinSymbol: Y }\nrules'),
    'a.yaml:3:20 when.payCoinSymbol',
    'names symbol a second time',
    'keep one of the two',
  ],
  [
    'an empty list in when',
    SOUND.replace('rules', 'when: { symbol: [] }\nrules'),
    'a.yaml:3:17 when.symbol',
    'the list is empty',
    'name a value',
  ],
  [
    'a mapping in when',
    SOUND.replace('rules', 'when: { symbol: { is: X } }\nrules'),
    'a.yaml:3:17 when.symbol',
    'a mapping is not valid',
    'write a text, or a list of texts',
  ],
  [
    'nothing in when',
    SOUND.replace('rules', 'when:\n  symbol:\nrules'),
    'a.yaml:4:10 when.symbol',
    '"" is not valid',
    'one text of visible ASCII characters without blanks',
  ],
  [
    'a when that could never match',
    SOUND.replace('rules', 'when: { amount: [1, "1,000"] }\nrules'),
    'a.yaml:3:21 when.amount[1]',
    '"1,000" is not valid',
    'write an amount like 10000',
  ],
  [
    'a when that is a text',
    SOUND.replace('rules', 'when: always\nrules'),
    'a.yaml:3:7 when',
    '"always" is not valid',
    'write conditions, like { source: shop }',
  ],
  [
    'two rules with one counter',
    SOUND.replace(
      'amount-limit: { max: 1 }',
      'velocity-limit: { per: [userId], window: 24h, max: 1 }\n  - velocity-limit: { per: [userId], window: 1d, max: 2 }\n    mode: observe',
    ),
    'a.yaml:5:5 rules[1].velocity-limit',
    'the same counter as rule 1 of this policy',
    'move one that observes to a policy of its own',
  ],
  [
    'a name twice in one file',
    `${SOUND}---\n${SOUND}`,
    'a.yaml:6:9 policy',
    'there is a policy sound already, in a.yaml:1',
    'give one of the two another name',
  ],
  [
    'a member twice',
    `${SOUND}callback: web3\n`,
    'a.yaml:5:1',
    '"callback" appears twice',
    'keep one of the two',
  ],
];

describe('a fault in a policy file', () => {
  it('is not found in a sound one', () => {
    expect(faults(SOUND)).toEqual([]);
  });

  it.each(cases)('%s is told with its place and its cure', (_, text, place, message, expectedFix) => {
    const found = faults(text);
    expect(found).toHaveLength(1);
    const [fault] = found;
    if (fault === undefined) throw new Error('no fault');
    const { file, line, column, path } = fault;
    expect(`${file}${line === 0 ? '' : `:${line}:${column}`}${path === '' ? '' : ` ${path}`}`).toBe(place);
    expect(fault.message).toContain(message);
    expect(fault.fix).toContain(expectedFix);
  });

  it('is told together with all others, of all files, in order', () => {
    const bad = SOUND.replace('payment', 'pay').replace('max', 'mix').replace('sound', 'x x');
    const found = faults(`${bad}extra: 1\n`, SOUND, 'policy: [\n');
    expect(found.map(({ file, line }) => `${file}:${line}`)).toEqual([
      'a.yaml:1',
      'a.yaml:2',
      'a.yaml:4',
      'a.yaml:5',
      'c.yaml:2',
    ]);
    expect(new Set(found.map(({ path }) => path))).toEqual(
      new Set(['policy', 'callback', 'extra', 'rules[0].amount-limit.mix', '']),
    );
  });

  it('names both places of one name in two files, whatever their order', () => {
    const found = faults(SOUND, SOUND);
    expect(found.map(formatFault)).toEqual([
      'b.yaml:1:9: policy: there is a policy sound already, in a.yaml:1; give one of the two another name',
    ]);
  });

  it('is that there is no file at all', () => {
    expect(faults()).toMatchObject([{ message: 'there is no policy file' }]);
  });

  it('is more policies than anybody reviews', () => {
    const text = Array.from({ length: 501 }, (_, i) => SOUND.replace('sound', `p${i}`)).join('---\n');
    expect(faults(text, text.replaceAll('policy: p', 'policy: q'))).toMatchObject([
      { message: 'there are 1002 policies; at most 1000 are read' },
    ]);
  });
});
