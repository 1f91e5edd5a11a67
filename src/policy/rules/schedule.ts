import { compileSchedule, scheduleParameters } from '../language/schedule.ts';
import { defineRule } from './rule.ts';

export const schedule = defineRule({
  name: 'schedule',
  summary: 'The callback must come on certain days, at certain hours, and not on a holiday.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: scheduleParameters,
  compile: (parameters, context) => {
    const compiled = compileSchedule(parameters, context);
    return compiled && { evaluate: compiled.evaluate };
  },
});
