import type { SandboxCommand } from './command.ts';

/*
 * The commands of the package, for the program's command line. A command is loaded when it is called.
 */

const startCommand = () => import('./start.ts');
const signingCommands = () => import('./signings.ts');
const userCommands = () => import('./users.ts');
const stateCommands = () => import('./state.ts');

export const SANDBOX_COMMANDS: readonly {
  readonly path: string;
  readonly load: () => Promise<SandboxCommand>;
}[] = [
  { path: 'sandbox', load: async () => (await startCommand()).sandboxStart },
  { path: 'sandbox withdraw', load: async () => (await signingCommands()).sandboxWithdraw },
  { path: 'sandbox web3', load: async () => (await signingCommands()).sandboxWeb3 },
  { path: 'sandbox signings', load: async () => (await signingCommands()).sandboxSignings },
  { path: 'sandbox poll', load: async () => (await signingCommands()).sandboxPoll },
  { path: 'sandbox self-check', load: async () => (await signingCommands()).sandboxSelfCheck },
  { path: 'sandbox deposit', load: async () => (await userCommands()).sandboxDeposit },
  { path: 'sandbox transfer', load: async () => (await userCommands()).sandboxTransfer },
  { path: 'sandbox users', load: async () => (await userCommands()).sandboxUsers },
  { path: 'sandbox login', load: async () => (await userCommands()).sandboxLogin },
  { path: 'sandbox reset', load: async () => (await stateCommands()).sandboxReset },
  { path: 'sandbox snapshot', load: async () => (await stateCommands()).sandboxSnapshot },
  { path: 'sandbox restore', load: async () => (await stateCommands()).sandboxRestore },
  { path: 'sandbox clock', load: async () => (await stateCommands()).sandboxClock },
  { path: 'sandbox log', load: async () => (await stateCommands()).sandboxLog },
];
