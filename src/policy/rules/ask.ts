import { z } from 'zod';
import { compilePluginQuestion, pluginName, pluginNotes, withTexts } from './plugin.ts';
import { defineRule } from './rule.ts';

export const ask = defineRule({
  name: 'ask',
  summary: 'Your own service, asked over HTTP, must answer yes.',
  notes: [
    'Only a signed `yes` in time passes. A `no`, an outage, a slow or unsigned answer, and a ' +
      'service that the settings do not name refuse.',
    ...pluginNotes,
    'The settings name the services, their URLs and secrets under `services`. See docs/ask.md ' +
      'for how to write one.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    service: pluginName.describe('The service, by its name in the settings.'),
    with: withTexts.describe('Texts that are sent with the question, by name.'),
  }),
  example: `policy: screened-withdrawals
callback: transfer
when: { source: vault }
rules:
  - ask: { service: risk, with: { profile: withdrawals } }
`,
  cases: `tests:
  - test: a yes of the service passes
    now: 2026-03-02T10:00:00Z
    given: { answers: { service: { risk: yes } } }
    callbacks:
      - source: vault
        transfer:
          request_id: r1
          from: 0x27b1fdb04752bbc536007a920d24acb045561c26
          to: 0x52908400098527886e0f7030069857d2e4169ee7
          amount: '1.5'
          symbol: ETH
        expect: SUCCESS
  - test: a no refuses
    now: 2026-03-02T10:00:00Z
    given: { answers: { service: { risk: no } } }
    callbacks:
      - source: vault
        transfer:
          request_id: r1
          from: 0x27b1fdb04752bbc536007a920d24acb045561c26
          to: 0x52908400098527886e0f7030069857d2e4169ee7
          amount: '1.5'
          symbol: ETH
        expect: { verdict: FAILURE, rule: ask#1, values: { service: risk, answer: no } }
  - test: no answer refuses
    now: 2026-03-02T10:00:00Z
    given: { answers: { service: { risk: failed } } }
    callbacks:
      - source: vault
        transfer:
          request_id: r1
          from: 0x27b1fdb04752bbc536007a920d24acb045561c26
          to: 0x52908400098527886e0f7030069857d2e4169ee7
          amount: '1.5'
          symbol: ETH
        expect: { verdict: FAILURE, rule: ask#1, values: { service: risk, answer: failed } }
  - test: a yes of another service does not count
    now: 2026-03-02T10:00:00Z
    given: { answers: { service: { credit: yes } } }
    callbacks:
      - source: vault
        transfer:
          request_id: r1
          from: 0x27b1fdb04752bbc536007a920d24acb045561c26
          to: 0x52908400098527886e0f7030069857d2e4169ee7
          amount: '1.5'
          symbol: ETH
        expect: { verdict: FAILURE, rule: ask#1, values: { answer: failed } }
`,
  compile: ({ service, with: parameters = {} }) =>
    compilePluginQuestion({ type: 'service', name: service, parameters }),
});
