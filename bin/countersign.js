#!/usr/bin/env node
// Runs the program under Node 26 or newer: this one if it is, else the one that `npm ci` installed beside it.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const needed = 26;
const isEnough = (version) => Number(version.split('.')[0]) >= needed;

if (isEnough(process.versions.node)) {
  // Imported here, because an older Node lacks what this module imports.
  const { keepCompiled } = await import('./compile-cache.js');
  keepCompiled(fileURLToPath(new URL('../node_modules/.compiled', import.meta.url)));
  await import('../src/main.ts');
} else {
  // An installed Node that is too old as well would start itself without end.
  if (!isEnough(installedVersion())) {
    console.error(
      `countersign needs Node ${needed} or newer; this is ${process.version}. Run npm ci, or install it.`,
    );
    process.exit(2);
  }
  const installed = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));
  const child = spawn(installed, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  child.on('error', ({ message }) => {
    // A file that is there and still not found lacks its loader.
    const cure = existsSync(installed)
      ? `The Node that npm ci installs runs on macOS and on Linux with glibc, such as Debian, Ubuntu or Fedora. On other systems, such as Alpine, install Node ${needed} or newer from the system`
      : 'Run npm ci';
    console.error(`countersign can't start ${installed}: ${message}. ${cure}.`);
    process.exit(2);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    // The loader itself ends with this, and has named the library.
    if (code === 127) {
      console.error(
        `countersign can't start ${installed}: a library is missing, as the line above says. On Debian and Ubuntu, run apt-get install libatomic1 libstdc++6.`,
      );
    }
    process.exit(code ?? (signal === null ? 1 : 130));
  });
}

/** The version that `npm ci` installed; '0' without one. */
function installedVersion() {
  try {
    return JSON.parse(readFileSync(new URL('../node_modules/node/package.json', import.meta.url), 'utf8'))
      .version;
  } catch {
    return '0';
  }
}
