import type { Agent } from 'node:http';
import type { PluginAnswer } from '../policy/facts.ts';
import type { Clock } from '../values/clock.ts';
import { decodeMembers } from '../values/members.ts';
import { printableSentence } from '../values/printable.ts';
import { type AcceptedSecret, equalInConstantTime } from '../values/secret.ts';
import type { ServiceConfig } from './config.ts';
import { PluginError } from './limiter.ts';
import type { PluginInput } from './module-interface.ts';
import {
  ConnectionLost,
  type Headers,
  type Receive,
  SIGNATURE_HEADER,
  agentFor,
  describeStatus,
  newNonce,
  sign,
  signedPost,
} from './signed-post.ts';

/** The current keys of a service. */
export interface ServiceKeys {
  /** The first signs questions, and so does the second if there is one. Each may sign an answer. */
  readonly secrets: readonly AcceptedSecret[];
  /** The PEM text of its certificate authority. */
  readonly ca: string | undefined;
}

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
  let agent = keptConnections(url, config, ca);

  async function askOnce(input: PluginInput, headers: Headers, withinMs: number): Promise<PluginAnswer> {
    const nonce = newNonce();
    const body = JSON.stringify({ ...input, service: name, nonce });
    const accepted = secrets;
    const response = await signedPost(
      { url, agent, secrets: accepted, timestampMs: clock(), nonce, headers, body, timeoutMs: withinMs },
      receive,
    );
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
      agent = keptConnections(url, config, ca);
    },
    secrets: () => secrets.map(nameOf),
    close: () => agent.destroy(),
  };
}

const nameOf = ({ line }: AcceptedSecret): string => `secret${line}`;

function keptConnections(url: URL, { concurrency }: ServiceConfig, ca: string | undefined): Agent {
  const options = { keepAlive: true, maxSockets: concurrency, maxFreeSockets: concurrency, timeout: IDLE_MS };
  return agentFor(url, ca, options);
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

/** Reads an answer within its bounds. */
const receive: Receive<ServiceResponse> = (response, resolve, reject) => {
  const { statusCode: status = 0, headersDistinct } = response;
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('error', () => reject(new PluginError('the connection ended in the middle of its answer')));
  if (status !== 200) {
    reject(new PluginError(describeStatus(status)));
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
};
