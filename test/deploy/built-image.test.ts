import { spawnSync } from 'node:child_process';
import { chownSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { COMMIT } from '../../src/values/commit.ts';
import { eventually } from '../eventually.ts';
import { onNextPort } from '../ports.ts';
import { PAYMENT_PATH, signedPayment, writeServiceFolder } from '../service.ts';
import { PROGRAM } from '../service-process.ts';
import { ROOT, textOf } from './documents.ts';

/*
 * The image, really built and run. It needs root on Debian with four programs of Debian's own, and no
 * registry of images.
 */

const NEEDED = ['buildah', 'mmdebstrap', 'podman', 'runc'];
const notHere = reasonNotToTry();

const MINUTES_MS = 600_000;
const IMAGE = `countersign-test:${process.pid}`;
const CONTAINER = `countersign-test-${process.pid}`;
const OPS_PORT = 9191;
const GRACE_MS = 5000;
/** What is added to the base: the service, its packages, and what Node compiled of them. */
const OURS_MB = 40;

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function podman(...args: readonly string[]): Ended {
  const all = ['--runtime', 'runc', ...args];
  const { status, stdout, stderr } = spawnSync('podman', all, { encoding: 'utf8' });
  return { status, stdout: stdout.trim(), stderr };
}

function done(ended: Ended): string {
  expect(ended).toMatchObject({ status: 0 });
  return ended.stdout;
}

const inside = (...command: readonly string[]): Ended => podman('exec', CONTAINER, ...command);
const megabytesOf = (image: string): number =>
  Number(done(podman('image', 'inspect', '--format', '{{.Size}}', image))) / 1e6;

/** Resolves with the URL by which this machine reaches the public port. */
function startContainer(name: string, settings: readonly string[]): Promise<string> {
  return onNextPort((port) => {
    const hardening = ['--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges'];
    // No timer of systemd is needed: the check is run here.
    const health = ['--health-interval=disable'];
    const limits = ['--ulimit=nofile=1024:1024', '--ulimit=nproc=1024:1024'];
    const how = ['run', '--detach', '--name', name, '--publish', `127.0.0.1:${port}:8080`];
    const { status, stderr } = podman(...how, ...hardening, ...health, ...limits, ...settings, IMAGE);
    if (status === 0) return Promise.resolve(`http://127.0.0.1:${port}`);
    podman('rm', '--force', '--volumes', name);
    return Promise.reject(new Error(stderr));
  });
}

/** Empty where it can be tried. */
function reasonNotToTry(): string {
  if (process.getuid?.() !== 0) return ' (not tried: it takes root)';
  const missing = NEEDED.filter((name) => spawnSync(name, ['--version']).error !== undefined);
  if (missing.length === 0) return '';
  const command = `apt-get install --yes ${NEEDED.join(' ')} netavark iptables`;
  return ` (not tried: ${missing.join(', ')} not on the PATH; run ${command})`;
}

describe.skipIf(notHere !== '')(`the image that the Dockerfile makes${notHere}`, () => {
  let folder: string;
  let url: string;

  beforeAll(async () => {
    const built = spawnSync('npm', ['run', '--silent', 'image', '--', IMAGE], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    if (built.status !== 0) throw new Error(`the image was not built:\n${built.stderr}`);
    folder = writeServiceFolder({
      settings: {
        public: { host: '0.0.0.0', port: '8080', shutdownGraceMs: `${GRACE_MS}` },
        ops: { port: `${OPS_PORT}` },
        store: 'embedded:/app/data/store.db',
      },
    });
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    for (const file of ['', ...files]) chownSync(join(folder, file), 1000, 1000);
    const settings = [
      '--volume',
      `${folder}:${folder}:ro`,
      '--env',
      `COUNTERSIGN_CONFIG=${folder}/settings.yaml`,
    ];
    url = await startContainer(CONTAINER, settings);
  }, MINUTES_MS);

  afterAll(() => {
    podman('rm', '--force', '--volumes', CONTAINER);
    podman('rmi', '--force', IMAGE);
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  async function answerTo(body: string): Promise<string | undefined> {
    const headers = { 'content-type': 'application/json' };
    return fetch(`${url}${PAYMENT_PATH}`, { method: 'POST', headers, body }).then(
      (response) => response.text(),
      () => undefined,
    );
  }

  it('answers a callback through a published port', async () => {
    const payment = { appOrderId: 'published', orderAmount: '1' };
    await eventually('it answers', () => answerTo(signedPayment(payment))).catch((thrown: unknown) => {
      throw new Error(`${String(thrown)}\n${podman('logs', CONTAINER).stdout}`);
    });
    await eventually('it is ready', async () =>
      (await answerTo(signedPayment(payment))) === 'SUCCESS' ? true : undefined,
    );
    expect(await answerTo(signedPayment({ ...payment, orderAmount: '2' }))).toBe('FAILURE');
    expect(await answerTo(signedPayment({ appOrderId: 'forged' }, { secret: 'of somebody else' }))).toBe(
      'FAILURE',
    );
  });

  it('runs as nobody with rights, on a root file system that nobody can write to', () => {
    expect(done(inside('id', '--user'))).toBe('1000');
    const status = done(inside('cat', '/proc/1/status'));
    expect(status).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    for (const path of ['/etc/x', '/app/x', '/app/src/x', '/app/node_modules/.compiled/x']) {
      const { status: refused, stderr } = inside('touch', path);
      expect({ path, refused, stderr }).toMatchObject({
        refused: 1,
        stderr: expect.stringMatching(/Read-only|denied/),
      });
    }
    done(inside('touch', '/app/data/x'));
  });

  it('passes its health check at the port that the file of settings names, and at no other', () => {
    done(podman('healthcheck', 'run', CONTAINER));
    const elsewhere = podman(
      'exec',
      '--env',
      'COUNTERSIGN_OPS_PORT=9192',
      CONTAINER,
      'countersign',
      'health',
    );
    expect(elsewhere).toMatchObject({ status: 1, stdout: expect.stringContaining('does not answer') });
  });

  it('has a command line that works, with what is left of its packages', () => {
    expect(JSON.parse(done(inside('countersign', '--version', '--json')))).toEqual({
      version: packageJson.version,
      commit: COMMIT,
    });
    done(inside('countersign', 'doctor'));
    done(inside('countersign', 'policy', 'validate'));
    const [answer] = done(inside('countersign', 'send', 'payment', '--amount', '3')).split('\n');
    expect(answer).toBe('SUCCESS');
    expect(done(inside('countersign', 'decisions', 'search', '--order', 'published'))).toContain('APPROVED');
    // The policies of the image itself: transfers, and web3 transactions whose call data is decoded.
    const env = ['--env', 'COUNTERSIGN_CONFIG=/app/config/countersign.yaml'];
    const tested = done(podman('exec', ...env, CONTAINER, 'countersign', 'policy', 'test'));
    expect(tested).toContain('tests passed');
  });

  it('serves the demo without settings, and names the command that sends a first callback', async () => {
    const name = `${CONTAINER}-demo`;
    onTestFinished(() => void podman('rm', '--force', '--volumes', name));
    const to = await startContainer(name, []);
    const [, command = ''] = await eventually(
      'it serves',
      () => /second shell: {2}podman (.+)$/m.exec(podman('logs', name).stderr) ?? undefined,
    );
    expect(command).toMatch(/^exec [0-9a-f]{12} countersign send payment$/);
    expect(done(podman(...command.split(' ')))).toMatch(/^SUCCESS\nSUCCESS {2}APPROVED {2}shop\/1 /);
    // From outside, with the keys of the clone, which are those of the image.
    const send = [PROGRAM, 'send', 'payment', '--order', 'published', '--to', to];
    const env = { COUNTERSIGN_STORE_URL: `embedded:${folder}/none.db` };
    const { stdout } = spawnSync(process.execPath, send, { cwd: ROOT, env, encoding: 'utf8' });
    expect(stdout).toMatch(/^SUCCESS\n/);
    const entries = done(podman('exec', name, 'countersign', 'decisions', 'search', '--order', 'published'));
    expect(entries).toContain('APPROVED');
  });

  it('is small', () => {
    const [, base = ''] = /^FROM (\S+)/m.exec(textOf('Dockerfile')) ?? [];
    expect(megabytesOf(IMAGE) - megabytesOf(base)).toBeLessThan(OURS_MB);
  });

  it('stops on SIGTERM within its bound, by itself', () => {
    const bound = Math.ceil((2 * GRACE_MS) / 1000);
    done(podman('stop', '--time', `${bound}`, CONTAINER));
    // 137 would be SIGKILL.
    expect(done(podman('inspect', '--format', '{{.State.ExitCode}}', CONTAINER))).toBe('0');
    expect(podman('logs', CONTAINER).stdout).toContain('"event":"stopped"');
  });
});
