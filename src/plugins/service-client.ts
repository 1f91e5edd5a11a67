import { randomBytes } from 'node:crypto';
import { Agent as PlainAgent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import type { PluginAnswer } from '../policy/facts.ts';
import type { Clock } from '../values/clock.ts';
import { readAnswer } from './answer.ts';
import type { ServiceConfig } from './config.ts';
import type { AskedCallback } from './module-interface.ts';
import { ConnectionLost, post } from './post.ts';
import { SIGNATURE_HEADER, signQuestion } from './signing.ts';

/** What a service is asked with, as it is now. */
export interface ServiceKeys {
  readonly secret: string;
  /** PEM of its authority. */
  readonly ca: string | undefined;
}

export interface ServiceClient {
  /** Rejects with Unanswered. */
  readonly ask: (question: AskedCallback) => Promise<PluginAnswer>;
  /** Questions under way are answered with the keys that they were asked with. */
  readonly useKeys: (keys: ServiceKeys) => void;
  readonly close: () => void;
}

/**
 * Idle connections are closed after this, before most servers would: a question must not meet a connection's
 * end.
 */
const IDLE_MS = 4000;

/** Asks one service over connections that are kept. */
export function createServiceClient(config: ServiceConfig, keys: ServiceKeys, clock: Clock): ServiceClient {
  const { name, timeoutMs } = config;
  const url = new URL(config.url);
  let { secret, ca } = keys;
  let agent = agentFor(url, config, ca);

  async function once(question: AskedCallback, withinMs: number): Promise<PluginAnswer> {
    const nonce = randomBytes(18).toString('base64url');
    const timestamp = String(clock());
    const body = JSON.stringify({ ...question, service: name, nonce });
    const key = secret;
    const headers = {
      'content-type': 'application/json',
      'countersign-timestamp': timestamp,
      'countersign-nonce': nonce,
      [SIGNATURE_HEADER]: signQuestion(key, timestamp, nonce, body),
    };
    return readAnswer(await post({ url, agent, headers, body, timeoutMs: withinMs }), nonce, key);
  }

  return {
    async ask(question) {
      const startedMs = performance.now();
      try {
        return await once(question, timeoutMs);
      } catch (thrown) {
        const leftMs = Math.floor(timeoutMs - (performance.now() - startedMs));
        if (!(thrown instanceof ConnectionLost) || leftMs < 1) throw thrown;
        return once(question, leftMs);
      }
    },
    useKeys(now) {
      secret = now.secret;
      if (now.ca === ca) return;
      // What is under way on the old connections goes on; they are closed once they are idle.
      ({ ca } = now);
      agent = agentFor(url, config, ca);
    },
    close: () => agent.destroy(),
  };
}

function agentFor(url: URL, { concurrency }: ServiceConfig, ca: string | undefined): PlainAgent {
  const options = { keepAlive: true, maxSockets: concurrency, maxFreeSockets: concurrency, timeout: IDLE_MS };
  return url.protocol === 'https:'
    ? new TlsAgent({ ...options, ...(ca === undefined ? {} : { ca }) })
    : new PlainAgent(options);
}
