import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import type { Attack, AttackerSays } from './attacker-process.ts';

const PROGRAM = fileURLToPath(new URL('attacker-process.ts', import.meta.url));

/**
 * Starts an attack in a process of its own; resolves once each of its connections was opened, or turned away.
 */
export async function startAttack(attack: Attack): Promise<{ readonly says: () => AttackerSays }> {
  const child = fork(PROGRAM, [JSON.stringify(attack)], { execArgv: [] });
  onTestFinished(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  let says: AttackerSays = { opened: 0, closed: 0 };
  child.on('message', (message) => (says = message as AttackerSays));
  await eventually('the attack is under way', () =>
    says.opened + says.closed >= attack.connections ? true : undefined,
  );
  return { says: () => says };
}
