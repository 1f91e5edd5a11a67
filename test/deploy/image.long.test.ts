import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadSettings } from '../../src/settings/load.ts';
import { ENTRIES, OF_VIEM } from '../../tools/image/prune.ts';
import { eventually } from '../eventually.ts';
import { onNextPort } from '../ports.ts';
import { startRedisProcess } from '../redis-process.ts';
import { startRedisServer } from '../redis-server.ts';
import { startTestService } from '../service.ts';
import { startServing } from '../service-process.ts';
import { ROOT, fencedLines, textOf } from './documents.ts';
import { manifestsIn } from '../../tools/generate/manifests.ts';
import { adminOf, clientOf, grant } from './redis-users.ts';
import { documentedUsers } from './shipped-files.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const dockerfile = textOf('Dockerfile').replaceAll(/\\\n\s*/g, '');
const instructions = dockerfile
  .split('\n')
  .filter((line) => /^[A-Z]+ /.test(line.trim()))
  .map((line) => ({ name: /^\s*([A-Z]+)/.exec(line)?.[1] ?? '', rest: line.trim().replace(/^[A-Z]+ /, '') }));
const of = (name: string): readonly string[] =>
  instructions.filter((instruction) => instruction.name === name).map(({ rest }) => rest);
const packageJson = z
  .object({ version: z.string(), scripts: z.object({ start: z.string() }) })
  .parse(JSON.parse(textOf('package.json')));

const { packages } = z
  .object({
    packages: z.record(
      z.string(),
      z.object({
        version: z.string().optional(),
        dev: z.boolean().optional(),
        optional: z.boolean().optional(),
        hasInstallScript: z.boolean().optional(),
        dependencies: z.record(z.string(), z.string()).optional(),
      }),
    ),
  })
  .parse(JSON.parse(textOf('package-lock.json')));
const isDirect = (path: string): boolean => /^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path);

const RUN_WHEN_IMPORTED: ReadonlySet<string> = new Set(['./src/main.ts']);

/** The same files in another folder, without copying where one disk holds both. */
function linkFiles(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkFiles(source, target);
    else if (entry.isFile()) {
      try {
        linkSync(source, target);
      } catch {
        copyFileSync(source, target);
      }
    }
  }
}

