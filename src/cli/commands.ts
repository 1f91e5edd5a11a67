import type { CommandRow } from './command.ts';
import { decisionsExplain } from './decisions-explain.ts';
import { decisionsExport } from './decisions-export.ts';
import { decisionsSearch } from './decisions-search.ts';
import { decisionsShow } from './decisions-show.ts';
import { doctor } from './doctor.ts';
import { freeze, unfreeze } from './freeze.ts';
import { journalArchive } from './journal-archive.ts';
import { journalExport } from './journal-export.ts';
import { journalVerify } from './journal-verify.ts';
import { listAdd, listRemove } from './list-change.ts';
import { listShow } from './list-show.ts';
import { policyBacktest } from './policy-backtest.ts';
import { policyDiff } from './policy-diff.ts';
import { ordersCancel } from './orders-cancel.ts';
import { ordersExpect } from './orders-expect.ts';
import { ordersShow } from './orders-show.ts';
import { policyHistory } from './policy-history.ts';
import { policyPush } from './policy-push.ts';
import { policyRollback } from './policy-rollback.ts';
import { policyShow } from './policy-show.ts';
import { policyTest } from './policy-test.ts';
import { policyValidate } from './policy-validate.ts';
import { pricesRemove } from './prices-remove.ts';
import { pricesSet } from './prices-set.ts';
import { pricesShow } from './prices-show.ts';
import { replayCommand } from './replay.ts';
import { sendPayment, sendTransfer, sendWeb3 } from './send.ts';
import { serve } from './serve.ts';
import { signatureExplain } from './signature-explain.ts';

/** The command line: a row a command, in the order of `--help`. */
export const commands: readonly CommandRow[] = [
  serve,
  doctor,
  sendPayment,
  sendTransfer,
  sendWeb3,
  signatureExplain,
  policyValidate,
  policyTest,
  policyDiff,
  policyBacktest,
  policyPush,
  policyShow,
  policyHistory,
  policyRollback,
  listShow,
  listAdd,
  listRemove,
  ordersExpect,
  ordersShow,
  ordersCancel,
  pricesSet,
  pricesShow,
  pricesRemove,
  freeze,
  unfreeze,
  decisionsShow,
  decisionsExplain,
  decisionsSearch,
  decisionsExport,
  journalArchive,
  journalVerify,
  journalExport,
  replayCommand,
];
