import { z } from 'zod';
import type { Rule } from './rule.ts';

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
