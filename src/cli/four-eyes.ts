import { perform } from '../act/act.ts';
import { approveAct, lookAtAct } from '../act/four-eyes.ts';
import { actOfRequest, valuesNotInClear } from '../approvals/acts.ts';
import type { ApprovalRequest } from '../approvals/requests.ts';
import type { SigningScope } from '../approvals/signers.ts';
import { releaseInForce } from '../release/stored.ts';
import { peopleNow } from '../start/trust.ts';
import { actParts } from './act.ts';
import type { Call, ExitCode } from './command.ts';
import { printable } from './print.ts';
import { servicesThatApplied } from './services.ts';
import type { Session } from './session.ts';
import { signBySsh } from './ssh-sign.ts';

/**
 * Signs what waits for a second person, after showing what it would do, and does it if that was the last
 * signature.
 */
export async function approveWaitingAct(
  session: Session,
  call: Call,
  {
    request,
    shown,
    scope,
  }: { readonly request: ApprovalRequest; readonly shown: string; readonly scope: SigningScope },
): Promise<ExitCode> {
  const content = actOfRequest(request, scope.deployment);
  const common = await actParts(session);
  const parts = {
    ...common,
    release: await releaseInForce(common.store),
    people: () => peopleNow(session.settings(), common.store),
    scope,
  };
  const now = (await lookAtAct(parts, content)).map((line) => `Would end ${line}`);
  // What others wrote stays on its line, so that it can't look like the statement.
  const more = [...valuesNotInClear(content), ...now].map(printable);
  session.report([shown, ...more, 'You sign the text above.'].join('\n'));
  const signature = await signBySsh(request.statement, scope.deployment, call.option('key') ?? '');
  const result = await perform(approveAct, parts, { request: request.id, signature }, session);
  const { performed } = result;
  const services = performed?.followed && {
    services: await servicesThatApplied(session, performed.followed),
  };
  session.print(approveAct.text(result), { ...approveAct.json(result), ...services });
  return performed?.isDone === true ? 0 : 1;
}
