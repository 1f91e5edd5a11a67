import { createHash, randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/*
 * Makes the passwords of Redis' three users once, and the users' file with their digests for Redis. Those of the service and the
 * operator go into a volume of their own each; the administrator's stays with Redis, for whoever may enter its container.
 * What is there already stays. compose.yaml runs it before Redis starts:
 *
 *   node make-secrets.ts TEMPLATE FOLDER
 */

/** Who may read what: the service runs as 1000, Redis as 999. */
const OWNERS = { node: 1000, redis: 999 } as const;
const [template = '', folder = ''] = process.argv.slice(2);

const service = passwordIn('service/redis.password');
const operator = passwordIn('operator/redis.password');
const administrator = passwordIn('redis/administrator.password', OWNERS.redis);
const users = readFileSync(template, 'utf8')
  .replaceAll('SERVICE-PASSWORD-SHA256', digestOf(service))
  .replaceAll('OPERATOR-PASSWORD-SHA256', digestOf(operator))
  .replaceAll('ADMINISTRATOR-PASSWORD-SHA256', digestOf(administrator));
write('redis/users.acl', users, OWNERS.redis);

function passwordIn(name: string, owner: number = OWNERS.node): string {
  const path = join(folder, name);
  if (!existsSync(path)) write(name, randomBytes(32).toString('hex'), owner);
  return readFileSync(path, 'utf8').trim();
}

function digestOf(password: string): string {
  return createHash('sha256').update(password).digest('hex');
}

/** Whole or not at all, and never readable for others in between. */
function write(name: string, text: string, owner: number): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, text, { mode: 0o400 });
  if (process.getuid?.() === 0) chownSync(`${path}.new`, owner, owner);
  renameSync(`${path}.new`, path);
}
