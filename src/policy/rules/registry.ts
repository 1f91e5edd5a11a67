import { z } from 'zod';
import { address } from './address.ts';
import { allowList } from './allow-list.ts';
import { amountLimit } from './amount-limit.ts';
import { approval } from './approval.ts';
import { ask } from './ask.ts';
import { contractCalls } from './contract-calls.ts';
import { coolingPeriod } from './cooling-period.ts';
import { denyList } from './deny-list.ts';
import { distinctLimit } from './distinct-limit.ts';
import { expectedOrder } from './expected-order.ts';
import { expression } from './expression.ts';
import { firstUseLimit } from './first-use-limit.ts';
import { lockOut } from './lock-out.ts';
import { memoRequired } from './memo-required.ts';
import { ownModule } from './module.ts';
import { outputs } from './outputs.ts';
import { passAlways } from './pass.ts';
import type { Rule } from './rule.ts';
import { schedule } from './schedule.ts';
import { speedUp } from './speed-up.ts';
import { valueLimit } from './value-limit.ts';
import { velocityLimit } from './velocity-limit.ts';
import { windowLimit } from './window-limit.ts';

/** All rules, in the order of the reference. Each rule has a file in this folder and a row here. */
export const rules: readonly Rule[] = [
  amountLimit,
  windowLimit,
  velocityLimit,
  distinctLimit,
  valueLimit,
  firstUseLimit,
  lockOut,
  outputs,
  speedUp,
  expectedOrder,
  approval,
  allowList,
  denyList,
  coolingPeriod,
  address,
  contractCalls,
  memoRequired,
  expression,
  schedule,
  ask,
  ownModule,
  passAlways,
];

export const ruleNames: readonly string[] = rules.map((rule) => rule.name);

const byName: ReadonlyMap<string, Rule> = new Map(rules.map((rule) => [rule.name, rule]));

export function ruleNamed(name: string): Rule | undefined {
  return byName.get(name);
}

/** A parameter of a rule, or a member of a policy, for people. */
export interface DescribedMember {
  readonly name: string;
  readonly optional: boolean;
  /** Code is between backticks. */
  readonly description: string;
}

export const describedMembers = (shape: Rule['parameters']['shape']): readonly DescribedMember[] =>
  Object.entries(shape).map(([name, schema]) => ({
    name,
    optional: schema instanceof z.ZodOptional,
    description: z.globalRegistry.get(schema)?.description ?? '',
  }));
