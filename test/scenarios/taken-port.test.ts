import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { writeServiceFolder } from '../service.ts';
import { startServiceProcess } from '../service-process.ts';

let redis: RedisServerProcess;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());

it('a port that is taken ends the start with exit code 2 and the cure, also with a store connected', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const folder = writeServiceFolder({
    redis: redis.url,
    settings: { public: { port: String(port) } },
  });
  try {
    await expect(startServiceProcess(folder)).rejects.toThrow(/another program has it.*public\.port/s);
  } finally {
    taken.close();
  }
});
