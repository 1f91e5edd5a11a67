import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { messageOf } from '../errors.ts';
import type { Settings } from '../settings/schema.ts';
import { readPem } from '../settings/secrets.ts';
import type { CommandRow } from './command.ts';

/** The health check of the image runs this command, so it reads nothing but the settings. */
export const health: CommandRow = {
  path: 'health',
  summary: 'Check that the service on this machine answers (/healthz).',
  example: 'health',
  async run(session) {
    const { ops } = session.settings();
    const url = `${opsUrl(ops)}/healthz`;
    const because = await unhealthy(ops);
    const sentence =
      because === undefined
        ? `${url} answers.`
        : `${url} ${because}. Start the service, or check that it runs with these settings.`;
    session.print(sentence, { url, ok: because === undefined, because: because ?? null });
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

const TIMEOUT_MS = 2000;

export interface OpsAnswer {
  readonly status: number;
  readonly body: string;
}

/** The URL by which this machine reaches the ops port of the service. */
export const opsUrl = ({ host, port, tls }: Settings['ops']): string =>
  reachableUrl(tls === undefined ? 'http' : 'https', host, port);

/**
 * Asks the ops port of the service on this machine. With `ops.tls`, the service must show the very certificate of
 * the settings, for whatever name. Redirects are not followed. Rejects with an Error that says why there is no
 * answer within two seconds.
 */
export async function askOps(ops: Settings['ops'], path: string): Promise<OpsAnswer> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const url = `${opsUrl(ops)}${path}`;
  return new Promise((resolve, reject) => {
    const failed = (thrown: Error): void =>
      reject(signal.aborted ? new Error(`does not answer within ${TIMEOUT_MS} ms`) : failure(thrown));
    const request =
      ops.tls === undefined
        ? httpRequest(url, { signal, agent: false })
        : httpsRequest(url, { signal, agent: false, ...trusting(ops.tls.certificate) });
    request.on('error', failed).on('response', (response) => {
      const { statusCode: status = 0 } = response;
      text(response).then((body) => resolve({ status, body }), failed);
    });
    request.end();
  });
}

const failure = ({ message }: Error): Error => new Error(`does not answer: ${message}`);

const trusting = (certificate: string) => ({
  ca: readPem(certificate, 'ops.tls.certificate'),
  allowPartialTrustChain: true,
  checkServerIdentity: () => undefined,
});

/**
 * The URL by which this machine reaches a port of the service. For a port on every address, it has the
 * loopback address.
 */
export function reachableUrl(scheme: 'http' | 'https', host: string, port: number): string {
  const reachable =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `${scheme}://${reachable}:${port}`;
}
