import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { compilePolicy } from '../../src/policy/compile.ts';
import { readPolicy } from '../../src/policy/language/document.ts';
import type { Problem } from '../../src/policy/fault.ts';
import { pass } from '../../src/policy/outcome.ts';
import { NO_PEOPLE } from '../../src/policy/people.ts';
import type { RuleContext } from '../../src/policy/rule-context.ts';
import { defineRule } from '../../src/policy/rules/rule.ts';

type Compile = (context: RuleContext) => ReturnType<Parameters<typeof defineRule>[0]['compile']>;

/** The problems of a policy whose one rule is compiled so, and how many rules it has then. */
function compiled(compile: Compile): readonly [problems: readonly string[], rules: number] {
  const rule = defineRule({
    name: 'made-up',
    summary: '',
    callbacks: ['payment'],
    parameters: z.strictObject({}),
    compile: (_, context) => compile(context),
  });
  const problems: Problem[] = [];
  const files = {
    isStored: false,
    listFile: () => [],
    listAsWritten: () => undefined,
    textFile: () => '',
    assets: new Map(),
    people: NO_PEOPLE,
  };
  const document = {
    name: 'p',
    callback: 'payment',
    when: undefined,
    movements: undefined,
    rules: [{ rule, mode: 'enforce', parameters: {}, place: '1', path: ['rules', 0], when: undefined }],
  } as const;
  const { rules } = compilePolicy(document, files, problems);
  return [problems.map(({ message }) => message), rules.length];
}

describe('a rule is never left out of a policy in silence', () => {
  it('if it compiles to nothing and says why, that is its fault', () => {
    expect(compiled((context) => context.fault([], 'no good', 'mend it'))).toEqual([['no good'], 0]);
  });

  it('if it compiles to nothing and does not say why, that is a fault all the same', () => {
    expect(compiled(() => undefined)).toEqual([['the rule can’t be compiled, and does not say why'], 0]);
  });

  it('if it throws, that is its fault', () => {
    const thrown = (): never => {
      throw new Error('boom');
    };
    expect(compiled(thrown)).toEqual([["the rule can't be compiled: boom"], 0]);
  });

  it('if it is written without parameters, that is a fault', () => {
    const problems: Problem[] = [];
    const written = { policy: 'p', callback: 'payment', rules: [{ 'amount-limit': undefined }] };
    expect(readPolicy(written, problems)?.rules).toEqual([]);
    expect(problems).toMatchObject([{ path: ['rules', 0, 'amount-limit'], message: 'it has no parameters' }]);
  });

  it('if it compiles, nothing is at fault', () => {
    expect(compiled(() => ({ evaluate: () => pass('yes') }))).toEqual([[], 1]);
  });
});
