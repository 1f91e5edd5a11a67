import { approveCallback, rejectRequest } from '../act/approvals.ts';
import { perform } from '../act/act.ts';
import { askedIn, callbackContent } from '../approvals/callbacks.ts';
import { announcedTransaction } from '../approvals/orders.ts';
import { type ApprovalRequest, createRequests, stateOf } from '../approvals/requests.ts';
import { signersOf } from '../approvals/signers.ts';
import { usageError } from '../errors.ts';
import { movementTexts } from '../policy/transaction-text.ts';
import type { Release } from '../policy/release.ts';
import { readRevision } from '../release/push.ts';
import { trustedRevision } from '../release/trust.ts';
import { signingScope } from '../start/people.ts';
import { signerRules } from '../start/trust.ts';
import type { Command } from 'commander';
import { type Call, type CommandRow, byOption, messageOption, requiredMessage } from './command.ts';
import { actCommand } from './act.ts';
import { approveWaitingAct } from './four-eyes.ts';
import { policySign } from './policy/signing.ts';
import { movementLines } from './decisions/entry.ts';
import { isoTime, printable, table } from './print.ts';
import type { Session } from './session.ts';
import { signBySsh } from './ssh-sign.ts';
import { sourceNames } from './sources.ts';

/** A request, with the source of its callback; the empty text for one that holds for all sources. */
interface Found {
  readonly source: string;
  readonly request: ApprovalRequest;
}

const requestJson = ({ source, request }: Found, nowMs: number): object => ({
  id: request.id,
  ...(source !== '' && { source }),
  kind: request.kind,
  state: stateOf(request, nowMs),
  by: request.by,
  message: request.message,
  created: isoTime(request.createdAtMs),
  expires: isoTime(request.expiresAtMs),
  signatures: request.signatures.length,
  ...(request.kind === 'callback' && { needs: callbackContent(request).needs }),
  statement: request.statement,
  ...(request.endedBy !== '' && { endedBy: request.endedBy, reason: request.reason }),
});

export const approvalsList: CommandRow = {
  path: 'approvals list',
  summary: 'List the requests that wait for people, oldest first.',
  example: 'approvals list\napprovals list --json',
  async run(session) {
    const store = await session.store();
    const pending: Found[] = [];
    for (const source of ['', ...sourceNames(session)]) {
      const { requests, faults } = await createRequests(store, session.clock, source).pending();
      pending.push(...requests.map((request) => ({ source, request })));
      for (const fault of faults) session.report(`! ${fault}`);
    }
    const rows = pending.map(({ source, request: { id, kind, by, message, signatures, expiresAtMs } }) => [
      id,
      source === '' ? kind : source,
      `${signatures.length} signed`,
      `until ${isoTime(expiresAtMs)}`,
      printable(by),
      printable(message),
    ]);
    const nowMs = session.clock();
    session.print(
      table(rows, 'Nothing waits for people.'),
      pending.map((found) => requestJson(found, nowMs)),
    );
    return 0;
  },
};

const requestArgument = (command: Command): Command =>
  command
    .argument('<request>', 'the id of the request; of a callback, its subject, such as transfer:w-1')
    .option('--source <name>', 'the source of the callback');

/** The source of `--source`. A subject needs one. Throws USAGE. */
function sourceOf(session: Session, call: Call): string {
  const [id = ''] = call.arguments;
  const source = call.option('source') ?? '';
  const names = sourceNames(session);
  if (source === '' ? !id.includes(':') : names.includes(source)) return source;
  throw usageError(
    source === ''
      ? `${id} is a callback: name its source with --source: ${names.join(', ')}`
      : `there is no source ${source}; the sources are ${names.join(', ')}`,
  );
}

async function findRequest(session: Session, call: Call): Promise<Found> {
  const source = sourceOf(session, call);
  const [id = ''] = call.arguments;
  return { source, request: await createRequests(await session.store(), session.clock, source).find(id) };
}

