import { rejectRequest } from '../act/approvals.ts';
import { type ApprovalRequest, createRequests, stateOf } from '../approvals/requests.ts';
import { actCommand } from './act.ts';
import { type CommandRow, messageOption, requiredMessage } from './command.ts';
import { isoTime, printable, table } from './print.ts';

const requestJson = (request: ApprovalRequest, nowMs: number): object => ({
  id: request.id,
  kind: request.kind,
  state: stateOf(request, nowMs),
  by: request.by,
  message: request.message,
  created: isoTime(request.createdAtMs),
  expires: isoTime(request.expiresAtMs),
  signatures: request.signatures.length,
  statement: request.statement,
  ...(request.endedBy !== '' && { endedBy: request.endedBy, reason: request.reason }),
});

export const approvalsList: CommandRow = {
  path: 'approvals list',
  summary: 'List the requests that wait for people, oldest first.',
  example: 'approvals list\napprovals list --json',
  async run(session) {
    const pending = await createRequests(await session.store(), session.clock).pending();
    const rows = pending.map(({ id, kind, by, message, signatures, expiresAtMs }) => [
      id,
      kind,
      `${signatures.length} signed`,
      `until ${isoTime(expiresAtMs)}`,
      printable(by),
      printable(message),
    ]);
    const nowMs = session.clock();
    session.print(
      table(rows, 'Nothing waits for people.'),
      pending.map((request) => requestJson(request, nowMs)),
    );
    return 0;
  },
};

export const approvalsShow: CommandRow = {
  path: 'approvals show',
  summary: 'Show a request: who made it, why, what people sign, and what became of it.',
  example: 'approvals show r7k2mqx',
  define: (command) => command.argument('<request>', 'the id of the request'),
  async run(session, call) {
    const [id = ''] = call.arguments;
    const request = await createRequests(await session.store(), session.clock).find(id);
    const { by, message, createdAtMs, expiresAtMs, endedBy, reason, statement, signatures } = request;
    const state = stateOf(request, session.clock());
    session.print(
      [
        `Request ${id} (${request.kind}): ${state}, ${signatures.length} signed, until ${isoTime(expiresAtMs)}`,
        `by ${printable(by)} at ${isoTime(createdAtMs)}: ${printable(message)}`,
        ...(endedBy === '' ? [] : [`ended by ${printable(endedBy)}: ${printable(reason)}`]),
        '',
        statement,
      ].join('\n'),
      requestJson(request, session.clock()),
    );
    return 0;
  },
};

export const approvalsReject = actCommand(rejectRequest, {
  example: 'approvals reject r7k2mqx --message "the limit is wrong"',
  define: (command) => messageOption(command.argument('<request>', 'the id of the request')),
  input: (_session, call) => ({ request: call.arguments[0] ?? '', message: requiredMessage(call) }),
});
