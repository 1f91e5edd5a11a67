import { SANDBOX_COMMANDS } from '../../packages/sandbox/commands/commands.ts';
import type { CommandRow } from './command.ts';

/** A command that is not loaded yet. */
interface CommandEntry {
  /** The unique path of its row. */
  readonly path: string;
  readonly load: () => Promise<CommandRow>;
}

/** The operations of the platform by their words, in the order of section 4. */
const PLATFORM_OPERATIONS = [
  'exchange-code',
  'refresh-token',
  'pay',
  'orders',
  'accounts',
  'deposits',
  'invitations',
  'broker-shares',
  'wallet-addresses',
  'wallet-symbols',
  'other-transfers',
  'otc-trades',
  'coupons',
  'coin-gifts',
  'assets',
  'login-token',
  'recover-coupon',
  'bill',
  'symbols',
  'fee-shares',
  'co-agent-bonuses',
  'agents',
];

/**
 * All commands, in the order of `--help`. Only the command that is called is loaded, so that the program
 * starts sooner.
 */
const entries: readonly CommandEntry[] = [
  { path: 'serve', load: async () => (await import('./serve.ts')).serve },
  { path: 'doctor', load: async () => (await import('./doctor/doctor.ts')).doctor },
  { path: 'health', load: async () => (await import('./health.ts')).health },
  { path: 'send payment', load: async () => (await import('./send.ts')).sendPayment },
  { path: 'send transfer', load: async () => (await import('./send.ts')).sendTransfer },
  { path: 'send web3', load: async () => (await import('./send.ts')).sendWeb3 },
  { path: 'simulate payment', load: async () => (await import('./simulate.ts')).simulatePayment },
  { path: 'simulate transfer', load: async () => (await import('./simulate.ts')).simulateTransfer },
  { path: 'simulate web3', load: async () => (await import('./simulate.ts')).simulateWeb3 },
  { path: 'signature explain', load: async () => (await import('./signature.ts')).signatureExplain },
  { path: 'policy validate', load: async () => (await import('./policy/check.ts')).policyValidate },
  { path: 'policy test', load: async () => (await import('./policy/check.ts')).policyTest },
  { path: 'policy diff', load: async () => (await import('./policy/revisions.ts')).policyDiff },
  { path: 'policy backtest', load: async () => (await import('./policy/backtest.ts')).policyBacktest },
  { path: 'policy push', load: async () => (await import('./policy/push.ts')).policyPush },
  { path: 'policy checkout', load: async () => (await import('./policy/revisions.ts')).policyCheckout },
  { path: 'policy show', load: async () => (await import('./policy/revisions.ts')).policyShow },
  { path: 'policy history', load: async () => (await import('./policy/revisions.ts')).policyHistory },
  { path: 'policy sign', load: async () => (await import('./policy/signing.ts')).policySign },
  { path: 'policy verify', load: async () => (await import('./policy/signing.ts')).policyVerify },
  { path: 'policy rollback', load: async () => (await import('./policy/push.ts')).policyRollback },
  { path: 'approvals list', load: async () => (await import('./approvals.ts')).approvalsList },
  { path: 'approvals show', load: async () => (await import('./approvals.ts')).approvalsShow },
  { path: 'approvals approve', load: async () => (await import('./approvals.ts')).approvalsApprove },
  { path: 'approvals reject', load: async () => (await import('./approvals.ts')).approvalsReject },
  { path: 'list show', load: async () => (await import('./list.ts')).listShow },
  { path: 'list add', load: async () => (await import('./list.ts')).listAdd },
  { path: 'list remove', load: async () => (await import('./list.ts')).listRemove },
  { path: 'orders expect', load: async () => (await import('./orders.ts')).ordersExpect },
  { path: 'orders show', load: async () => (await import('./orders.ts')).ordersShow },
  { path: 'orders cancel', load: async () => (await import('./orders.ts')).ordersCancel },
  { path: 'prices set', load: async () => (await import('./prices.ts')).pricesSet },
  { path: 'prices show', load: async () => (await import('./prices.ts')).pricesShow },
  { path: 'prices history', load: async () => (await import('./prices.ts')).pricesHistory },
  { path: 'prices remove', load: async () => (await import('./prices.ts')).pricesRemove },
  { path: 'freeze', load: async () => (await import('./freeze.ts')).freezeCommand },
  { path: 'unfreeze', load: async () => (await import('./freeze.ts')).unfreezeCommand },
  { path: 'limits show', load: async () => (await import('./limits.ts')).limitsShow },
  { path: 'lockout list', load: async () => (await import('./lockout.ts')).lockoutList },
  { path: 'lockout lift', load: async () => (await import('./lockout.ts')).lockoutLift },
  { path: 'console serve', load: async () => (await import('./serve.ts')).consoleServe },
  { path: 'console invite', load: async () => (await import('./console.ts')).consoleInvite },
  { path: 'console people', load: async () => (await import('./console.ts')).consolePeople },
  { path: 'console remove', load: async () => (await import('./console.ts')).consoleRemove },
  { path: 'console sign-out', load: async () => (await import('./console.ts')).consoleSignOut },
  { path: 'store backup', load: async () => (await import('./store.ts')).storeBackup },
  { path: 'store restore', load: async () => (await import('./store.ts')).storeRestore },
  { path: 'clock show', load: async () => (await import('./store.ts')).clockShow },
  { path: 'clock accept', load: async () => (await import('./store.ts')).clockAccept },
  { path: 'decisions show', load: async () => (await import('./decisions/decisions.ts')).decisionsShow },
  {
    path: 'decisions explain',
    load: async () => (await import('./decisions/decisions.ts')).decisionsExplain,
  },
  { path: 'decisions search', load: async () => (await import('./decisions/decisions.ts')).decisionsSearch },
  { path: 'decisions export', load: async () => (await import('./decisions/export.ts')).decisionsExport },
  {
    path: 'decisions release',
    load: async () => (await import('./decisions/decisions.ts')).decisionsRelease,
  },
  { path: 'journal archive', load: async () => (await import('./journal.ts')).journalArchive },
  { path: 'journal verify', load: async () => (await import('./journal.ts')).journalVerify },
  { path: 'journal export', load: async () => (await import('./journal.ts')).journalExport },
  { path: 'audit export', load: async () => (await import('./audit.ts')).auditExport },
  { path: 'reconcile', load: async () => (await import('./reconcile/reconcile.ts')).reconcile },
  { path: 'reconcile show', load: async () => (await import('./reconcile/reconcile.ts')).reconcileShow },
  { path: 'reconcile close', load: async () => (await import('./reconcile/reconcile.ts')).reconcileClose },
  { path: 'replay', load: async () => (await import('./replay.ts')).replayCommand },
  ...SANDBOX_COMMANDS,
  { path: 'completion', load: async () => (await import('./completion.ts')).completion },
  { path: 'openapi platform', load: async () => (await import('./openapi.ts')).openapiPlatform },
  { path: 'openapi service', load: async () => (await import('./openapi.ts')).openapiService },
  ...PLATFORM_OPERATIONS.map((word) => ({
    path: `platform ${word}`,
    load: async () => (await import('./platform/commands.ts')).platformCommand(word),
  })),
  {
    path: 'platform find-payment',
    load: async () => (await import('./platform/commands.ts')).platformFindPayment,
  },
];

/**
 * The command whose words `argv` begins with; of `sandbox` and `sandbox reset`, the longer one. If there is
 * no such command, all commands, for `--help` and suggestions.
 */
export function commandsFor(argv: readonly string[]): Promise<readonly CommandRow[]> {
  const [called] = entries
    .filter(({ path }) => path.split(' ').every((word, index) => word === argv[index]))
    .sort((a, b) => b.path.length - a.path.length);
  return Promise.all((called === undefined ? entries : [called]).map(({ load }) => load()));
}
