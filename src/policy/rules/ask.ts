import { z } from 'zod';
import { compilePluginQuestion, pluginName, withTexts } from './plugin.ts';
import { defineRule } from './rule.ts';

export const ask = defineRule({
  name: 'ask',
  summary: 'Your own service, asked over HTTP, must answer yes.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    service: pluginName.describe('The service, by its name in the settings.'),
    with: withTexts.describe('Texts that are sent with the question, by name.'),
  }),
  compile: ({ service, with: parameters = {} }) =>
    compilePluginQuestion({ type: 'service', name: service, parameters }),
});
