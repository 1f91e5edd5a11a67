import type { CommandRow } from './command.ts';

const TIMEOUT_MS = 2000;

/** The health check of the image runs this command, so it reads nothing but the settings. */
export const health: CommandRow = {
  path: 'health',
  summary: 'Check that the service on this machine answers (/healthz).',
  example: 'health',
  async run(session) {
    const { host, port } = session.settings().ops;
    const url = `${reachableUrl('http', host, port)}/healthz`;
    const because = await unhealthy(url);
    const text =
      because === undefined
        ? `${url} answers.`
        : `${url} ${because}. Start the service, or check that it runs with these settings.`;
    session.print(text, { url, ok: because === undefined, because: because ?? null });
    return because === undefined ? 0 : 1;
  },
};

async function unhealthy(url: string): Promise<string | undefined> {
  try {
    const { ok, status } = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) });
    return ok ? undefined : `answers with HTTP status ${status}`;
  } catch (thrown) {
    if (thrown instanceof Error && thrown.name === 'TimeoutError')
      return `does not answer within ${TIMEOUT_MS} ms`;
    const cause = thrown instanceof Error ? thrown.cause : undefined;
    return `does not answer: ${cause instanceof Error ? cause.message : String(thrown)}`;
  }
}

/**
 * The URL by which this machine reaches a port of the service. For a port on every address, it has the
 * loopback address.
 */
export function reachableUrl(scheme: 'http' | 'https', host: string, port: number): string {
  const reachable =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `${scheme}://${reachable}:${port}`;
}
