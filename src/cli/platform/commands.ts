import {
  type Program,
  findPaymentCommand,
  operationCommand,
} from '../../../packages/platform/commands/commands.ts';
import type { Call, CommandRow } from '../command.ts';
import type { Session } from '../session.ts';
import { connectionOptions, openConnection } from './connection.ts';
import { announceAndPay, payOptions } from './pay.ts';

const program: Program<Session, Call> = { connectionOptions, connect: openConnection };

/** The command of an operation. A payment is announced before it is sent. */
export function platformCommand(word: string): CommandRow {
  const row = operationCommand(word, program);
  if (word !== 'pay') return row;
  return {
    ...row,
    define(command) {
      row.define(command);
      payOptions(command);
    },
    run: announceAndPay,
  };
}

export const platformFindPayment: CommandRow = findPaymentCommand(program);