export const approvalsShow: CommandRow = {
  path: 'approvals show',
  summary: 'Show a request: who made it, why, what people sign, and what became of it.',
  example: 'approvals show transfer:w-1 --source vault\napprovals show r7k2mqx',
  define: requestArgument,
  async run(session, call) {
    const found = await findRequest(session, call);
    session.print(requestText(found, session.clock()), requestJson(found, session.clock()));
    return 0;
  },
};

function requestText({ source, request }: Found, nowMs: number): string {
  const { id, kind, by, message, createdAtMs, expiresAtMs, endedBy, reason, statement, signatures } = request;
  const needs = kind === 'callback' ? callbackContent(request).needs : [];
  return [
    `Request ${id} (${source === '' ? kind : source}): ${stateOf(request, nowMs)}, ${signatures.length} signed, until ${isoTime(expiresAtMs)}`,
    `by ${printable(by)} at ${isoTime(createdAtMs)}: ${printable(message)}`,
    // Nobody signs these, so they must not look like the statement.
    ...needs.map(({ policy, rule, group, quorum }) =>
      printable(`${policy}/${rule} needs ${quorum} of ${group}`),
    ),
    ...(endedBy === ''
      ? []
      : [`ended by ${printable(endedBy)}${reason === '' ? '' : `: ${printable(reason)}`}`]),
    '',
    statement,
  ].join('\n');
}

/** The policies in force, which say who people are. With signers, only if enough people signed them. */
async function releaseInForce(session: Session): Promise<Release> {
  const store = await session.store();
  const { revision } = await store.control();
  const rules = signerRules(session.settings());
  if (rules !== undefined) await trustedRevision({ store, rules, forPeople: true }, revision);
  return readRevision(store, revision);
}

export const approvalsApprove: CommandRow = {
  path: approveCallback.name,
  summary: approveCallback.summary,
  example:
    'approvals approve transfer:w-1 --source vault --key ~/.ssh/id_ed25519 --message "known customer"\n' +
    'approvals approve r7k2mqx --key ~/.ssh/id_ed25519',
  define: (command) =>
    byOption(
      requestArgument(command)
        .requiredOption('--key <file>', 'your SSH key, or the .pub file of a key that the agent has')
        .option('--message <text>', 'why you approve a callback, for the journal; nobody signs it'),
    ),
  async run(session, call) {
    const found = await findRequest(session, call);
    const scope = signingScope(session.settings());
    if (scope === undefined) throw usageError('the settings have no deployment, so nobody can sign; set it');
    const { source, request } = found;
    const message = call.option('message') === undefined ? undefined : requiredMessage(call);
    if (message !== undefined && request.kind !== 'callback')
      throw usageError('only the approval of a callback has a reason; leave --message out');
    if (request.kind === 'revision') return policySign.run(session, call);
    if (request.kind === 'act') {
      const shown = requestText(found, session.clock());
      return approveWaitingAct(session, call, { request, shown, scope });
    }
    const release = await releaseInForce(session);
    const asked = askedIn(request, { source, deployment: scope.deployment });
    const { signers } = await signersOf(request, release.people, { role: 'approve', scope });
    const callback = 'order' in asked ? announcedTransaction(asked.order) : asked.callback;
    const movements = callback === undefined ? [] : movementTexts(release, callback).flatMap(movementLines);
    session.report(
      [
        requestText(found, session.clock()),
        ...movements.map((line) => `Moves, ${line}`),
        `Approved so far: ${signers.map(({ person }) => person).join(', ') || 'by nobody'}. You sign the text above.`,
      ].join('\n'),
    );
    const signature = await signBySsh(request.statement, scope.deployment, call.option('key') ?? '');
    const store = await session.store();
    const parts = { store, clock: session.clock, people: release.people, scope };
    const approved = await perform(
      approveCallback,
      parts,
      { request: request.id, source, signature, message },
      session,
    );
    session.print(approveCallback.text(approved), approveCallback.json(approved));
    return 0;
  },
};

export const approvalsReject = actCommand(rejectRequest, {
  example: 'approvals reject r7k2mqx --message "the limit is wrong"',
  define: (command) => messageOption(requestArgument(command)),
  input: (session, call) => ({
    request: call.arguments[0] ?? '',
    source: sourceOf(session, call),
    message: requiredMessage(call),
  }),
});
