import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, fencedLines, textOf } from './documents.ts';

/*
 * The files that deploy/ ships for Redis and Sentinel, and the users that docs/redis.md adds for a topology.
 * The tests and `npm run chaos` start their servers with them.
 */

/** Passwords as the document writes them, and as the tests give them. */
export const PASSWORDS = {
  'SERVICE-PASSWORD': 'password-of-the-service',
  'OPERATOR-PASSWORD': 'password-of-the-operator',
  'ADMINISTRATOR-PASSWORD': 'password-of-the-administrator',
  'BACKUP-PASSWORD': 'password-of-the-backup',
  'SENTINEL-PASSWORD': 'password-of-the-sentinels',
  'REPLICA-PASSWORD': 'password-of-the-replicas',
} as const;

export type Section =
  | 'service'
  | 'operator'
  | 'administrator'
  | 'backup'
  | 'probe'
  | 'default'
  | 'prices'
  | 'console'
  | 'push'
  | 'cluster'
  | 'newer'
  | 'sentinel'
  | 'replica';

/** The `ACL SETUSER` lines of docs/redis.md, by the language of their fence: `acl-service` and so on. */
export function documentedUsers(): Readonly<Record<Section, readonly string[]>> {
  const markdown = textOf('docs/redis.md').replaceAll(/^```acl (\w+)$/gm, '```acl_$1');
  const lines = (section: Section): readonly string[] =>
    fencedLines(markdown, `acl_${section}`).map((line) =>
      Object.entries(PASSWORDS).reduce((text, [name, password]) => text.replaceAll(name, password), line),
    );
  return {
    service: lines('service'),
    operator: lines('operator'),
    administrator: lines('administrator'),
    backup: lines('backup'),
    probe: lines('probe'),
    default: lines('default'),
    prices: lines('prices'),
    console: lines('console'),
    push: lines('push'),
    cluster: lines('cluster'),
    newer: lines('newer'),
    sentinel: lines('sentinel'),
    replica: lines('replica'),
  };
}

/** The passwords and the users' file that `make-secrets.ts` makes, for Compose and for Kubernetes alike. */
export interface Secrets {
  readonly aclFile: string;
  readonly passwordFile: (user: 'service' | 'operator') => string;
  readonly administrator: string;
  /** The file with the password of countersign-backup. */
  readonly backupFile: string;
}

export function makeSecrets(folder: string): Secrets {
  const args = [
    join(ROOT, 'deploy/compose/make-secrets.ts'),
    join(ROOT, 'deploy/redis/users.acl'),
    join(folder, 'secrets'),
  ];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0 || stderr !== '') throw new Error(`make-secrets.ts ended with ${status}: ${stderr}`);
  const path = (name: string): string => join(folder, 'secrets', name);
  return {
    aclFile: path('redis/users.acl'),
    passwordFile: (user) => path(`${user}/redis.password`),
    administrator: readFileSync(path('redis/administrator.password'), 'utf8'),
    backupFile: path('redis/backup.password'),
  };
}

/** The lines for the users' file that do what `ACL SETUSER` lines of docs/redis.md do. */
export function usersOf(...sections: readonly ('sentinel' | 'replica')[]): readonly string[] {
  const documented = documentedUsers();
  return sections.flatMap((section) =>
    documented[section].map((line) => line.replace('ACL SETUSER', 'user')),
  );
}

export interface RedisUser {
  readonly username: string;
  readonly password: string;
}

/** May do everything, as none of the shipped users may: for what a rig itself asks of its servers. */
const RIG: RedisUser = { username: 'rig', password: 'password-of-the-rig' };

/** With what the servers of a rig are started. */
export interface ShippedFiles {
  readonly folder: string;
  /** The lines of redis.conf, but for port, address and folder. */
  readonly redis: readonly string[];
  /** The lines of sentinel.conf for a primary on this port, but for the port of the Sentinel. */
  readonly sentinel: (primary: number) => readonly string[];
  /** May do everything. */
  readonly user: RedisUser;
  readonly secrets: Secrets;
}

export interface ShippedTopology {
  /** How many replicas a write needs, for a primary with replicas: `min-replicas-to-write`. */
  readonly minReplicas?: number;
  readonly cluster?: boolean;
  /** Changes the text of users.acl. */
  readonly users?: (shipped: string) => string;
}

/** Makes the passwords and the users' file in the folder. */
export function shippedFiles(folder: string, topology: ShippedTopology = {}): ShippedFiles {
  const { minReplicas, cluster = false, users = (shipped) => shipped } = topology;
  const secrets = makeSecrets(folder);
  const { username, password } = RIG;
  const acl = [
    users(clusterRights(readFileSync(secrets.aclFile, 'utf8'), cluster)),
    ...(minReplicas === undefined ? [] : usersOf('sentinel', 'replica')),
    `user ${username} reset on >${password} ~* &* +@all`,
  ];
  const aclFile = join(folder, 'users.acl');
  writeFileSync(aclFile, acl.map((text) => `${text.trimEnd()}\n`).join(''), { mode: 0o600 });
  const shipped = textOf('deploy/redis/redis.conf');
  const conf = minReplicas === undefined ? shipped : replicatedConf(shipped, minReplicas);
  const own = /^(?:bind|port|dir|aclfile) /;
  return {
    folder,
    redis: [...conf.split('\n').filter((line) => !own.test(line)), `aclfile ${aclFile}`],
    sentinel: (primary) =>
      sentinelConf(primary)
        .split('\n')
        .filter((line) => !own.test(line)),
    user: RIG,
    secrets,
  };
}

/** Adds what docs/redis.md adds to the users on a Cluster. A users' file has one line a user. */
function clusterRights(acl: string, cluster: boolean): string {
  const more = cluster ? documentedUsers().cluster : [];
  return more.reduce((text, line) => {
    const [, , name = '', ...rights] = line.split(' ');
    return text.replace(new RegExp(`^user ${name} .*$`, 'm'), (user) => [user, ...rights].join(' '));
  }, acl);
}

/** With the lines of redis.conf for replicas, without their `#`. */
export function replicatedConf(conf: string, minReplicas = 2): string {
  return conf
    .replaceAll(/^# (min-replicas-|masteruser |masterauth )/gm, '$1')
    .replace(/^min-replicas-to-write 2$/m, `min-replicas-to-write ${minReplicas}`)
    .replace('REPLICA-PASSWORD', PASSWORDS['REPLICA-PASSWORD']);
}

/** With the address of the primary and the password in the places that are left for them. */
export function sentinelConf(primary: number): string {
  return textOf('deploy/redis/sentinel.conf')
    .replace('redis-0.redis 6379', `127.0.0.1 ${primary}`)
    .replace('SENTINEL-PASSWORD', PASSWORDS['SENTINEL-PASSWORD']);
}
