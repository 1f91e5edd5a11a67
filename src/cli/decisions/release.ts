import { orderSources } from '../../start/sources.ts';
import { type ReleaseResult, releaseApproval, releaseResultJson } from '../../orders/release.ts';
import { type CommandRow, byOption, messageOption, requiredMessage } from '../command.ts';
import { namedOrder, orderArguments } from '../orders/order.ts';
import { columns, counted, isoTime, printable } from '../print.ts';

export const decisionsRelease: CommandRow = {
  path: 'decisions release',
  summary:
    'Release the approval of an operation that failed for good: limits no longer count it, and it is refused ' +
    'from now on.',
  example:
    'decisions release payment 11321 --source shop --message "the platform refused it, ticket 4711"\n' +
    'decisions release payment 11321 --user 12345 --amount 100 --message "never debited"',
  define: (command) =>
    messageOption(byOption(orderArguments(command)))
      .option('--user <id>', 'release only if the approved userId is this one')
      .option('--symbol <symbol>', 'release only if the approved asset is this one')
      .option('--amount <decimal>', 'release only if the approved amount is this one'),
  async run(session, call) {
    const { kind, id, source } = namedOrder(session, call);
    const message = requiredMessage(call);
    const members = {
      userId: call.option('user'),
      symbol: call.option('symbol'),
      amount: call.option('amount'),
    };
    const named = { source: source.name, kind, id };
    const result = await releaseApproval(await session.store(), orderSources(session.settings()), {
      ...named,
      members,
      message,
      by: session.by,
    });
    const json = releaseResultJson(named, result);
    session.print(releaseText(json.release.subject, source.name, result), json);
    return 0;
  },
};

function releaseText(subject: string, source: string, { outcome, released, given }: ReleaseResult): string {
  const { id, atMs, by, message } = released;
  const headline =
    outcome === 'released'
      ? `Released ${subject} of ${source}, as entry ${source}/${id}. Callbacks about it are refused from now on.`
      : `${subject} of ${source} was released before, at ${isoTime(atMs)} by ${by} as ${source}/${id}: ${message}.`;
  const rows = given.amounts.map(({ policy, rule, amount, until }) => [
    `  ${amount}`,
    `${policy}/${rule}`,
    `would have counted until ${until}`,
  ]);
  const [latest] = given.kept.map(({ until }) => until).toSorted((a, b) => (a < b ? 1 : -1));
  return [
    printable(headline),
    ...(rows.length === 0
      ? ['No limit counted it any more.'].filter(() => latest === undefined)
      : ['Given back:']),
    ...(rows.length === 0 ? [] : [columns(rows)]),
    ...(latest === undefined
      ? []
      : [`Not given back: ${counted(given.kept.length, 'count')}, the last until ${latest}. ${KEPT}`]),
  ].join('\n');
}

const KEPT = 'They count different values, or no longer have what was reserved there.';
