import { z } from 'zod';
import type { FoundFault } from './faults.ts';
import { filePath, list, secretReference, section, text, wholeNumberOr } from './fields.ts';

const name = text(
  /^[a-z][a-z0-9-]{0,31}$/,
  'write a lower-case letter, then at most 31 of a-z, 0-9 and -',
).describe('Name by which policies ask it.');

const URL_CURE =
  'write a URL such as https://risk.example/ask, without a user, a password or a fragment; http is for a service on this machine';

const url = z
  .string({ error: URL_CURE })
  .max(2048, { error: URL_CURE })
  .refine(isServiceUrl, { error: URL_CURE })
  .meta({ title: 'http or https URL' });

function isServiceUrl(written: string): boolean {
  if (!/^https?:\/\/[^\s#@]+$/.test(written)) return false;
  return URL.canParse(written);
}

const waiting = wholeNumberOr(64, 0, 10000).describe(
  'Questions that may wait for their turn beyond those under way; one more than that has failed at once.',
);

const breaker = section({
  failures: wholeNumberOr(5, 1, 1000).describe(
    'Failures in a row after which it is not asked for a while. A no is not a failure.',
  ),
  cooldownMs: wholeNumberOr(5000, 100, 600000).describe(
    'Time for which it is then not asked; after that, one question finds out whether it answers again.',
  ),
})
  .prefault({})
  .describe('When a question has failed at once, without being asked.');

/** What the rule `ask` asks over HTTP. */
export const services = list(
  section({
    name,
    url: url.describe('Where it is asked, by POST. Redirects are not followed.'),
    secret: secretReference.describe(
      'The secret that it shares with Countersign, by which questions and answers are signed (HMAC-SHA256).',
    ),
    timeoutMs: wholeNumberOr(500, 50, 5000).describe(
      'Time from a question to its answer, its wait for a turn included. It must be below answerTimeoutMs.',
    ),
    concurrency: wholeNumberOr(32, 1, 1000).describe('Questions, and so connections, under way at once.'),
    waiting,
    breaker,
    ca: filePath
      .optional()
      .describe('PEM file of the authority of an https server; without it, those that Node trusts.'),
  }),
  0,
  64,
  'services',
)
  .prefault([])
  .describe('Services of your own that policies ask, by the rule `ask`. See docs/ask.md.');

/** What the rule `module` runs in threads of their own. */
export const modules = list(
  section({
    name,
    file: filePath.describe('The file, an ES module that imports nothing but what Node itself has.'),
    sha256: text(
      /^[0-9a-f]{64}$/,
      'write the SHA-256 of the file, 64 lower-case hexadecimal digits; `sha256sum FILE` tells it',
    ).describe('SHA-256 of the file. The service does not start with any other file in its place.'),
    timeoutMs: wholeNumberOr(200, 10, 5000).describe(
      'Time for a question, its wait for a turn included, after which its thread is ended. It must be below answerTimeoutMs.',
    ),
    memoryMb: wholeNumberOr(64, 16, 4096).describe(
      'Memory of one thread in MiB. A thread that needs more is ended, and another one started.',
    ),
    concurrency: wholeNumberOr(2, 1, 64).describe('Threads. Each judges one callback at a time.'),
    waiting,
    breaker,
  }),
  0,
  16,
  'modules',
)
  .prefault([])
  .describe('Modules of your own that policies run, by the rule `module`. See docs/module.md.');

const DEFAULTS = { answerTimeoutMs: 2000, services: 500, modules: 200 } as const;

const written = z.string().optional().catch(undefined);
const asked = z.array(z.object({ name: written, timeoutMs: written }).catch({})).catch([]);
const readable = z.object({ answerTimeoutMs: written, services: asked, modules: asked }).partial().catch({});

/**
 * What must hold between services, modules and the time for an answer; what cannot be read is taken as not
 * written.
 */
export function pluginConditions(tree: unknown): readonly FoundFault[] {
  const settings = readable.parse(tree);
  const answerTimeoutMs = Number(settings.answerTimeoutMs ?? DEFAULTS.answerTimeoutMs);
  return (['services', 'modules'] as const).flatMap((what) => {
    const all = settings[what] ?? [];
    return all.flatMap((each, index): FoundFault[] => {
      const faults: FoundFault[] = [];
      const first = all.findIndex((other) => other.name === each.name);
      if (each.name !== undefined && first < index) {
        const problem = `is that of ${what}[${first}] as well`;
        faults.push({ path: [what, index, 'name'], problem, cure: 'give each a name of its own' });
      }
      if (Number(each.timeoutMs ?? DEFAULTS[what]) >= answerTimeoutMs) {
        faults.push({
          path: [what, index, 'timeoutMs'],
          problem: `leaves no time to decide within answerTimeoutMs, ${answerTimeoutMs}`,
          cure: 'write less than answerTimeoutMs here, or raise that',
        });
      }
      return faults;
    });
  });
}
