#!/usr/bin/env node
// Runs the program under Node 26 or newer: this one if it is, else the one that `npm ci` installed beside it.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const needed = 26;

if (Number(process.versions.node.split('.')[0]) >= needed) {
  // Not above: an older Node has not what it imports.
  const { keepCompiled } = await import('./compile-cache.js');
  keepCompiled(fileURLToPath(new URL('../node_modules/.compiled', import.meta.url)));
  await import('../src/main.ts');
} else {
  const installed = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));
  if (!existsSync(installed)) {
    console.error(
      `countersign needs Node ${needed} or newer; this is ${process.version}. Run npm ci, or install it.`,
    );
    process.exit(2);
  }
  const child = spawn(installed, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 130)));
}
