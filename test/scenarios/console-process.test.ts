import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import { type ServiceProcess, startServiceProcess } from '../service-process.ts';
import { writeServiceFolder } from '../service.ts';

const PERSON = { 'x-person': 'ada' };
const LOWEST_PRIORITY = 19;

async function started(): Promise<ServiceProcess> {
  const people = [{ name: 'ada', roles: ['read'] }];
  const folder = writeServiceFolder({
    settings: { console: { proxy: { header: 'x-person', addresses: ['127.0.0.1'], people } } },
  });
  const service = await startServiceProcess(folder);
  onTestFinished(async () => {
    await service.kill();
    rmSync(folder, { recursive: true });
  });
  return service;
}

const statusOfPage = async ({ ops }: ServiceProcess): Promise<number> =>
  (await fetch(`${ops}/console/decisions`, { headers: PERSON })).status;

/** The processes that read for the console of this service. */
const readersOf = ({ pid: service }: Pick<ServiceProcess, 'pid'>): readonly number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => isReader(pid) && parentOf(pid) === service);

function isReader(pid: number): boolean {
  try {
    // Empty once it has ended.
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('console-reading-entry');
  } catch {
    return false;
  }
}

const parentOf = (pid: number): number =>
  Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

const ends = (reader: number): Promise<true> =>
  eventually('it has ended', () => (isReader(reader) ? undefined : true));

it.runIf(process.platform === 'linux')(
  'the process that reads for the console starts with the first page, with the lowest priority, and ends with the service',
  async () => {
    const service = await started();
    expect(readersOf(service)).toEqual([]);
    expect(await statusOfPage(service)).toBe(200);
    const [reader = -1, ...others] = readersOf(service);
    expect(others).toEqual([]);
    expect(getPriority(reader)).toBe(LOWEST_PRIORITY);
    await service.kill();
    await ends(reader);
  },
);

it.runIf(process.platform === 'linux')(
  'a signal to all processes of a service does not end the one that reads, and once it has ended, another one starts',
  async () => {
    const service = await started();
    expect(await statusOfPage(service)).toBe(200);
    const [reader = -1] = readersOf(service);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.kill(reader, signal);
    expect(await statusOfPage(service)).toBe(200);
    expect(readersOf(service)).toEqual([reader]);
    process.kill(reader, 'SIGKILL');
    await ends(reader);
    await eventually('pages are answered again', async () =>
      (await statusOfPage(service)) === 200 ? true : undefined,
    );
    expect(readersOf(service)).toHaveLength(1);
    service.terminate();
    expect(await service.ended).toBe(0);
  },
);
