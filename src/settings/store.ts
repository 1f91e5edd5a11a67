import { z } from 'zod';
import { filePath, secretReference, section, text, wholeNumberOr } from './fields.ts';
import { STORE_FORMS, holdsCredentials, storeAddress } from './store-address.ts';

const DAY_MS = 86_400_000;

const formsCure = `write one of ${STORE_FORMS.join(', ')}; rediss for TLS`;

const url = z
  .string({ error: formsCure })
  .check((context) => {
    const credentials = holdsCredentials(context.value);
    if (!credentials && storeAddress(context.value) !== undefined) return;
    context.issues.push({
      code: 'custom',
      input: context.value,
      params: credentials ? { problem: 'holds a user or a password' } : {},
      message: credentials
        ? 'take it out of the URL and name it by store.username and store.password, such as store.password: { env: REDIS_PASSWORD }'
        : formsCure,
    });
  })
  .default('embedded:data/countersign.db')
  .meta({ title: 'store URL' });

export const store = section({
  url: url.describe(
    `Where decisions are kept: ${STORE_FORMS.join(', ')}; with rediss in place of redis over TLS. The embedded store serves one machine; Redis serves any number of replicas.`,
  ),
  username: text(/^[\x21-\x7e]{1,128}$/, 'write the name of the Redis user')
    .optional()
    .describe('Redis user; without it, the default user.'),
  password: secretReference.optional().describe('Password of the Redis user.'),
  tls: section({
    ca: filePath
      .optional()
      .describe('PEM file of the authority of the server; without it, those that Node trusts.'),
    certificate: filePath.optional().describe('PEM file of a client certificate.'),
    key: secretReference.optional().describe('The private key of the client certificate, in PEM.'),
  })
    .optional()
    .describe('How the server of a rediss URL is checked, and what it is shown.'),
  prefix: text(/^[a-z][a-z0-9-]{0,31}$/, 'write a lower-case letter, then at most 31 of a-z, 0-9 and -')
    .default('countersign')
    .describe('First part of every key in Redis, so that several installations can share one.'),
  connectTimeoutMs: wholeNumberOr(2000, 100, 60000).describe('Time for a connection to Redis.'),
  commandTimeoutMs: wholeNumberOr(1000, 50, 60000).describe(
    'Time for one step in the store, after which its effect is not certain and the answer is FAILURE.',
  ),
  durability: section({
    replicas: wholeNumberOr(0, 0, 16).describe(
      'How many replicas must have an approval before it is given, and a push, a freeze, its end, a change of a list or of prices or a cancelled order before it is acknowledged. Otherwise the answer is FAILURE, and a repeat gets the approval once they have it. Counted are the replicas of the primary, on a Cluster of the primary that has the source. 0: the memory of the primary is enough, and a failover may forget the last approvals. To be certain that no failover forgets any, name all replicas that can be promoted; then none of them may be down. With fewer, and the same `replica-priority` for all, none is forgotten when the primary dies, for the replica that has most is promoted; but some may be when a primary is replaced that still works, as by `SENTINEL FAILOVER`. Set `min-replicas-to-write` of Redis to the same number, so that a primary without its replicas decides nothing.',
    ),
    timeoutMs: wholeNumberOr(100, 10, 10000).describe(
      'How long to wait for these replicas, after the step itself. Must be below store.commandTimeoutMs.',
    ),
  })
    .prefault({})
    .describe('What an approval waits for, on a Redis with replicas.'),
  clock: section({
    maxStepMs: wholeNumberOr(60_000, 15_000, 400 * DAY_MS).describe(
      'How far the clock may be ahead of the time that the store remembers, which running services move on every 5 s. Beyond it nothing is approved until the clock is put right, or `countersign clock accept`. Up to so much a clock that jumps ahead may let a limit pass twice.',
    ),
    maxGapMs: wholeNumberOr(3_600_000, 15_000, 400 * DAY_MS).describe(
      'The same for the first look after a time in which no service ran, and which nothing else confirms (the embedded store also knows how long the machine has been up, so this is for a restart of the machine). At least store.clock.maxStepMs.',
    ),
  })
    .prefault({})
    .describe("How far the store's clock is believed when it is ahead of the store's time."),
  retention: section({
    subjectsDays: wholeNumberOr(400, 93, 36500).describe(
      'Days for which a decision is remembered: a callback that comes again later is decided as a new one. At least 93, to be longer than any window. Orders, counted from their expiry, and what counts as paid before are kept as long.',
    ),
    journalDays: wholeNumberOr(400, 1, 36500).describe(
      'Days for which journal entries and the history of prices are kept.',
    ),
  })
    .prefault({})
    .describe('For how long things are kept.'),
});
