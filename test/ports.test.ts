import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type Server, createServer } from 'node:net';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { closedPort, nextPort, onNextPort } from './ports.ts';
import { startRedisCluster } from './redis-cluster.ts';
import { type RedisServerProcess, startRedisServer } from './redis-server.ts';

const EPHEMERAL = 32_768;

async function listenOn(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return server;
}

it('no two processes are given one port, and none that an outgoing connection may have', async () => {
  const program = `
    import { nextPort } from ${JSON.stringify(new URL('ports.ts', import.meta.url).href)};
    const ports = [];
    for (let at = 0; at < 300; at++) ports.push(await nextPort());
    console.log(ports.join(' '));
    process.stdin.resume();
    process.stdin.once('end', () => process.exit());`;
  const children = Array.from({ length: 6 }, () => {
    const running = promisify(execFile)(process.execPath, ['--input-type=module-typescript', '-e', program]);
    return { running, child: running.child };
  });
  // All of them hold their ports until the last one has its own.
  const firstLines = children.map(async ({ child }) => once(child.stdout ?? child, 'data'));
  await Promise.all(firstLines);
  for (const { child } of children) child.stdin?.end();
  const outputs = await Promise.all(children.map(({ running }) => running));
  const ports = outputs.flatMap(({ stdout }) => stdout.trim().split(' ').map(Number));
  expect(ports).toHaveLength(6 * 300);
  expect(new Set(ports).size).toBe(ports.length);
  expect(Math.max(...ports)).toBeLessThan(EPHEMERAL);
});

/** A port that is followed by the next ones of this process, which come in blocks of a hundred. */
async function portBeforeOthers(): Promise<number> {
  for (;;) {
    const port = await nextPort();
    if (port % 100 < 90) return port;
  }
}

it('a Redis whose port was taken after it was chosen starts on another', async () => {
  const taken = await portBeforeOthers();
  await listenOn(taken + 1);
  const server: RedisServerProcess = await startRedisServer();
  onTestFinished(() => server.stop());
  expect(server.port).not.toBe(taken + 1);
  await server.restart();
});

it('a node of a Cluster whose bus was taken starts on others', async () => {
  const taken = await portBeforeOthers();
  await listenOn(taken + 2);
  const cluster = await startRedisCluster({ primaries: 1 });
  onTestFinished(() => cluster.stop());
  await cluster.served();

  const again = await portBeforeOthers();
  await listenOn(again + 2);
  const node = await startRedisServer({ args: ['--cluster-enabled', 'yes'] });
  onTestFinished(() => node.stop());
  expect(node.port).toBeGreaterThan(again + 2);
});

it('what is wrong with something else than the port is not tried again', async () => {
  let starts = 0;
  const failing = onNextPort(() => Promise.reject(new Error(`no memory ${++starts}`)));
  await expect(failing).rejects.toThrow('no memory 1');
});

it('on a closed port nobody listens, and nobody comes to', async () => {
  const closed = await closedPort();
  const others = await Promise.all(Array.from({ length: 150 }, nextPort));
  expect(others).not.toContain(closed);
  await listenOn(closed);
});
