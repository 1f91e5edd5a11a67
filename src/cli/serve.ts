import { finished } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { startService } from '../start/service.ts';
import { type Log, batchWrites, createLog } from '../observe/log.ts';
import { isWithService, originOf } from '../settings/console.ts';
import type { Settings } from '../settings/schema.ts';
import type { CommandRow } from './command.ts';
import type { Session } from './session.ts';

const LAST_LINES_MS = 1000;

export const serve: CommandRow = {
  path: 'serve',
  summary: 'Serve callbacks until the process is stopped.',
  example: 'serve\nserve --config /etc/countersign/countersign.yaml',
  async run(session) {
    const settings = session.settings();
    const lines = batchWrites(process.stdout);
    try {
      await serveUntilStopped(session, settings, createLog({ level: settings.log.level, stream: lines }));
    } finally {
      // The last lines are written, unless nobody reads them.
      await Promise.race([finished(lines.end()).catch(() => undefined), pause(LAST_LINES_MS)]);
    }
    return 0;
  },
};

async function serveUntilStopped(session: Session, settings: Settings, log: Log): Promise<void> {
  const stopped = session.stopped();
  const { env, clock, settingsFile } = session;
  const service = await startService({ settings, settingsFile, env, clock, log });
  log.info('serving', {
    because: `callbacks at ${service.publicUrl}, ops at ${service.opsUrl}`,
    version: session.version,
  });
  session.report(
    `Callbacks are answered at ${service.publicUrl}, /readyz and /metrics at ${service.opsUrl}.\n` +
      `Send a first one from a second shell:  npx countersign send payment${consoleHint(settings)}`,
  );
  log.info('stopping', { signal: await stopped });
  await service.stop();
  log.info('stopped');
}

function consoleHint({ console }: Settings): string {
  if (console?.passkeys === undefined || !isWithService(console)) return '';
  return (
    `\nThe console is at ${originOf(console.passkeys)}/console/. ` +
    'Invite yourself:  npx countersign console invite NAME --role operate'
  );
}