describe('the image', () => {
  /** What is copied from the build context. */
  const copied = of('COPY')
    .filter((rest) => !rest.startsWith('--from'))
    .flatMap((rest) => rest.split(' ').slice(0, -1));

  it('copies what there is, and what .dockerignore lets through', () => {
    const ignore = textOf('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(ignore[0]).toBe('*');
    expect(copied.length).toBeGreaterThan(5);
    for (const path of copied) {
      expect({ path, there: existsSync(join(ROOT, path)) }).toEqual({ path, there: true });
      expect(ignore).toContain(`!${path}`);
    }
    const included = ignore.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    expect(included.sort()).toEqual([...new Set(copied)].sort());
    expect(ignore.slice(1 + included.length)).toEqual(['packages/*/test']);
  });

  it('is of the Node of package-lock.json, by its whole version, in every stage', () => {
    const version = packages['node_modules/node']?.version;
    expect(of('FROM').map((rest) => rest.split(' ')[0])).toEqual([
      `node:${version}-slim`,
      `node:${version}-slim`,
    ]);
  });

  it('installs what package-lock.json says, without what is for development, and runs no scripts of it', () => {
    expect(of('RUN')[0]).toMatch(/^npm ci --omit=dev --ignore-scripts /);
  });

  it('runs as somebody without rights, is told to stop by SIGTERM, and starts as npm start does', () => {
    expect(of('USER')).toEqual(['1000:1000']);
    expect(of('STOPSIGNAL')).toEqual(['SIGTERM']);
    const [flag] = /--max-semi-space-size=\d+/.exec(packageJson.scripts.start) ?? [];
    expect(JSON.parse(of('ENTRYPOINT')[0] ?? '')).toEqual(['node', flag, 'bin/countersign.js']);
    expect(JSON.parse(of('CMD')[0] ?? '')).toEqual(['serve']);
  });

  it('has its command line on the path, by a file that can be run through a link', () => {
    expect(of('RUN').join('\n')).toContain('ln -s /app/bin/countersign.js /usr/local/bin/countersign');
    expect(statSync(join(ROOT, 'bin/countersign.js')).mode & 0o111).toBe(0o111);
    expect(textOf('bin/countersign.js')).toMatch(/^#!\/usr\/bin\/env node\n/);
    const link = join(temporaryFolder(), 'countersign');
    symlinkSync(join(ROOT, 'bin/countersign.js'), link);
    const { status, stdout } = spawnSync(process.execPath, [link, '--version'], { encoding: 'utf8' });
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringContaining(`countersign ${packageJson.version} (`),
    });
  });

  it('works with what is copied and what stays of the packages of production, and nothing else', () => {
    const app = temporaryFolder();
    for (const path of copied) cpSync(join(ROOT, path), join(app, path), { recursive: true });
    for (const path of Object.keys(packages).filter((each) => isDirect(each) && packages[each]?.dev !== true))
      // Those of other platforms are not installed.
      if (existsSync(join(ROOT, path))) linkFiles(join(ROOT, path), join(app, path));
    const run = (...args: string[]): string => {
      const env = { NODE_ENV: 'production' };
      const { status, stdout, stderr } = spawnSync(process.execPath, args, {
        cwd: app,
        encoding: 'utf8',
        env,
      });
      expect({ args, status, stderr }).toEqual({ args, status: 0, stderr: '' });
      return stdout;
    };
    const prune = of('RUN').find((rest) => rest.startsWith('node prune.ts')) ?? '';
    const left = run('tools/image/prune.ts', ...prune.split(' ').slice(2));
    expect(Number(/: (\d+) MB of/.exec(left)?.[1])).toBeLessThan(25);
    run('bin/countersign.js', 'policy', 'test');
    run('bin/countersign.js', 'policy', 'validate');
    const files = ['src', 'packages'].flatMap((each) =>
      readdirSync(join(app, each), { recursive: true, encoding: 'utf8' })
        .map((file) => `./${each}/${file}`)
        .filter((file) => /^(?!.*\/test\/).*\.ts$/.test(file) && !RUN_WHEN_IMPORTED.has(file)),
    );
    expect(files.length).toBeGreaterThan(250);
    writeFileSync(
      join(app, 'all.mjs'),
      `for (const file of ${JSON.stringify(files)}) await import(file);\nprocess.exit();`,
    );
    run('all.mjs');
  });

  it('serves the demo without settings, on every address, which outside of it listens on this machine alone', async () => {
    const file = join(ROOT, 'config/countersign.yaml');
    const { public: outside, ops } = loadSettings({ file, env: {} });
    expect([outside.host, ops.host]).toEqual(['127.0.0.1', '127.0.0.1']);

    const app = temporaryFolder();
    for (const path of copied) cpSync(join(ROOT, path), join(app, path), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(app, 'node_modules'));
    const edit = of('RUN').filter((rest) => rest.startsWith('sed '));
    expect(spawnSync('sh', ['-c', edit.join(' && ')], { cwd: app })).toMatchObject({ status: 0 });
    const [, ...args] = [...of('ENTRYPOINT'), ...of('CMD')].flatMap((rest) =>
      z.array(z.string()).parse(JSON.parse(rest)),
    );
    const env = { COUNTERSIGN_PUBLIC_PORT: '0', COUNTERSIGN_OPS_PORT: '0' };
    const service = await startServing([process.execPath, ...args], { cwd: app, env });
    onTestFinished(() => service.kill());
    expect(service.url).toMatch(/^http:\/\/0\.0\.0\.0:/);
    expect(service.ops).toMatch(/^http:\/\/0\.0\.0\.0:/);

    const send = [
      'bin/countersign.js',
      'send',
      'payment',
      '--to',
      service.url.replace('0.0.0.0', '127.0.0.1'),
    ];
    const sent = spawnSync(process.execPath, send, { cwd: app, env, encoding: 'utf8' });
    expect({ ...sent }).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^SUCCESS\nSUCCESS {2}APPROVED {2}shop\/1 /),
    });
    expect(of('VOLUME').map((path) => join(app, path.replace('/app', '')))).toEqual([join(app, 'data')]);
    expect(existsSync(join(app, 'data/countersign.db'))).toBe(true);
  });

  it('keeps of viem what the service imports of it', () => {
    const imported = ['src', 'packages']
      .flatMap((each) =>
        readdirSync(join(ROOT, each), { recursive: true, encoding: 'utf8' }).map((file) => join(each, file)),
      )
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => [...textOf(file).matchAll(/from '([^.'][^']*)'/g)])
      .flatMap(([, name = '']) =>
        OF_VIEM.some((each) => name.startsWith(`${each}/`) || name === each) ? [name] : [],
      );
    expect([...new Set(imported)].sort()).toEqual(ENTRIES.toSorted());
    const dependents = Object.entries(packages).filter(
      ([path, { dev }]) =>
        dev !== true && isDirect(path) && !OF_VIEM.some((each) => path.slice(13).startsWith(each)),
    );
    for (const [path, { dependencies = {} }] of dependents)
      expect([path, Object.keys(dependencies).filter((name) => OF_VIEM.includes(name))]).toEqual([path, []]);
  });

  it('has no package that wants to run a script when it is installed', () => {
    const withScripts = Object.entries(packages).filter(
      ([, each]) => each.hasInstallScript === true && each.dev !== true,
    );
    expect(withScripts).toEqual([]);
  });

  it('is healthy by its own health check while it serves, and not once it does not', async () => {
    const check: unknown = JSON.parse(/CMD (\[.*\])$/.exec(of('HEALTHCHECK')[0] ?? '')?.[1] ?? '');
    const [program, ...args] = z.array(z.string()).parse(check);
    expect(program).toBe('node');
    // The port is in the file of settings, and nowhere else.
    const service = await onNextPort((port) => startTestService({ settings: { ops: { port: `${port}` } } }));
    const look = async (): Promise<number | null> => {
      const child = spawn(process.execPath, args, {
        cwd: ROOT,
        env: { COUNTERSIGN_CONFIG: join(service.folder, 'settings.yaml') },
        stdio: 'ignore',
      });
      return new Promise((resolve) => child.once('exit', resolve));
    };
    // It waits two seconds for an answer, which a busy machine may need.
    await eventually('it is healthy', async () => (await look()) === 0 || undefined);
    await service.stop({ keep: true });
    expect(await look()).toBe(1);
    rmSync(service.folder, { recursive: true, force: true });
  });
});

