import { once } from 'node:events';
import { createServer } from 'node:net';
import { z } from 'zod';
import type { Settings } from '../../settings/schema.ts';
import { askOps, opsUrl } from '../ops-port.ts';
import type { Finding } from './finding.ts';

/** Checks whether the ports are free, or whether a running service is ready. */
export async function checkPorts({ public: publicPort, ops }: Settings): Promise<readonly Finding[]> {
  const running = await readinessAt(ops);
  if (running === undefined) {
    const findings: Finding[] = [];
    for (const [name, at] of [
      ['public', publicPort],
      ['ops', ops],
    ] as const)
      findings.push(await checkFree(name, at));
    return findings;
  }
  const wrong = running.checks.filter((check) => !check.ok);
  const because = `a Countersign service is running at ${opsUrl(ops)}`;
  if (running.ready) return [{ check: 'ports', state: 'ok', because: `${because}, and ready` }];
  const why = wrong.map((check) => `${check.name}: ${check.because}`).join('; ');
  return [{ check: 'ports', state: 'fault', because: `${because}, and not ready: ${why}` }];
}

const readiness = z.object({
  ready: z.boolean(),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), because: z.string() })),
});

interface Address {
  readonly host: string;
  readonly port: number;
}

/** The readiness of a service at the ops port; undefined if no Countersign answers. */
async function readinessAt(ops: Settings['ops']): Promise<z.output<typeof readiness> | undefined> {
  if (ops.port === 0) return undefined;
  try {
    const { body } = await askOps(ops, '/readyz');
    return readiness.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

async function checkFree(name: string, { host, port }: Address): Promise<Finding> {
  const server = createServer();
  const cannot = await new Promise<string | undefined>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => resolve(undefined));
  });
  if (cannot === undefined) {
    server.close();
    await once(server, 'close');
    return { check: 'ports', state: 'ok', because: `${name} ${host}:${port} is free` };
  }
  const fix =
    cannot === 'EADDRINUSE'
      ? `is in use by another program; stop it, or set another ${name}.port`
      : `can't be opened (${cannot}); set a ${name}.host of this machine and a ${name}.port ` +
        'that this user may open';
  return { check: 'ports', state: 'fault', because: `${name} ${host}:${port} ${fix}` };
}
