import { createHmac, randomBytes } from 'node:crypto';
import {
  type ClientRequest,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
} from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { messageOf } from '../errors.ts';
import type { PluginAnswer } from '../policy/facts.ts';
import type { Clock } from '../values/clock.ts';
import { decodeMembers } from '../values/members.ts';
import { printableSentence } from '../values/printable.ts';
import { type AcceptedSecret, equalInConstantTime } from '../values/secret.ts';
import type { ServiceConfig } from './config.ts';
import { PluginError } from './limiter.ts';
import type { PluginInput } from './module-interface.ts';

/** The current keys of a service. */
export interface ServiceKeys {
  /** The first signs questions, and so does the second if there is one. Each may sign an answer. */
  readonly secrets: readonly AcceptedSecret[];
  /** The PEM text of its certificate authority. */
  readonly ca: string | undefined;
}

type Headers = Readonly<Record<string, string>>;

export interface ServiceParts {
  readonly clock: Clock;
  /** Called for each answer that was read, with which secret signed it: `secret`, or `secret line 2`. */
  readonly secretUsed: (secret: string) => void;
}

export interface ServiceClient {
  /** Sends these headers too, which are not signed. Rejects with PluginError. */
  readonly ask: (input: PluginInput, headers?: Headers) => Promise<PluginAnswer>;
  /** Sets the keys of later questions. A question in flight keeps the keys that it was sent with. */
  readonly useKeys: (keys: ServiceKeys) => void;
  /** What `secretUsed` may be called with now. */
  readonly secrets: () => readonly string[];
  readonly close: () => void;
}

/**
 * Idle connections close earlier than most servers close them, so that a question rarely meets a closed one.
 */
const IDLE_MS = 4000;

/** A client for one service. It keeps connections open between questions. */
export function createServiceClient(
  config: ServiceConfig,
  keys: ServiceKeys,
  { clock, secretUsed }: ServiceParts,
): ServiceClient {
  const { name, timeoutMs } = config;
  const url = new URL(config.url);
  let { secrets, ca } = keys;
  let agent = agentFor(url, config, ca);

  async function askOnce(input: PluginInput, more: Headers, withinMs: number): Promise<PluginAnswer> {
    const nonce = randomBytes(18).toString('base64url');
    const timestamp = String(clock());
    const body = JSON.stringify({ ...input, service: name, nonce });
    const accepted = secrets;
    const headers = {
      ...more,
      'content-type': 'application/json',
      'countersign-timestamp': timestamp,
      'countersign-nonce': nonce,
      [SIGNATURE_HEADER]: accepted
        .map(({ text }) => sign(text, `${timestamp}.${nonce}.`, Buffer.from(body)))
        .join(', '),
    };
    const response = await post({ url, agent, headers, body, timeoutMs: withinMs });
    const signer = signerOf(response, nonce, accepted);
    const answer = readAnswer(response, nonce);
    secretUsed(nameOf(signer));
    return answer;
  }

  return {
    async ask(input, headers = {}) {
      const startedMs = performance.now();
      try {
        return await askOnce(input, headers, timeoutMs);
      } catch (thrown) {
        const leftMs = Math.floor(timeoutMs - (performance.now() - startedMs));
        if (!(thrown instanceof ConnectionLost) || leftMs < 1) throw thrown;
        return askOnce(input, headers, leftMs);
      }
    },
    useKeys(next) {
      ({ secrets } = next);
      if (next.ca === ca) return;
      // Questions in flight end on the old connections, which then close as idle ones.
      ({ ca } = next);
      agent = agentFor(url, config, ca);
    },
    secrets: () => secrets.map(nameOf),
    close: () => agent.destroy(),
  };
}

const nameOf = ({ line }: AcceptedSecret): string => `secret${line}`;

function agentFor(url: URL, { concurrency }: ServiceConfig, ca: string | undefined): PlainAgent {
  const options = { keepAlive: true, maxSockets: concurrency, maxFreeSockets: concurrency, timeout: IDLE_MS };
  return url.protocol === 'https:'
    ? new TlsAgent({ ...options, ...(ca === undefined ? {} : { ca }) })
    : new PlainAgent(options);
}

/** The header with the signatures of a question, one for each secret, and with the signature of its answer. */
const SIGNATURE_HEADER = 'countersign-signature';

/**
 * `v1=` and the hexadecimal HMAC-SHA256 of `prefix` and `body`. The prefix is `timestamp.nonce.` for a
 * question and `answer.nonce.` for its answer. A timestamp begins with a digit, so neither signature is valid
 * for the other.
 */
function sign(secret: string, prefix: string, body: Uint8Array): string {
  return `v1=${createHmac('sha256', secret).update(prefix).update(body).digest('hex')}`;
}

