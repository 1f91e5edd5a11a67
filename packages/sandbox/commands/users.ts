import type { Command } from 'commander';
import { usageError } from '../../../src/errors.ts';
import { type Call, type SandboxCommand, controlOption, steer, steering } from './command.ts';

/** The options of what adds to a balance. */
function crediting(command: Command): Command {
  return controlOption(command)
    .argument('<uid>', 'the user')
    .option('--amount <decimal>', 'the amount', '100')
    .option('--symbol <symbol>', 'the coin', 'USDT1742');
}

const credited = (call: Call) => ({
  uid: uidOf(call.arguments[0]),
  amount: call.option('amount') ?? '',
  symbol: call.option('symbol') ?? '',
});

export const sandboxDeposit: SandboxCommand = {
  path: 'sandbox deposit',
  summary: 'Add a deposit to the balance of a user of the sandbox.',
  example: 'sandbox deposit 12345 --amount 250.5 --symbol USDT1742',
  define: crediting,
  run: (session, call) => steer(session, call, { command: 'deposit', ...credited(call) }),
};

export const sandboxTransfer: SandboxCommand = {
  path: 'sandbox transfer',
  summary: 'Make a transfer order to a user of the sandbox, which is billed without a confirmation.',
  example: 'sandbox transfer 12345 --amount 20 --order-id T-1',
  define: (command) => crediting(command).option('--order-id <id>', 'appOrderId (default: a new one)'),
  run(session, call) {
    const orderId = call.option('orderId');
    const named = orderId === undefined ? {} : { orderId };
    return steer(session, call, { command: 'transfer', ...credited(call), ...named });
  },
};

export const sandboxUsers = steering(
  'users',
  'Show the users of the sandbox: openId, unused login code, API key and balances.',
  'sandbox users\nsandbox users --json',
);

export const sandboxLogin: SandboxCommand = {
  path: 'sandbox login',
  summary: 'Log a user of the sandbox in, and show the code that auth/token exchanges once.',
  example: 'sandbox login 12345',
  define: (command) => controlOption(command).argument('<uid>', 'the user'),
  run: (session, call) => steer(session, call, { command: 'login', uid: uidOf(call.arguments[0]) }),
};

function uidOf(written = ''): number {
  if (/^\d{1,15}$/.test(written)) return Number(written);
  throw usageError(`${written} is not a uid. Write a number of \`sandbox users\``);
}
