import { once } from 'node:events';
import { createServer } from 'node:net';

/*
 * Ports of 127.0.0.1 for servers that can't be told to choose one: nobody else is given a port that this
 * process was given, for as long as the process runs. The ports lie below the range from which systems take
 * those of outgoing connections (32768 on Linux, 49152 elsewhere), so a port stays free while its server is
 * down.
 *
 * The range is cut into blocks. A process has a block to itself while it listens on the first port of it, so
 * the system itself decides who has which, and a block is free again once its process is gone, however it
 * ended.
 */

const FIRST = 12_000;
const BLOCKS = 200;
const BLOCK_PORTS = 100;
const STARTS = 20;

let next = 0;
let end = 0;
let pending: Promise<unknown> = Promise.resolve();

/**
 * A port that nobody else of these tests is given. What is no part of them may listen on it: see
 * `onNextPort`.
 */
export function nextPort(): Promise<number> {
  const port = pending.then(async () => {
    if (next === end) await takeBlock();
    return next++;
  });
  pending = port.catch(() => undefined);
  return port;
}

/**
 * What `start` resolves with, on a port that was free when it bound it; other ports are tried while one is in
 * use.
 */
export async function onNextPort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await nextPort());
    } catch (thrown) {
      if (attempt === STARTS || !/in use|EADDRINUSE|another program has it/i.test(String(thrown)))
        throw thrown;
    }
  }
}

/** A port on which nobody listens, now and later. */
export function closedPort(): Promise<number> {
  return onNextPort(async (port) => {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return port;
  });
}

async function takeBlock(): Promise<void> {
  for (let tried = 0; tried < BLOCKS; tried++) {
    // Processes that start together begin at different blocks.
    const first = FIRST + ((process.pid + tried) % BLOCKS) * BLOCK_PORTS;
    const guard = createServer().unref();
    const taken = await new Promise<boolean>((resolve) => {
      guard.once('error', () => resolve(false));
      guard.listen({ port: first, host: '127.0.0.1', exclusive: true }, () => resolve(true));
    });
    if (!taken) continue;
    next = first + 1;
    end = first + BLOCK_PORTS;
    return;
  }
  throw new Error(
    `the ports from ${FIRST} to ${FIRST + BLOCKS * BLOCK_PORTS - 1} are all taken: end what listens on them`,
  );
}
