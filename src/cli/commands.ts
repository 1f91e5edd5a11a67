import type { CommandRow } from './command.ts';
import { decisionsExport } from './decisions-export.ts';
import { decisionsSearch } from './decisions-search.ts';
import { decisionsShow } from './decisions-show.ts';
import { doctor } from './doctor.ts';
import { freeze, unfreeze } from './freeze.ts';
import { listAdd, listRemove } from './list-change.ts';
import { listShow } from './list-show.ts';
import { policyHistory } from './policy-history.ts';
import { policyPush } from './policy-push.ts';
import { policyRollback } from './policy-rollback.ts';
import { policyShow } from './policy-show.ts';
import { policyValidate } from './policy-validate.ts';
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
  policyPush,
  policyShow,
  policyHistory,
  policyRollback,
  listShow,
  listAdd,
  listRemove,
  freeze,
  unfreeze,
  decisionsShow,
  decisionsSearch,
  decisionsExport,
];
