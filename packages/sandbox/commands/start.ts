import type { Command } from 'commander';
import { usageError } from '../../../src/errors.ts';
import { ensureCredentials, readCredentials, settingsBlock } from '../credentials.ts';
import { FAULTS, readFaults } from '../faults.ts';
import { entryLine } from '../log.ts';
import type { CosignerCredential, SandboxOptions } from '../running.ts';
import { startSandbox } from '../sandbox.ts';
import { INSTANT_FORM, readInstant } from '../../../src/values/clock.ts';
import { columns, isoTime } from '../../../src/values/text.ts';
import { CONTROL_PORT, type Call, type SandboxCommand, type Session } from './command.ts';

/** Where the clock stands with `--seed`, unless `--clock` says otherwise. */
const SEEDED_CLOCK = '2026-01-15T04:00:00Z';
const DEFAULT_SEED = 'demo';

export const sandboxStart: SandboxCommand = {
  path: 'sandbox',
  summary: "Run the platform's side on this machine: its operations, confirmations and a co-signer.",
  example:
    'sandbox\n' +
    'sandbox --seed 7\n' +
    'sandbox --credentials data/sandbox --receiver http://127.0.0.1:8080\n' +
    'sandbox --faults late=20,repeat=20,tamper=10,wire=50\n' +
    'sandbox --faults bill-omit@A-1,sign-twice@w-1',
  define: (command) => defineFaults(defineAddresses(command)),
  async run(session, call) {
    const options = optionsOf(session, call);
    const sandbox = await startSandbox(options);
    const folder = text(call, 'credentials');
    const sources = settingsBlock(folder, options.credentials.appKey);
    const { seed, standsAtMs, receiver, withdrawUrl } = options;
    const clock = standsAtMs === undefined ? 'now' : isoTime(standsAtMs);
    session.print(
      `The receiver's settings need these sources:\n\n${sources}\n` +
        `The operations are at ${sandbox.url}, the control port is ${sandbox.controlUrl}.\n` +
        `Payments are confirmed by ${receiver}, withdrawals by ${withdrawUrl}.\n` +
        `The seed is ${seed}. The clock ${clock === 'now' ? 'goes' : `stands at ${clock}`}.`,
      { ready: true, url: sandbox.url, control: sandbox.controlUrl, receiver, seed, clock, sources },
    );
    await session.stopped();
    await sandbox.stop();
    return 0;
  },
};

function defineAddresses(command: Command): Command {
  return command
    .option('--host <address>', 'the address of the operations', '127.0.0.1')
    .option('--port <port>', 'the port of the operations; 0 for any free one', '8070')
    .option('--control-port <port>', 'the control port, on loopback; 0 for any free one', CONTROL_PORT)
    .option('--receiver <url>', 'the service that confirms payments', 'http://127.0.0.1:8080')
    .option('--withdraw-url <url>', 'custom URL for withdrawals (default: RECEIVER/cosigner/withdraw)')
    .option('--web3-url <url>', 'custom URL for web3 transactions (default: RECEIVER/cosigner/web3)')
    .option(
      '--cosigner-credential <where>',
      'where the co-signer puts its token: header:NAME, path or none',
      'header:authorization',
    )
    .option('--credentials <folder>', 'secrets and keys; made if it is not there', 'config/demo')
    .option('--app-key <key>', 'the appKey of the merchant', 'demo-shop')
    .option('--segment <name>', 'the path segment before `open`', 'vendor')
    .option('--timeout-ms <number>', 'time for an answer of the receiver', '5000')
    .option('--poll-ms <number>', 'time between polls of the co-signer; 0 for `sandbox poll` only', '1000')
    .option('--refusals <number>', 'polls after which a refused withdrawal is given up', '3');
}

