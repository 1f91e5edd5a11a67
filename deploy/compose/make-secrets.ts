import { createHash, randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/*
 * Creates the passwords of the four users of Redis, and the users' file with their digests for Redis. The
 * passwords of the service and of the operator each go into a volume of their own. Those of the administrator
 * and of the backup stay in the volume of Redis, for people who may enter its container. Existing passwords are
 * kept.
 * compose.yaml runs this program before Redis starts:
 *
 *   node make-secrets.ts TEMPLATE FOLDER
 */

/** The user ids that own the files: the service runs as 1000, Redis as 999. */
const OWNERS = { node: 1000, redis: 999 } as const;
const [template = '', folder = ''] = process.argv.slice(2);

const service = passwordIn('service/redis.password');
const operator = passwordIn('operator/redis.password');
const administrator = passwordIn('redis/administrator.password', OWNERS.redis);
const backup = passwordIn('redis/backup.password', OWNERS.redis);
const users = readFileSync(template, 'utf8')
  .replaceAll('SERVICE-PASSWORD-SHA256', digestOf(service))
  .replaceAll('OPERATOR-PASSWORD-SHA256', digestOf(operator))
  .replaceAll('ADMINISTRATOR-PASSWORD-SHA256', digestOf(administrator))
  .replaceAll('BACKUP-PASSWORD-SHA256', digestOf(backup));
write('redis/users.acl', users, OWNERS.redis);

function passwordIn(name: string, owner: number = OWNERS.node): string {
  const path = join(folder, name);
  if (!existsSync(path)) write(name, randomBytes(32).toString('hex'), owner);
  return readFileSync(path, 'utf8').trim();
}

function digestOf(password: string): string {
  return createHash('sha256').update(password).digest('hex');
}

/** Writes the file atomically. Other users can't read it at any time. */
function write(name: string, text: string, owner: number): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, text, { mode: 0o400 });
  if (process.getuid?.() === 0) chownSync(`${path}.new`, owner, owner);
  renameSync(`${path}.new`, path);
}
