import type { z } from 'zod';
import { filePath, list, oneOf, section, wholeNumberOr } from './fields.ts';
import { modules, services } from './plugins.ts';
import { opsPort, publicPort } from './ports.ts';
import { source } from './sources.ts';
import { store } from './store.ts';

/**
 * All settings, in the order in which the reference shows them. Every one has a description, and a default
 * unless only the user can know it. Conditions between settings are in conditions.ts.
 */
export const settingsSchema = section({
  public: publicPort.prefault({}).describe('The port that the platform and the co-signer call.'),
  ops: opsPort.prefault({}).describe('The port for whoever operates the service.'),
  store: store
    .prefault({})
    .describe('Where decisions are kept. A text alone is the url: `store: redis://redis:6379/0`.'),
  answerTimeoutMs: wholeNumberOr(2000, 100, 10000).describe(
    'Time from the arrival of a callback to its answer. Later than that the answer is FAILURE.',
  ),
  policies: section({
    directory: filePath
      .default('policies')
      .describe('Directory of the policy files.')
      .meta({ title: 'directory' }),
    push: oneOf(['when-empty', 'never'])
      .default('when-empty')
      .describe('Whether the files are put in force at start, if nothing is in force.'),
    pollMs: wholeNumberOr(1000, 100, 60000).describe(
      'Time between looks at what is in force, in case a notice was lost. A stale revision never decides, however long this is.',
    ),
  })
    .prefault({})
    .describe('Where policies come from.'),
  log: section({
    level: oneOf(['error', 'warn', 'info'])
      .default('info')
      .describe('Least important lines that are written.'),
    unauthenticatedPerMinute: wholeNumberOr(60, 0, 100000).describe(
      'Lines a minute about callbacks whose sender is not authenticated; the others are counted.',
    ),
  })
    .prefault({})
    .describe('The log, JSON lines on standard output.'),
  services,
  modules,
  sources: list(source, 1, 64, 'sources').describe('Who may call, and how each shows who it is.'),
});

export type Settings = z.output<typeof settingsSchema>;
export type SourceSettings = Settings['sources'][number];
export type StoreSettings = Settings['store'];