const ANSWER_BYTES = 4096;
const ANSWER_BOUNDS = { bytes: ANSWER_BYTES, members: 3, depth: 1, numberCharacters: 80 };
const ANSWER_MEMBERS: ReadonlySet<string> = new Set(['nonce', 'verdict', 'because']);

interface ServiceResponse {
  /** Undefined if the header is missing or was sent twice. */
  readonly signature: string | undefined;
  readonly body: Uint8Array;
}

/** The secret that signed the answer to the question with this nonce. Throws PluginError if none did. */
function signerOf(
  { signature, body }: ServiceResponse,
  nonce: string,
  accepted: readonly AcceptedSecret[],
): AcceptedSecret {
  if (signature === undefined) throw new PluginError('its answer is not signed');
  const signer = accepted.find(({ text }) =>
    equalInConstantTime(signature, sign(text, `answer.${nonce}.`, body)),
  );
  if (signer === undefined) {
    throw new PluginError('the signature of its answer is not that of this question, body and secret');
  }
  return signer;
}

/** The answer to the question with this nonce, whose signature was verified. Throws PluginError. */
function readAnswer({ body }: ServiceResponse, nonce: string): PluginAnswer {
  const decoded = decodeMembers(body, ANSWER_BOUNDS);
  if (!decoded.ok) throw new PluginError(`its answer can't be read: ${decoded.because}`);
  const { members } = decoded;
  const unknown = [...members.keys()].find((name) => !ANSWER_MEMBERS.has(name));
  if (unknown !== undefined) throw new PluginError(`its answer has an unknown member: ${unknown}`);
  if ([...members.values()].some(({ kind }) => kind !== 'string')) {
    throw new PluginError('its answer has a member that is not a text');
  }
  if (members.get('nonce')?.text !== nonce) throw new PluginError('its answer names another nonce');
  const verdict = members.get('verdict')?.text;
  if (verdict !== 'yes' && verdict !== 'no') throw new PluginError('its verdict is neither yes nor no');
  return { verdict, because: printableSentence(members.get('because')?.text ?? '') };
}

interface Post {
  readonly url: URL;
  readonly agent: PlainAgent;
  readonly headers: Headers;
  readonly body: string;
  readonly timeoutMs: number;
}

const HEADER_BYTES = 8192;

/** A connection was closed while it was idle, so the service may never have received the question. */
class ConnectionLost extends PluginError {}

/**
 * One POST and its response, both within `timeoutMs` and the bounds of an answer. Rejects with PluginError.
 * It uses `node:http` because `fetch` has no bound on headers and no certificate authority for one request.
 * It follows no redirect and decompresses nothing.
 */
async function post({ url, agent, headers, body, timeoutMs }: Post): Promise<ServiceResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ServiceResponse>();
  const send = url.protocol === 'https:' ? tlsRequest : plainRequest;
  const request = send(url, {
    method: 'POST',
    agent,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    maxHeaderSize: HEADER_BYTES,
  });
  const timer = setTimeout(() => reject(new PluginError(`no answer within ${timeoutMs} ms`)), timeoutMs);
  request.on('error', (thrown) => reject(requestError(request, thrown)));
  request.on('response', (response) => receive(response, resolve, reject));
  request.end(body);
  try {
    return await promise;
  } catch (thrown) {
    request.destroy();
    throw thrown;
  } finally {
    clearTimeout(timer);
  }
}

function receive(
  response: IncomingMessage,
  resolve: (received: ServiceResponse) => void,
  reject: (because: PluginError) => void,
): void {
  const { statusCode: status = 0, headersDistinct } = response;
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('error', () => reject(new PluginError('the connection ended in the middle of its answer')));
  if (status !== 200) {
    const redirect = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
    reject(new PluginError(`it answered with HTTP status ${status}${redirect}`));
    return;
  }
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= ANSWER_BYTES) chunks.push(chunk);
    else reject(new PluginError(`its answer has more than ${ANSWER_BYTES} bytes`));
  });
  response.on('end', () => {
    const [signature, ...others] = headersDistinct[SIGNATURE_HEADER] ?? [];
    resolve({ signature: others.length > 0 ? undefined : signature, body: Buffer.concat(chunks) });
  });
}

function requestError(request: ClientRequest, thrown: Error): PluginError {
  const code = 'code' in thrown ? String(thrown.code) : '';
  if (request.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')) {
    return new ConnectionLost('the kept connection is closed');
  }
  const because =
    code === 'HPE_HEADER_OVERFLOW' ? `its headers have more than ${HEADER_BYTES} bytes` : messageOf(thrown);
  return new PluginError(`it can't be asked: ${because}`);
}