const composeService = z.looseObject({
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  cap_drop: z.array(z.string()),
  read_only: z.boolean(),
  stop_grace_period: z.string().optional(),
  networks: z.array(z.string()).default([]),
  entrypoint: z.array(z.string()).optional(),
  command: z.array(z.string()).optional(),
});
const compose = z
  .object({
    services: z.record(z.string(), composeService),
    volumes: z.record(z.string(), z.unknown()),
    networks: z.record(z.string(), z.unknown()),
  })
  .parse(parse(textOf('compose.yaml'), { merge: true }));
const REPLICAS = ['countersign-a', 'countersign-b'];

describe('compose.yaml', () => {
  const serviceOf = (name: string): z.output<typeof composeService> => {
    const found = compose.services[name];
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  };

  it('has two replicas, one Redis, the operator, and who makes the secrets', () => {
    expect(Object.keys(compose.services).sort()).toEqual(
      [...REPLICAS, 'operator', 'redis', 'secrets'].sort(),
    );
  });

  it('mounts only files and volumes that there are', () => {
    for (const { volumes } of Object.values(compose.services)) {
      for (const volume of volumes) {
        const [from = ''] = volume.split(':');
        const there = from.startsWith('.')
          ? existsSync(join(ROOT, from))
          : Object.hasOwn(compose.volumes, from);
        expect({ from, there }).toEqual({ from, there: true });
      }
    }
  });

  it('gives nobody rights or a writable root file system, and publishes ports to this machine alone, each once', () => {
    for (const each of Object.values(compose.services)) {
      expect(each.cap_drop).toEqual(['ALL']);
      expect(each.read_only).toBe(true);
    }
    const ports = Object.values(compose.services).flatMap((each) => each.ports);
    expect(ports.length).toBe(4);
    expect(new Set(ports).size).toBe(4);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    expect(serviceOf('redis').ports).toEqual([]);
    expect(serviceOf('redis').networks).toEqual(['store']);
    expect(compose.networks['store']).toEqual({ internal: true });
  });

  it.each([...REPLICAS, 'operator'])('starts %s with settings that load', (name) => {
    const { environment, volumes } = serviceOf(name);
    const inside = environment['COUNTERSIGN_CONFIG'];
    const mounted = volumes.find((volume) => volume.split(':')[1] === inside);
    const { COUNTERSIGN_CONFIG: _file, ...env } = environment;
    const settings = loadSettings({ file: join(ROOT, mounted?.split(':')[0] ?? ''), env });
    expect(settings.store).toMatchObject({
      url: 'redis://redis:6379/0',
      username: name === 'operator' ? 'countersign-operator' : 'countersign',
    });
    expect(settings.public.host).toBe('0.0.0.0');
    const { password } = settings.store;
    const secrets = volumes.find((volume) => volume.includes('-secrets:'))?.split(':')[1];
    expect(password).toEqual({ file: `${secrets}/redis.password` });
  });

  it.each(REPLICAS)('gives %s time to stop', (name) => {
    const file = join(ROOT, 'deploy/compose/countersign.yaml');
    const { shutdownDelayMs, shutdownGraceMs } = loadSettings({ file, env: {} }).public;
    const graceMs = parseInt(serviceOf(name).stop_grace_period ?? '', 10) * 1000;
    // The grace is given to callers, and then once more to what is still with the store.
    expect(graceMs).toBeGreaterThan(shutdownDelayMs + 2 * shutdownGraceMs);
  });

  it('makes secrets with which Redis, the service and the operator come together', async () => {
    const secrets = temporaryFolder();
    const script = join(ROOT, 'deploy/compose/make-secrets.ts');
    const make = (): void => {
      const args = [script, join(ROOT, 'deploy/redis/users.acl'), secrets];
      const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    };
    make();
    const password = readFileSync(join(secrets, 'service/redis.password'), 'utf8');
    const operator = readFileSync(join(secrets, 'operator/redis.password'), 'utf8');
    make();
    expect(readFileSync(join(secrets, 'service/redis.password'), 'utf8')).toBe(password);
    expect(password).toMatch(/^[0-9a-f]{64}$/);
    expect(operator).not.toBe(password);
    const administrator = readFileSync(join(secrets, 'redis/administrator.password'), 'utf8');
    expect(new Set([administrator, operator, password]).size).toBe(3);
    for (const name of [
      'service/redis.password',
      'operator/redis.password',
      'redis/administrator.password',
      'redis/backup.password',
      'redis/users.acl',
    ]) {
      expect((statSync(join(secrets, name)).mode & 0o777).toString(8)).toBe('400');
    }
    const users = readFileSync(join(secrets, 'redis/users.acl'), 'utf8');
    expect(users).toContain(createHash('sha256').update(password).digest('hex'));
    expect(users).not.toContain(password);
    expect(users).not.toContain('PASSWORD');

    const redis = await startRedisServer({ args: ['--aclfile', join(secrets, 'redis/users.acl')] });
    onTestFinished(() => redis.stop());
    expect(await clientOf(redis.port, 'countersign', password).ping()).toBe('PONG');
    expect(await clientOf(redis.port, 'countersign-operator', operator).ping()).toBe('PONG');
    expect(await clientOf(redis.port, 'countersign-administrator', administrator).dbsize()).toBe(0);
  });
});

