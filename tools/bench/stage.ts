import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { type RedisServerProcess, startRedisServer } from '../../test/redis-server.ts';
import { APP_KEY, ASSETS, BLOCKED, SECRET, TOKEN } from './policies.ts';
import type { Program } from './programs.ts';
import type { Sender } from './callbacks.ts';
import type { SubjectParts } from './subject.ts';

/** Where the programs run: a private Redis, and a folder of settings, keys, policies and embedded stores. */
export interface Stage {
  readonly redisUrl: string;
  /** An empty store with what the program is to find there, and how each of its processes is started. */
  readonly set: (program: Program) => Promise<readonly SubjectParts[]>;
  /** Redis' own time in commands so far, in microseconds. */
  readonly redisMicros: () => Promise<number>;
  /** Keeps what the programs have logged, to find out why an answer was wrong. Returns the file, if there is one. */
  readonly keepLog: () => string | undefined;
  readonly clear: () => Promise<void>;
}

/** What a decision or the floor sends. The time of a script has that of the commands in it. */
const COMMANDS = /^cmdstat_(?:evalsha|fcall|set):calls=\d+,usec=(\d+)/gm;

export async function createStage(sender: Sender): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
  const redis = await startRedisServer();
  const write = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const keys = {
    platform: write('platform.pem', sender.platformKey),
    merchant: write('merchant.pem', sender.merchantKey),
    secret: write('shop.secret', SECRET),
    token: write('vault.token', TOKEN),
  };
  const log = join(folder, 'log.jsonl');
  let sets = 0;

  return {
    redisUrl: redis.url,
    async set(program) {
      await redis.restart();
      if (program.runs === 'floor') {
        return [{ program: 'floor', floor: { redisUrl: redis.url, platformKey: sender.platformKey } }];
      }
      const name = String(++sets);
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'policies.yaml'), program.policies);
      writeFileSync(join(folder, name, 'assets.yaml'), ASSETS);
      const store = program.runs === 'redis' ? redis.url : `embedded:${join(folder, `${name}.db`)}`;
      const settings = write(`${name}.yaml`, settingsText(store, join(folder, name), keys));
      if (program.subjects > 0) await fill(redis, program.subjects);
      const parts = { program: 'countersign', settings, log } as const;
      const list = program.listed === 0 ? undefined : { list: BLOCKED.list, entries: program.listed };
      return Array.from({ length: program.processes }, (_, at) => ({
        ...parts,
        list: at === 0 ? list : undefined,
      }));
    },
    async redisMicros() {
      const client = new Redis(redis.url);
      const stats = await client.info('commandstats');
      client.disconnect();
      return [...stats.matchAll(COMMANDS)].reduce((sum, [, usec]) => sum + Number(usec), 0);
    },
    keepLog() {
      if (!existsSync(log)) return undefined;
      renameSync(log, `${folder}.jsonl`);
      return `${folder}.jsonl`;
    },
    async clear() {
      await redis.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Bad signatures are sent as fast as they are answered, and each is to be looked at. */
function settingsText(
  store: string,
  policies: string,
  keys: Readonly<Record<'platform' | 'merchant' | 'secret' | 'token', string>>,
): string {
  return `public: { port: 0, limits: { failuresPerSecond: 100000 } }
ops: { port: 0 }
store: "${store}"
policies: { directory: ${policies} }
sources:
  - name: shop
    callback: payment
    appKey: ${APP_KEY}
    signatures:
      - { scheme: rsa, platformKey: { file: ${keys.platform} } }
      - { scheme: md5, secret: { file: ${keys.secret} } }
      - { scheme: rsa-envelope, platformKey: { file: ${keys.platform} }, merchantKey: { file: ${keys.merchant} } }
  - name: vault
    callback: cosigner
    authenticate: [{ header: { name: authorization, secret: { file: ${keys.token} } } }]
`;
}

const AT_ONCE = 10_000;

/** Subjects as settle leaves them, made by Redis itself, for sending ten million would take an hour. */
const FILL = `for number = ARGV[1] + 0, ARGV[2] - 1 do
  redis.call('HSET', 'countersign:{shop}:subject:payment:before-' .. string.format('%.0f', number),
    'terms', string.rep('a', 64), 'd:payment', '["SUCCESS","APPROVED","1700000000000-0"]',
    'r:' .. string.rep('c', 32), '1700000000000', 'entries', '1', 'e:1', '1700000000000-0')
end`;

async function fill(server: RedisServerProcess, subjects: number): Promise<void> {
  const client = new Redis(server.url);
  for (let from = 0; from < subjects; from += AT_ONCE) {
    await client.eval(FILL, 0, from, Math.min(subjects, from + AT_ONCE));
  }
  client.disconnect();
}
