import { messageOf } from '../errors.ts';
import type { Settings } from '../settings/schema.ts';
import type { CommandRow } from './command.ts';
import { askOps, opsUrl } from './ops-port.ts';

/** The health check of the image runs this command, so it reads nothing but the settings. */
export const health: CommandRow = {
  path: 'health',
  summary: 'Check that the service on this machine answers (/healthz).',
  example: 'health',
  async run(session) {
    const { ops } = session.settings();
    const url = `${opsUrl(ops)}/healthz`;
    const because = await unhealthy(ops);
    const text =
      because === undefined
        ? `${url} answers.`
        : `${url} ${because}. Start the service, or check that it runs with these settings.`;
    session.print(text, { url, ok: because === undefined, because: because ?? null });
    return because === undefined ? 0 : 1;
  },
};

async function unhealthy(ops: Settings['ops']): Promise<string | undefined> {
  try {
    const { status } = await askOps(ops, '/healthz');
    return status >= 200 && status < 300 ? undefined : `answers with HTTP status ${status}`;
  } catch (thrown) {
    return messageOf(thrown);
  }
}
