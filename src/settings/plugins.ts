import {
  TWO_SECRETS,
  checkedText,
  filePath,
  isUrl,
  list,
  secretReference,
  section,
  shortName,
  text,
  wholeNumberOr,
} from './fields.ts';

const name = shortName.describe('The name that policies use.');

const URL_FIX =
  'write a URL such as https://risk.example/ask, without user, password or fragment; ' +
  'http is for a service on this machine';

export const url = checkedText(/^(?=.{1,2048}$)https?:\/\/[^\s#@]+$/, isUrl, URL_FIX).meta({
  title: 'http or https URL',
});

const ca = filePath
  .optional()
  .describe(
    'PEM file of the certificate authority of an https server. Without it, the authorities that Node trusts.',
  );

const waiting = wholeNumberOr(64, 0, 10000).describe(
  'Questions that may wait in the queue. If the queue is full, the next question fails at once.',
);

const breaker = section({
  failures: wholeNumberOr(5, 1, 1000).describe(
    'Consecutive failures after which questions fail at once. The answer no is not a failure.',
  ),
  cooldownMs: wholeNumberOr(5000, 100, 600000).describe(
    'How long questions then fail at once. After that, one question tests whether it answers again.',
  ),
})
  .prefault({})
  .describe('The circuit breaker: when questions fail at once, without being sent.');

/** The HTTP services that the rule `ask` calls. */
export const services = list(
  section({
    name,
    url: url.describe('The URL that receives questions, by POST. Redirects are not followed.'),
    secret: secretReference.describe(
      `The secret shared with the service. It signs questions and answers (HMAC-SHA256). ${TWO_SECRETS}`,
    ),
    timeoutMs: wholeNumberOr(500, 50, 5000).describe(
      'Time limit from question to answer, with the wait in the queue. Must be below answerTimeoutMs.',
    ),
    concurrency: wholeNumberOr(32, 1, 1000).describe('Questions in flight at once, each on a connection.'),
    waiting,
    breaker,
    ca,
  }),
  0,
  64,
  'services',
)
  .prefault([])
  .describe('Your services that policies call by the rule `ask`. See docs/ask.md.');

/** The ES modules that the rule `module` runs in worker threads. */
export const modules = list(
  section({
    name,
    file: filePath.describe("The file: an ES module that imports nothing but Node's own modules."),
    sha256: text(
      /^[0-9a-f]{64}$/,
      'write the SHA-256 of the file, 64 lower-case hexadecimal digits, as printed by `sha256sum FILE`',
    ).describe('SHA-256 of the file. The service does not start if the file has another one.'),
    timeoutMs: wholeNumberOr(200, 10, 5000).describe(
      'Time limit for a question, with the wait in the queue. After it the thread is ended. ' +
        'Must be below answerTimeoutMs.',
    ),
    memoryMb: wholeNumberOr(64, 16, 4096).describe(
      'Memory of one thread in MiB. A thread that needs more is ended and replaced.',
    ),
    concurrency: wholeNumberOr(2, 1, 64).describe('Number of threads. Each answers one question at a time.'),
    waiting,
    breaker,
  }),
  0,
  16,
  'modules',
)
  .prefault([])
  .describe('Your modules that policies run by the rule `module`. See docs/module.md.');
