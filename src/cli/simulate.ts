import { readFileSync } from 'node:fs';
import type { Kind } from '../callback/callback.ts';
import { simulatorOf } from '../start/simulator.ts';
import { openTrust } from '../start/trust.ts';
import { readPem } from '../settings/secrets.ts';
import { messageOf, usageError } from '../errors.ts';
import { createPlugins } from '../plugins/plugins.ts';
import { createFollower } from '../release/follow.ts';
import { type RecordedBody, recordedBody } from '../simulation/record-file.ts';
import type { LiveSimulation } from '../simulation/simulate-live.ts';
import type { Call, CommandRow, ExitCode } from './command.ts';
import { movementLines, otherwiseLine, rulesText } from './decisions/entry.ts';
import { printable } from './print.ts';
import type { Session } from './session.ts';
import { sourceFor } from './sources.ts';

const EXAMPLES: Readonly<Record<Kind, string>> = {
  payment:
    'simulate payment userId=12345 amount=100 symbol=USDT1742\nsimulate payment callback.json amount=5000 --scheme rsa',
  transfer:
    'simulate transfer from=0x27b1fdb04752bbc536007a920d24acb045561c26 ' +
    'to=0x52908400098527886E0F7030069857D2E4169EE7 amount=1.5 symbol=ETH',
  web3: 'simulate web3 - < callback.json\nsimulate web3 callback.json amount=0.5',
};

const simulateRow = (kind: Kind): CommandRow => ({
  path: `simulate ${kind}`,
  summary: `Say what a ${kind} callback would be answered now. Nothing is reserved or journalled.`,
  example: EXAMPLES[kind],
  define: (command) =>
    command
      .argument(
        '<callback...>',
        'members as NAME=VALUE, by their names in policies or on the wire; before them, a file with the body ' +
          'that arrives or with an entry of the journal, or - for standard input',
      )
      .option('--source <name>', 'a source of the settings (default: the first of this kind)')
      .option('--scheme <scheme>', 'the scheme of a payment (default: the first that the source accepts)')
      .option('--without-plugins', 'ask no service and no module: rules that need one refuse'),
  run: (session, call) => run(session, call, kind),
});

export const simulatePayment = simulateRow('payment');
export const simulateTransfer = simulateRow('transfer');
export const simulateWeb3 = simulateRow('web3');

async function run(session: Session, call: Call, kind: Kind): Promise<ExitCode> {
  const { recorded, ...given } = await givenCallback(session, call, kind);
  const wanted = call.option('source') ?? recorded?.source;
  const source = sourceFor(session, kind === 'payment' ? 'payment' : 'cosigner', wanted).name;
  const scheme = call.option('scheme') ?? recorded?.scheme;
  const askPlugins = !call.flag('withoutPlugins');
  const settings = session.settings();
  const { services, modules } = settings;
  const { clock } = session;
  const store = await session.store();
  const policies = createFollower({
    store,
    pollMs: settings.policies.pollMs,
    trust: openTrust(settings, { store, clock: session.clock }),
  });
  await policies.refresh();
  const plugins = await createPlugins({
    services,
    modules,
    clock,
    readSecret: session.secrets().read,
    readPem,
    report: (_event, because) => session.report(because),
    answered: () => undefined,
    secretUsed: () => undefined,
  });
  try {
    const simulate = simulatorOf(settings, { store, policies, clock, ask: plugins.askSimulated });
    const simulated = await simulate({ kind, source, scheme, askPlugins, ...given }, session.by);
    session.print(simulationText(source, simulated), { source, kind, ...simulationJson(simulated) });
    return simulated.verdict === 'SUCCESS' ? 0 : 1;
  } finally {
    await plugins.close();
  }
}

/** The members of `NAME=VALUE`, and the body of the file before them, or of the entry in it. */
async function givenCallback(
  session: Session,
  call: Call,
  kind: Kind,
): Promise<{
  readonly body: string;
  readonly members: Readonly<Record<string, string>>;
  readonly recorded: RecordedBody | undefined;
}> {
  const [first = '', ...others] = call.arguments;
  const isFile = !first.includes('=');
  const written = isFile ? others : call.arguments;
  const members = written.map((pair): [string, string] => {
    const at = pair.indexOf('=');
    if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)];
    throw usageError(`${pair} is not a member. Write NAME=VALUE, such as amount=100`);
  });
  const text = isFile ? await textOf(session, first) : '';
  const recorded = recordedBody(text);
  if (recorded === undefined || recorded.kind === kind) {
    return { body: recorded?.body ?? text, members: Object.fromEntries(members), recorded };
  }
  const { source, id } = recorded;
  const fix = `Run \`simulate ${recorded.kind}\``;
  throw usageError(`the entry ${source}/${id} is about a ${recorded.kind}. ${fix}`);
}

async function textOf(session: Session, file: string): Promise<string> {
  if (file === '-') return (await session.input()).toString();
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    throw usageError(
      `${file} can't be read: ${messageOf(thrown)}. Name a file with a callback, or write members as NAME=VALUE`,
    );
  }
}

function simulationText(source: string, simulated: LiveSimulation): string {
  const { verdict, code, because, revision, movements, of } = simulated;
  const otherwise = otherwiseLine(code, simulated);
  return [
    `${verdict}  ${code}  (simulated)`,
    `because ${printable(because)}`,
    ...(otherwise === undefined ? [] : [otherwise]),
    ...(of === '' ? [] : [`the decision ${source}/${of} would be repeated`]),
    ...(revision === '' ? [] : [`under revision ${revision}`]),
    ...movements.flatMap(movementLines),
    ...rulesText(simulated),
  ].join('\n');
}

const simulationJson = ({ deciding, next, ...simulated }: LiveSimulation): object => ({
  ...simulated,
  deciding: deciding ?? null,
  next: next ?? null,
});