function defineFaults(command: Command): Command {
  return command
    .option(
      '--seed <text>',
      `the seed of all records; the same seed gives the same answers (default: ${DEFAULT_SEED})`,
    )
    .option(
      '--clock <instant>',
      `where the clock stands, or \`now\` for one that goes (default: now; with --seed ${SEEDED_CLOCK})`,
    )
    .option('--scale <number>', 'multiplies the numbers of records', '1')
    .option('--zone <name>', 'the time zone of the platform', 'Asia/Shanghai')
    .option('--deny <operations>', 'operations that this merchant may not use, with commas between')
    .option('--daily-limit <number>', 'requests in a day; 0 for any number', '0')
    .option('--faults <list>', 'faults to make, such as late=20 (per cent) or bill-omit@A-1 (an id)', '')
    .option('--late-ms <number>', 'how late a late call is', '1000')
    .addHelpText('after', '\n`countersign help sandbox` lists the commands that steer it.')
    .addHelpText('after', `\nFaults:\n${columns(Object.entries(FAULTS).map((row) => ['', ...row]))}`);
}

function optionsOf(session: Session, call: Call): SandboxOptions {
  const receiver = text(call, 'receiver').replace(/\/+$/, '');
  const folder = text(call, 'credentials');
  if (ensureCredentials(folder)) session.report(`The credentials in ${folder} are new.`);
  const number = (name: string, most: number): number => call.count(name, { least: 0, most }) ?? 0;
  return {
    host: text(call, 'host'),
    port: number('port', 65_535),
    controlPort: number('controlPort', 65_535),
    seed: call.option('seed') === undefined ? DEFAULT_SEED : text(call, 'seed'),
    scale: Math.max(1, number('scale', 1000)),
    clock: session.clock,
    standsAtMs: clockOf(call),
    zone: text(call, 'zone'),
    segment: text(call, 'segment'),
    denied: (call.option('deny') ?? '').split(',').filter((path) => path !== ''),
    dailyLimit: number('dailyLimit', 1_000_000_000),
    credentials: readCredentials(folder, text(call, 'appKey')),
    receiver: urlOf('receiver', receiver),
    withdrawUrl: urlOf('withdraw-url', call.option('withdrawUrl') ?? `${receiver}/cosigner/withdraw`),
    web3Url: urlOf('web3-url', call.option('web3Url') ?? `${receiver}/cosigner/web3`),
    cosignerCredential: credentialOf(text(call, 'cosignerCredential')),
    timeoutMs: Math.max(1, number('timeoutMs', 600_000)),
    pollMs: number('pollMs', 3_600_000),
    refusalsMax: Math.max(1, number('refusals', 1000)),
    faults: readFaults(call.option('faults') ?? ''),
    lateMs: number('lateMs', 600_000),
    onEntry: (entry) => session.print(entryLine(entry), entry),
  };
}

function clockOf(call: Call): number | undefined {
  const written = call.option('clock') ?? (call.option('seed') === undefined ? 'now' : SEEDED_CLOCK);
  if (written === 'now') return undefined;
  const atMs = readInstant(written);
  if (atMs !== undefined) return atMs;
  throw usageError(`--clock ${written} is not valid. Write now or ${INSTANT_FORM}`);
}

function credentialOf(written: string): CosignerCredential {
  const [, name] = /^header:([A-Za-z0-9-]{1,64})$/.exec(written) ?? [];
  if (name !== undefined) return { in: 'header', name };
  if (written === 'path') return { in: 'path' };
  if (written === 'none') return { in: 'nothing' };
  throw usageError(`--cosigner-credential ${written} is not valid. Write header:NAME, path or none`);
}

function urlOf(option: string, written: string): string {
  if (/^https?:$/.test(URL.parse(written)?.protocol ?? '')) return written;
  throw usageError(`--${option} ${written} is not an http or https URL. Write a whole one`);
}

function text(call: Call, name: string): string {
  const value = call.option(name);
  if (value !== undefined && value !== '') return value;
  throw usageError(
    `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} is empty. Give a value`,
  );
}
