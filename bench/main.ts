import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compileSigner } from '../src/signature/schemes.ts';
import type { Member } from '../src/values/members.ts';
import { startRedisServer } from '../test/redis-server.ts';
import { type Round, load, startSubject } from './load.ts';
import { evaluationTimes } from './evaluation.ts';
import { BLOCKED, FEW_RULES, MANY_RULES } from './policies.ts';
import type { SubjectParts } from './subject.ts';
import { type Program, type Row, evaluationTable, median, medians, table } from './table.ts';

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    callbacks: { type: 'string', default: '8000' },
  },
});
const ROUNDS = Number(options.rounds);
const CALLBACKS = Number(options.callbacks);
/** Sent first to each new process, uncounted: the first ten thousand or so run unoptimised, and more so the more rules there are. */
const WARM_UP = 16_000;

const loads: readonly {
  readonly connections: number;
  readonly callbacks: number;
  readonly programs: readonly Program[];
}[] = [
  { connections: 1, callbacks: Math.ceil(CALLBACKS / 4), programs: ['floor', 'redis', 'embedded'] },
  { connections: 32, callbacks: CALLBACKS, programs: ['floor', 'redis', 'redis-many', 'embedded'] },
];

const tell = (line: string): void => void process.stderr.write(`${line}\n`);
const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const platformKey = publicKey.export({ type: 'spki', format: 'pem' }).toString();
const redis = await startRedisServer();

try {
  const rows = await measure(signedBodies());
  const evaluation = evaluationTimes();
  process.stdout.write(
    options.json
      ? `${JSON.stringify({ rows, evaluation }, undefined, 2)}\n`
      : `${table(rows)}\n${evaluationTable(evaluation)}`,
  );
} finally {
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Unique subjects, signed before anything is measured. */
function signedBodies(): readonly string[] {
  tell(`signing ${WARM_UP + CALLBACKS} callbacks`);
  const senderKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const signer = compileSigner({
    scheme: 'rsa',
    senderKey,
    digest: 'sha256',
    signs: 'string',
    emptyValues: 'keep',
  });
  return Array.from({ length: WARM_UP + CALLBACKS }, (_, index) => {
    const texts = {
      appKey: 'bench-shop',
      appOrderId: `order-${index}`,
      orderAmount: `${1 + (index % 97)}.${String(index % 100).padStart(2, '0')}`,
      payCoinSymbol: 'USDT1742',
      userId: `${10_000 + (index % 1000)}`,
    };
    return signer.sign(
      new Map(
        Object.entries(texts).map(([name, text]): [string, Member] => [name, { kind: 'string', text }]),
      ),
      0,
    );
  });
}

/** The programs in turn, round by round, so that a drift of the machine meets all of them; the medians are compared. */
async function measure(bodies: readonly string[]): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const { connections, callbacks, programs } of loads) {
    const taken: Record<Program, Round[]> = { floor: [], redis: [], 'redis-many': [], embedded: [] };
    for (let round = 0; round < ROUNDS; round++) {
      for (const program of programs) {
        tell(`c=${connections} round ${round + 1} of ${ROUNDS}: ${program}`);
        taken[program].push(
          await oneRound(
            program,
            `${connections}-${round}`,
            bodies.slice(0, WARM_UP + callbacks),
            connections,
          ),
        );
      }
    }
    const floor = medians(taken.floor);
    for (const program of programs) {
      const own = medians(taken[program]);
      const ratio = (of: (round: Round) => number): number =>
        median(taken[program].map((each, at) => of(each) / of(taken.floor[at] ?? floor)));
      const ofFloor = {
        perSecond: ratio((each) => each.perSecond),
        p50: ratio((each) => each.p50Ms),
        p99: ratio((each) => each.p99Ms),
        cpu: ratio((each) => each.cpuMicros),
      };
      rows.push({ program, connections, ...own, ofFloor });
    }
  }
  return rows;
}

/** A fresh process on a fresh store, warmed up with subjects of their own. */
async function oneRound(
  program: Program,
  name: string,
  bodies: readonly string[],
  connections: number,
): Promise<Round> {
  await redis.restart();
  const subject = await startSubject(partsOf(program, name));
  try {
    await load(subject, bodies.slice(0, WARM_UP), 32);
    return await load(subject, bodies.slice(WARM_UP), connections);
  } finally {
    await subject.stop();
  }
}

function partsOf(program: Program, name: string): SubjectParts {
  if (program === 'floor') return { program, floor: { redisUrl: redis.url, platformKey } };
  const policies = join(folder, program === 'redis-many' ? 'many' : 'few');
  const store = program !== 'embedded' ? redis.url : `embedded:${join(folder, `${name}.db`)}`;
  const settings = join(folder, `${program}-${name}.yaml`);
  writeFileSync(join(folder, 'platform.pem'), platformKey);
  writeFileSync(
    settings,
    `public: { port: 0 }
ops: { port: 0 }
store: "${store}"
policies: { directory: ${policies} }
sources:
  - name: shop
    callback: payment
    appKey: bench-shop
    signatures: [{ scheme: rsa, platformKey: { file: ${join(folder, 'platform.pem')} } }]
`,
  );
  mkdirSync(policies, { recursive: true });
  writeFileSync(join(policies, 'payments.yaml'), program === 'redis-many' ? MANY_RULES : FEW_RULES);
  const list = program === 'redis-many' ? BLOCKED : undefined;
  return { program: 'countersign', settings, log: join(folder, 'log.jsonl'), list };
}
