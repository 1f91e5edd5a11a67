import { z } from 'zod';
import { compilePluginQuestion, pluginName, withTexts } from './plugin.ts';
import { defineRule } from './rule.ts';

export const ownModule = defineRule({
  name: 'module',
  summary: 'Your own module, which runs in its own thread, must answer yes.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    name: pluginName.describe('The module, by its name in the settings.'),
    with: withTexts.describe('Texts that the module gets beside the callback, by name.'),
  }),
  compile: ({ name, with: parameters = {} }) => compilePluginQuestion({ type: 'module', name, parameters }),
});
