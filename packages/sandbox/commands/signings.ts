import type { Command } from 'commander';
import { usageError } from '../../../src/errors.ts';
import { addDecimals, readDecimal } from '../decimal.ts';
import { type Call, type SandboxCommand, controlOption, steer, steering } from './command.ts';

const FROM = '0x27b1fdb04752bbc536007a920d24acb045561c26';
const TO = '0x52908400098527886E0F7030069857D2E4169EE7';
const AMOUNT = '1.5';
const CONTRACT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
/** A transfer of 100 tokens with 6 decimal places to TO. */
const DATA = `0xa9059cbb${TO.slice(2).toLowerCase().padStart(64, '0')}${'5f5e100'.padStart(64, '0')}`;

function asking(command: Command): Command {
  return controlOption(command)
    .option('--request <id>', 'request_id (default: a new one)')
    .option('--from <address>', 'source address', FROM)
    .option('--speed-ups <number>', 'how often it is sped up after it was signed', '0');
}

export const sandboxWithdraw: SandboxCommand = {
  path: 'sandbox withdraw',
  summary: 'Begin a withdrawal, about which the co-signer of the sandbox will ask.',
  example:
    'sandbox withdraw\n' +
    'sandbox withdraw --amount 25 --speed-ups 1\n' +
    'sandbox withdraw --symbol BTC --outputs A=1,B=2',
  define: (command) =>
    asking(command)
      .option('--amount <decimal>', `amount (default: the sum of the outputs, or ${AMOUNT})`)
      .option('--symbol <symbol>', 'symbol', 'ETH')
      .option('--to-address <address>', `destination address (default: the first output, or ${TO})`)
      .option('--memo <text>', 'the memo of the destination', '')
      .option('--outputs <list>', 'ADDRESS=AMOUNT, several with commas between'),
  run: (session, call) =>
    steer(session, call, {
      command: 'withdraw',
      ...common(call),
      ...paymentOf(call),
      memo: call.option('memo') ?? '',
    }),
};

export const sandboxWeb3: SandboxCommand = {
  path: 'sandbox web3',
  summary: 'Begin a web3 transaction, about which the co-signer of the sandbox will ask.',
  example: 'sandbox web3\nsandbox web3 --contract 0x0000000000000000000000000000000000000001',
  define: (command) =>
    asking(command)
      .option('--amount <decimal>', 'amount; -1 for unlimited', '0')
      .option('--symbol <symbol>', 'main_chain_symbol', 'ETH')
      .option('--contract <address>', 'interactive_contract, also the destination', CONTRACT)
      .option('--data <hex>', 'input_data', DATA),
  run: (session, call) =>
    steer(session, call, {
      command: 'web3',
      ...common(call),
      to: given(call, 'contract'),
      data: given(call, 'data'),
      contract: given(call, 'contract'),
    }),
};

export const sandboxSignings = steering(
  'signings',
  'Show the withdrawals and web3 transactions of the sandbox, and whether they were signed.',
);
export const sandboxPoll = steering(
  'poll',
  'Make the co-signer of the sandbox ask about everything that is pending, now.',
);
export const sandboxSelfCheck = steering(
  'self-check',
  'Make the co-signer of the sandbox check the public keys of the receiver (verify_public_hash).',
);

function common(call: Call) {
  const request = call.option('request');
  return {
    ...(request !== undefined && { request }),
    from: given(call, 'from'),
    amount: given(call, 'amount'),
    symbol: given(call, 'symbol'),
    speedUps: call.count('speedUps', { least: 0, most: 10 }) ?? 0,
  };
}

function given(call: Call, name: string): string {
  return call.option(name) ?? '';
}

/** Throws USAGE if the amount isn't the sum of the outputs, or the address isn't one of them. */
function paymentOf(call: Call) {
  const outputs = outputsOf(call.option('outputs'));
  const [first] = outputs;
  if (first === undefined) {
    return { outputs, amount: call.option('amount') ?? AMOUNT, to: call.option('toAddress') ?? TO };
  }
  const sum = addDecimals(...outputs.map(({ amount }) => amount));
  const amount = call.option('amount') ?? sum;
  if (readDecimal(amount) !== readDecimal(sum)) {
    throw usageError(
      `--amount ${amount} is not ${sum}, the sum of the outputs. Leave --amount out, or correct one of them`,
    );
  }
  const to = call.option('toAddress') ?? first.to;
  if (!outputs.some((output) => output.to === to)) {
    throw usageError(
      `--to-address ${to} is not an address of the outputs. Leave it out, or write it in --outputs as well`,
    );
  }
  return { outputs, amount, to };
}

function outputsOf(written: string | undefined) {
  if (written === undefined) return [];
  return written.split(',').map((part) => {
    const [to = '', amount = '', ...more] = part.trim().split('=');
    if (to !== '' && readDecimal(amount) !== undefined && more.length === 0) return { to, amount };
    throw usageError(`--outputs ${part} is not valid. Write ADDRESS=AMOUNT, such as A=0.01`);
  });
}
