import type { StoreSettings } from '../../settings/schema.ts';
import type { Connection } from '../../store/redis/connection.ts';
import type { Store } from '../../store/store.ts';
import { type ServerFacts, clockAhead, inspectServers, tryScript } from '../../store/redis/inspect.ts';
import { createKeys } from '../../store/redis/keys.ts';
import { type Finding, attempt, guarded } from './finding.ts';
import { counted } from '../print.ts';

const CLOCK_OFF_MS = 1000;
const FULL = 0.8;

/**
 * Checks each primary of a Redis. A missing permission is a fault with its fix. Needs no permission that the
 * service doesn't need, such as CONFIG.
 */
export async function checkRedis(
  store: { readonly connection: Connection } & Pick<Store, 'checkSafety'>,
  { prefix, durability }: Pick<StoreSettings, 'prefix' | 'durability'>,
): Promise<readonly Finding[]> {
  const { connection } = store;
  const keys = createKeys(prefix);
  const servers = await attempt('store', () => inspectServers({ connection, keys }));
  if (!servers.ok) return [withoutInfo(servers.fault)];
  const clock = await attempt('store', () => clockAhead({ connection }));
  const findings = servers.value.flatMap((facts) => {
    const name = connection.isCluster ? `the primary on port ${facts.port}` : 'Redis';
    return serverFindings(facts, name, clock.ok ? clock.value : undefined, durability.replicas);
  });
  findings.push(...(clock.ok ? clockFindings(clock.value) : [clock.fault]));
  // A replica refuses scripts that write, and is already reported as a fault.
  if (servers.value.every(({ role }) => role === 'master')) {
    findings.push(...(await guarded('store', () => tryScript({ connection }, keys.inForce).then(() => []))));
  }
  // The service makes the same check: the version, the eviction policy, and what Redis loads at a restart.
  findings.push(...(await guarded('store', () => store.checkSafety().then(() => []))));
  const distinct = new Map(findings.map((finding) => [finding.because, finding]));
  return [...distinct.values()];
}

const finding = (state: Finding['state'], because: string): Finding => ({ check: 'store', state, because });

function withoutInfo(fault: Finding): Finding {
  if (!fault.because.includes('NOPERM')) return fault;
  const why = "without INFO the service can't see whether Redis evicts keys, and approves nothing";
  return { ...fault, because: `${fault.because}; ${why}` };
}

function clockFindings(aheadMs: number): readonly Finding[] {
  if (Math.abs(aheadMs) <= CLOCK_OFF_MS) return [];
  return [
    finding(
      'warning',
      `the clocks of Redis and of this machine differ by ${Math.abs(aheadMs)} ms; limits ` +
        'use the clock of Redis; run NTP on both machines',
    ),
  ];
}

function serverFindings(
  facts: ServerFacts,
  name: string,
  aheadMs: number | undefined,
  replicas: number,
): readonly Finding[] {
  if (facts.role !== 'master') {
    return [
      finding(
        'fault',
        `${name} on port ${facts.port} is a replica and accepts no writes; name the primary, or ` +
          'the Sentinels, in the setting `store`',
      ),
    ];
  }
  return [
    summary(facts, name, aheadMs),
    ...persistenceFindings(facts, name),
    ...memoryFindings(facts, name),
    ...replicaFindings(facts, name, replicas),
  ];
}

function summary(facts: ServerFacts, name: string, aheadMs: number | undefined): Finding {
  const { version, maxmemoryPolicy, appendOnly, usedMemoryBytes, maxMemoryBytes, replicas } = facts;
  const memory = maxMemoryBytes === 0 ? 'unbounded memory' : mebibytes(maxMemoryBytes);
  const clock = aheadMs === undefined ? '' : `, clock ${offText(aheadMs)} this machine's`;
  const called = name === 'Redis' ? `Redis ${version}` : `${name}: Redis ${version}`;
  return finding(
    'ok',
    `${called}, maxmemory-policy ${maxmemoryPolicy}, append-only file ` +
      `${appendOnly ? 'yes' : 'no'}, ${mebibytes(usedMemoryBytes)} of ${memory} used` +
      `${clock}, ${counted(replicas, 'replica')}`,
  );
}

function persistenceFindings(facts: ServerFacts, name: string): readonly Finding[] {
  const { appendOnly, loadDenied, appends, rewrites, snapshots, unsaved } = facts;
  const findings: Finding[] = [];
  if (!appendOnly) {
    const lost =
      unsaved === 0 ? '' : `; ${counted(unsaved, 'change')} since the last snapshot would be lost now`;
    findings.push(
      finding(
        'warning',
        `${name} runs without an append-only file, so a crash can lose decisions${lost}; set ` +
          '`appendonly yes` in redis.conf',
      ),
    );
  }
  if (loadDenied === undefined) {
    findings.push(
      finding(
        'warning',
        `${name} doesn't let this user run \`ACL DRYRUN\`, so nobody checks whether it can load its append-only ` +
          'file at a restart; grant `+acl|dryrun` to this user, or make sure that the user default has all ' +
          'rights (docs/redis.md, Users)',
      ),
    );
  }
  if (!appends) {
    findings.push(
      finding(
        'fault',
        `${name} can't write its append-only file and rejects writes; repair its disk, or ` +
          'make room on it',
      ),
    );
  }
  if (!rewrites) {
    findings.push(
      finding(
        'warning',
        `${name} can't rewrite its append-only file, which grows until the disk is full; see its log ` +
          'for the cause, fix it, then run `BGREWRITEAOF`',
      ),
    );
  }
  if (!snapshots) {
    findings.push(
      finding(
        'fault',
        `${name} could not save its last snapshot and may reject writes ` +
          '(stop-writes-on-bgsave-error); repair its disk or make room on it, then run `BGSAVE`',
      ),
    );
  }
  return findings;
}

function memoryFindings({ usedMemoryBytes, maxMemoryBytes }: ServerFacts, name: string): readonly Finding[] {
  if (maxMemoryBytes === 0) {
    return [
      finding(
        'warning',
        `${name} has no \`maxmemory\`, so the kernel may kill it when the machine runs out of memory; ` +
          'set `maxmemory` below the memory of the machine in redis.conf (docs/sizing.md)',
      ),
    ];
  }
  if (usedMemoryBytes / maxMemoryBytes <= FULL) return [];
  return [
    finding(
      'warning',
      `the memory of ${name} is nearly full; when it is full, every ` +
        'answer is FAILURE; raise `maxmemory`, shorten store.retention, or move old entries to ' +
        'files with `countersign journal archive`',
    ),
  ];
}

function replicaFindings({ replicas }: ServerFacts, name: string, wanted: number): readonly Finding[] {
  if (replicas < wanted) {
    return [
      finding(
        'fault',
        `${name} has ${counted(replicas, 'connected replica')}, but store.durability.replicas requires ` +
          `${wanted}, so every approval becomes FAILURE; start replicas, or lower the setting`,
      ),
    ];
  }
  if (replicas === 0 || wanted > 0) return [];
  return [
    finding(
      'warning',
      `${name} has ${counted(replicas, 'replica')} but approvals wait for none, so a failover ` +
        'can lose the last approvals; set store.durability.replicas',
    ),
  ];
}

const offText = (aheadMs: number): string => `${Math.abs(aheadMs)} ms ${aheadMs < 0 ? 'behind' : 'ahead of'}`;

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1_048_576)} MiB`;
