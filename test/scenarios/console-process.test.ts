import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import { type ServiceProcess, startServiceProcess } from '../service-process.ts';
import { writeServiceFolder } from '../service.ts';

const PERSON = { 'x-person': 'ada' };
const LOWEST_PRIORITY = 19;
/** Scheduling policies of Linux. */
const [SCHED_OTHER, SCHED_IDLE] = [0, 5];
const hasChrt = spawnSync('chrt').error === undefined;

async function started(through: readonly string[] = []): Promise<ServiceProcess> {
  const people = [{ name: 'ada', roles: ['read'] }];
  const folder = writeServiceFolder({
    settings: { console: { proxy: { header: 'x-person', addresses: ['127.0.0.1'], people } } },
  });
  const service = await startServiceProcess(folder, through);
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

/** See proc_pid_stat(5): the name of the program, which may have spaces, is in parentheses. */
const policyOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[38]);

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

it.runIf(process.platform === 'linux' && hasChrt)(
  'the process that reads for the console runs only while nothing else wants its processor',
  async () => {
    const service = await started();
    expect(await statusOfPage(service)).toBe(200);
    const [reader = -1] = readersOf(service);
    await eventually('it is idle', () => (policyOf(reader) === SCHED_IDLE ? true : undefined));
    expect(policyOf(service.pid)).toBe(SCHED_OTHER);
  },
);

it.runIf(process.platform === 'linux')(
  'where nothing can make a process idle, the one that reads for the console has the lowest priority',
  async () => {
    const service = await started(['env', 'PATH=/nowhere']);
    expect(await statusOfPage(service)).toBe(200);
    const [reader = -1] = readersOf(service);
    expect(policyOf(reader)).toBe(SCHED_OTHER);
    expect(getPriority(reader)).toBe(LOWEST_PRIORITY);
    expect(await statusOfPage(service)).toBe(200);
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
