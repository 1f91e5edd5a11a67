/**
 * Runs the service and the sandbox together, with the demo settings, and prints a link to the console. Each line
 * says which program wrote it.
 * When one of them ends, or on the first signal, the other one is stopped.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url));

function start(name: string, args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const follow = (from: Readable, to: NodeJS.WriteStream): void =>
    void createInterface(from).on('line', (line) => to.write(`${name} | ${line}\n`));
  follow(child.stdout, process.stdout);
  follow(child.stderr, process.stderr);
  return child;
}

/** Prints a link to the console once the service has made the store. */
function invite(service: ChildProcess): void {
  let isServing = false;
  service.stdout?.on('data', (chunk: Buffer) => {
    if (isServing || !chunk.includes('"event":"serving"')) return;
    isServing = true;
    start('console', ['console', 'invite', 'operator', '--role', 'operate']);
  });
}

const children = [start('service', ['serve']), start('sandbox', ['sandbox', ...process.argv.slice(2)])];
const [service] = children;
if (service !== undefined) invite(service);
const ended = children.map(async (child) => {
  const [code]: (number | null)[] = await once(child, 'close');
  for (const each of children) each.kill('SIGTERM');
  return code ?? 1;
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => children.forEach((child) => child.kill(signal)));
}
const codes = await Promise.all(ended);
process.exitCode = Math.max(...codes);
