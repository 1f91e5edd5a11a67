import { CountersignError, usageError } from '../../../src/errors.ts';
import { readInstant } from '../../../src/values/clock.ts';
import { createPlatform } from '../client.ts';
import type { Call, Program, Row, Session } from './program.ts';
import { objectText } from './table.ts';

export function findPaymentCommand<S extends Session, C extends Call>(program: Program<S, C>): Row<S, C> {
  return {
    path: 'platform find-payment',
    summary: "Look for a payment in the platform's bill, after a payment with an unknown outcome.",
    example: 'platform find-payment 11321\nplatform find-payment 11321 --sent 2026-03-02T10:00:00Z',
    define(command) {
      program
        .connectionOptions(command.argument('<appOrderId>', 'the id of the order'))
        .option(
          '--sent <instant>',
          'when the payment was sent; its day, the day before and the day after are read (default: now)',
        );
    },
    async run(session, call) {
      const [appOrderId = ''] = call.arguments;
      const { config, parts } = program.connect(session, call);
      const sentAtMs = sentAt(call) ?? session.clock();
      const found = await createPlatform(config, parts).payments.find({ appOrderId, sentAtMs });
      if (found === undefined) {
        throw new CountersignError(
          'NOT_FOUND',
          `the bill has no payment ${appOrderId} on these days. That is no proof that the user was not ` +
            'debited: look again later, or ask the platform',
          { appOrderId },
        );
      }
      session.print(objectText(found), found);
      return 0;
    },
  };
}

function sentAt(call: Call): number | undefined {
  const written = call.option('sent');
  if (written === undefined) return undefined;
  const atMs = readInstant(written);
  if (atMs !== undefined) return atMs;
  throw usageError(`--sent ${written} is not valid. Give an instant like 2026-03-02T10:00:00Z`);
}
