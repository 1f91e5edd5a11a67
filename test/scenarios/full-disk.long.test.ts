import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mountSmallDisk } from '../../tools/chaos/disk.ts';
import { placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { PAYMENT_PATH, signedPayment } from '../service.ts';
import { folderOf, readinessAt, serviceProcess, untilReady } from './running.ts';

/** How a disk is filled up under a service, and room made again; undefined where it can't be. */
interface Disk {
  readonly fill: (pid: number) => void;
  readonly free: (pid: number) => void;
  /** A disk is full for everybody, a limit holds for the service alone, which doctor then quotes. */
  readonly doctorSays: RegExp;
  readonly leavesFree: number;
}

/** Whether a file system can be mounted here, which mostly only root may. */
function mounted(folder: string): Disk | undefined {
  mkdirSync(folder);
  const disk = mountSmallDisk(folder);
  if (disk === undefined) return undefined;
  onTestFinished(() => disk.unmount());
  return {
    fill: () => disk.fill(),
    free: () => disk.free(),
    doctorSays: /^fault +store +the store \S+ can't grow, because the disk is full/m,
    leavesFree: 65_536,
  };
}

/** By prlimit of util-linux: the process can let no file grow. */
function limited(folder: string): Disk | undefined {
  mkdirSync(folder);
  const limit = (pid: number, bytes: string): boolean =>
    spawnSync('prlimit', [`--pid=${pid}`, `--fsize=${bytes}:`]).status === 0;
  if (spawnSync('prlimit', ['--version']).status !== 0) return undefined;
  return {
    fill: (pid) => void limit(pid, '4096'),
    free: (pid) => void limit(pid, 'unlimited'),
    doctorSays: /^ok +store /m,
    leavesFree: Infinity,
  };
}

async function metric(ops: string, name: string): Promise<string | undefined> {
  const text = await (await fetch(`${ops}/metrics`)).text();
  return new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
}

async function pay(url: string, appOrderId: string): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const body = signedPayment({ appOrderId, orderAmount: '1' });
  return (await fetch(`${url}${PAYMENT_PATH}`, { method: 'POST', headers, body })).text();
}

describe('a full disk under the embedded store', () => {
  it.for([
    [
      'mounted for this',
      mounted,
      'no file system can be mounted here: only root may, and not in every container',
    ],
    ['by a limit of the process', limited, 'prlimit of util-linux is missing'],
  ] as const)(
    '(%s) is told by /readyz, log, metrics and doctor, and is over when there is room',
    async ([_how, diskIn, why], { skip }) => {
      const folder = folderOf({ settings: { store: 'embedded:disk/store.db' } });
      const disk = diskIn(join(folder, 'disk'));
      const { fill, free, doctorSays, leavesFree } = disk ?? skip(why);
      const service = await serviceProcess(folder);
      await untilReady(service.ops);
      expect(await pay(service.url, 'before')).toBe('SUCCESS');
      expect(await metric(service.ops, 'countersign_store_writable')).toBe('1');
      expect(Number(await metric(service.ops, 'countersign_store_free_bytes'))).toBeGreaterThan(1e6);

      fill(service.pid);
      // Nobody calls: the service finds out by itself, once its log has no room left.
      const said = /store: the store \S+ (?:can't grow, because the disk is full|failed)/;
      await eventually('the service is not ready, and says why', async () => {
        const { status, because } = await readinessAt(service.ops);
        return (status === 503 && said.test(because)) || undefined;
      });
      expect(await metric(service.ops, 'countersign_store_writable')).toBe('0');
      await eventually('the log says so', () =>
        service.log.find(({ event, level }) => event === 'store-not-writable' && level === 'error'),
      );
      expect(await pay(service.url, 'during')).toBe('FAILURE');
      expect((await placeIn(folder).run('doctor')).out).toMatch(doctorSays);
      expect(Number(await metric(service.ops, 'countersign_store_free_bytes'))).toBeLessThan(leavesFree);

      free(service.pid);
      await untilReady(service.ops);
      expect(await pay(service.url, 'during')).toBe('SUCCESS');
      expect(await metric(service.ops, 'countersign_store_writable')).toBe('1');
      expect(statSync(join(folder, 'disk', 'store.db')).isFile()).toBe(true);
    },
  );
});
