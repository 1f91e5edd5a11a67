import { ServerResponse } from 'node:http';
import { type Profiler, Session } from 'node:inspector';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/observe/log.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { startService } from '../../src/start/service.ts';
import { systemClock } from '../../src/values/clock.ts';
import { type Posted, createSender } from '../bench/callbacks.ts';
import { APP_KEY, FEW_RULES, SECRET } from '../bench/policies.ts';
import { commandLine } from '../command-line.ts';

const { list } = commandLine(
  'callback-path',
  'Counts the files, functions and calls of src on the main thread between the bytes of a payment and its answer.',
  '--list',
)
  .option('--list', 'also print the files and their functions, the most called ones first')
  .parse()
  .opts<{ readonly list?: boolean }>();

/** More than the writes after which commits move to the writer thread. */
const WARM_UP = 200;
/** Printed is the one with the fewest calls: in the others, a timer has run as well. */
const RUNS = 16;
const SRC = new URL('../../src/', import.meta.url);

interface Called {
  readonly file: string;
  /** Its name, or `(anonymous)`, and its line. */
  readonly name: string;
  readonly calls: number;
}

const session = new Session();
session.connect();

/** What was called since the last time. It is known when `post` returns, so nothing runs meanwhile. */
function takeCalled(): readonly Called[] {
  let called: readonly Called[] = [];
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error !== null) throw error;
    called = result.filter(({ url }) => url.startsWith(SRC.href)).flatMap(calledIn);
  });
  return called;
}

function calledIn({ url, functions }: Profiler.ScriptCoverage): readonly Called[] {
  const file = url.slice(SRC.href.length);
  // Node replaces types by blanks, so offsets are those of the file.
  const text = readFileSync(new URL(url), 'utf8');
  return functions.flatMap(({ functionName, ranges: [whole] }) =>
    whole === undefined || whole.count === 0
      ? []
      : {
          file,
          name: `${functionName || '(anonymous)'}:${text.slice(0, whole.startOffset).split('\n').length}`,
          calls: whole.count,
        },
  );
}

const { make } = createSender();
const folder = mkdtempSync(join(tmpdir(), 'countersign-callback-path-'));
const write = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
mkdirSync(join(folder, 'policies'));
write('policies/payments.yaml', FEW_RULES);
const settingsFile = write(
  'settings.yml',
  `public: { port: 0 }
ops: { port: 0 }
log: { level: error }
store: 'embedded:${join(folder, 'store.db')}'
policies: { directory: ${join(folder, 'policies')} }
sources:
  - name: shop
    callback: payment
    appKey: ${APP_KEY}
    signatures: [{ scheme: md5, secret: { file: ${write('shop.secret', SECRET)} } }]
`,
);
const service = await startService({
  settings: loadSettings({ file: settingsFile, env: {} }),
  env: {},
  clock: systemClock,
  log: createLog({ level: 'error' }),
});

/** Signed beforehand: `src` also signs. */
const payments = Array.from({ length: WARM_UP + RUNS }, (_, index) => make('md5', index));

async function pay({ path, body }: Posted): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(`${service.publicUrl}${path}`, { method: 'POST', headers, body });
  const answer = await response.text();
  if (answer !== 'SUCCESS') throw new Error(`the answer to ${body} was ${answer}`);
}

try {
  for (const payment of payments.slice(0, WARM_UP)) await pay(payment);
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  const runs: (readonly Called[])[] = [];
  takeAtEnd((called) => runs.push(called));
  for (const payment of payments.slice(WARM_UP)) {
    takeCalled();
    await pay(payment);
  }
  print(runs.reduce((least, run) => (callsOf(run) < callsOf(least) ? run : least)));
} finally {
  session.disconnect();
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Takes what was called when an answer is given to Node. */
function takeAtEnd(taken: (called: readonly Called[]) => void): void {
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its response
  ServerResponse.prototype.end = new Proxy(ServerResponse.prototype.end, {
    apply(end, response, parts) {
      taken(takeCalled());
      return Reflect.apply(end, response, parts);
    },
  });
}

function callsOf(called: readonly Called[]): number {
  return called.reduce((sum, { calls }) => sum + calls, 0);
}

function print(called: readonly Called[]): void {
  const files = [...Map.groupBy(called, ({ file }) => file)];
  const line = (text: string): void => void process.stdout.write(`${text}\n`);
  line(`${files.length} files, ${called.length} functions, ${callsOf(called)} calls`);
  if (list !== true) return;
  for (const [file, functions] of files.sort(([, a], [, b]) => callsOf(b) - callsOf(a))) {
    line(`\n${file}: ${functions.length} functions, ${callsOf(functions)} calls`);
    for (const { name, calls } of functions.toSorted((a, b) => b.calls - a.calls))
      line(`${String(calls).padStart(5)}  ${name}`);
  }
}