describe('docs/deploy.md', () => {
  it('makes passwords and users with which Redis, the service and the operator come together', async () => {
    const made = temporaryFolder();
    const script = 'npx node deploy/compose/make-secrets.ts';
    const lines = fencedLines(textOf('docs/deploy.md')).filter((line) => line.startsWith(`${script} `));
    const [template = '', secrets = ''] = (lines[0] ?? '').slice(script.length + 1).split(' ');
    const args = ['deploy/compose/make-secrets.ts', template, join(made, secrets)];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
    expect({ lines: lines.length, status, stderr }).toEqual({ lines: 1, status: 0, stderr: '' });
    const redis = await startRedisServer({ args: ['--aclfile', join(made, secrets, 'redis/users.acl')] });
    onTestFinished(() => redis.stop());
    for (const [user, file] of [
      ['countersign', 'service/redis.password'],
      ['countersign-operator', 'operator/redis.password'],
    ] as const) {
      const client = clientOf(redis.port, user, readFileSync(join(made, secrets, file), 'utf8'));
      expect(await client.hget('countersign:{shop}:control', 'revision')).toBeNull();
    }
  });

  it('makes every secret that the manifests refer to, with each of its keys', () => {
    const lines = fencedLines(textOf('docs/deploy.md')).filter((line) =>
      line.includes('create secret generic'),
    );
    const made = lines.map((line) => {
      const [, name = ''] = /generic (\S+)/.exec(line) ?? [];
      const keys = [...line.matchAll(/--from-file=([^\s=]+)/g)].map(([, key = '']) => key);
      return [name, keys.toSorted((a, b) => (a < b ? -1 : 1))] as const;
    });
    const wanted = manifestsIn('deploy/kubernetes/secrets.template.yaml').map(
      ({ name, object }) =>
        [name, Object.keys(Object(object['stringData'])).toSorted((a, b) => (a < b ? -1 : 1))] as const,
    );
    expect(new Map(made)).toEqual(new Map(wanted));
  });
});

