import { startService } from '../compose/service.ts';
import { gathered } from '../observe/gathered.ts';
import { createLog } from '../observe/log.ts';
import type { CommandRow } from './command.ts';

export const serve: CommandRow = {
  path: 'serve',
  summary: 'Serve callbacks, until told to stop.',
  example: 'serve\nserve --config /etc/countersign/countersign.yaml',
  async run(session) {
    const settings = session.settings();
    const log = createLog({ level: settings.log.level, stream: gathered(process.stdout) });
    const stopped = session.stopped();
    const { env, clock } = session;
    const service = await startService({ settings, env, clock, log });
    log.info('serving', {
      because: `callbacks at ${service.publicUrl}, ops at ${service.opsUrl}`,
      version: session.version,
    });
    session.tell(
      `Callbacks are answered at ${service.publicUrl}, /readyz and /metrics at ${service.opsUrl}.\n` +
        'Send a first one from a second shell:  npx countersign send payment',
    );
    log.info('stopping', { signal: await stopped });
    await service.stop();
    log.info('stopped');
    return 0;
  },
};