describe('deploy/redis', () => {
  it('gives its users exactly the rights of docs/redis.md', async () => {
    const written = temporaryFolder();
    const file = join(written, 'users.acl');
    const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
    const filled = textOf('deploy/redis/users.acl')
      .replace('SERVICE-PASSWORD-SHA256', digest('password-of-the-service'))
      .replace('OPERATOR-PASSWORD-SHA256', digest('password-of-the-operator'))
      .replace('ADMINISTRATOR-PASSWORD-SHA256', digest('password-of-the-administrator'))
      .replace('BACKUP-PASSWORD-SHA256', digest('password-of-the-backup'));
    // The tests need an administrator.
    writeFileSync(file, `${filled}user admin on >admin ~* &* +@all\n`);
    const [fromFile, fromLines] = [
      await startRedisServer({ args: ['--aclfile', file] }),
      await startRedisServer(),
    ];
    onTestFinished(() => Promise.all([fromFile.stop(), fromLines.stop()]).then(() => undefined));
    const admin = clientOf(fromFile.port, 'admin', 'admin');
    const other = clientOf(fromLines.port);
    const documented = documentedUsers();
    const { service, operator, administrator, backup, probe } = documented;
    await grant(adminOf(other), [...service, ...operator, ...administrator, ...backup, ...probe]);
    await grant(adminOf(other), ['ACL SETUSER admin on >admin ~* &* +@all', ...documented.default]);
    const own = ['', '-operator', '-administrator', '-backup', '-probe'].map((name) => `countersign${name}`);
    const users = ['default', ...own];
    const rightsOf = async (client: typeof admin, user: string): Promise<readonly string[]> =>
      JSON.stringify(await client.call('ACL', ['GETUSER', user]))
        .split(/[ "]/)
        .sort();
    for (const user of users) {
      expect(await rightsOf(admin, user)).toEqual(await rightsOf(other, user));
    }
    const names = z.array(z.string()).parse(await admin.call('ACL', ['USERS']));
    expect(new Set(names)).toEqual(new Set([...users, 'admin']));
  });

  it('has a redis.conf with which Redis starts, forgets nothing and evicts nothing', async () => {
    const lines = textOf('deploy/redis/redis.conf')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    // Where it listens and where its files are, is the test's to say.
    const ofTheTest = /^(?:bind|port|dir|aclfile) /;
    expect(lines.filter((line) => ofTheTest.test(line)).length).toBe(4);
    const redis = await startRedisProcess({
      folder: temporaryFolder(),
      config: () => lines.filter((line) => !ofTheTest.test(line)),
    });
    onTestFinished(() => redis.kill());
    const setting = async (name: string): Promise<unknown> =>
      z.tuple([z.literal(name), z.string()]).parse(await redis.ask('CONFIG', 'GET', name))[1];
    expect(await setting('appendonly')).toBe('yes');
    expect(await setting('appendfsync')).toBe('always');
    expect(await setting('maxmemory-policy')).toBe('noeviction');
    expect(Number(await setting('maxmemory'))).toBeGreaterThan(0);
  });

  it('has a sentinel.conf that names what docs/redis.md names', () => {
    const conf = textOf('deploy/redis/sentinel.conf');
    expect(conf).toMatch(/^sentinel monitor main \S+ 6379 2$/m);
    expect(conf).toMatch(/^sentinel auth-user main sentinel$/m);
    expect(textOf('docs/redis.md')).toContain('redis-sentinel://s1:26379,s2:26379/main/0');
  });
});
