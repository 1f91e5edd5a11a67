import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Exchange, Planned } from './history.ts';
import type { Delivery, Plan } from './plan.ts';
import type { Receiver } from './receivers.ts';

/** Sends callbacks over connections that are kept, as a gateway does, and writes down what came of each. */
export interface Sender {
  readonly exchanges: readonly Exchange[];
  /** To one receiver. Never rejects. */
  readonly send: (callback: Planned, receiver: Receiver) => Promise<Exchange>;
  /** Callbacks of the plan, each worker one story after the other, until it is stopped. */
  readonly load: (plan: Plan, options: LoadOptions) => { readonly stop: () => Promise<void> };
  readonly close: () => void;
}

export interface LoadOptions {
  readonly workers: number;
  /** Between two steps of one worker. */
  readonly restMs: number;
}

/** Long after any answer is due: who is silent so long is counted as gone. */
const GIVEN_UP_MS = 20_000;
/**
 * While no receiver is up, the load goes on, to see that nobody answers; but not as fast as the machine can.
 */
const ALL_DOWN_MS = 200;

export function createSender(receivers: readonly Receiver[]): Sender {
  const agent = new Agent({ keepAlive: true });
  const exchanges: Exchange[] = [];

  async function send(callback: Planned, receiver: Receiver): Promise<Exchange> {
    const sentAtMs = Date.now();
    const startedMs = performance.now();
    const answer = await post(agent, receiver.url() + callback.path, callback);
    const tookMs = performance.now() - startedMs;
    const exchange = { callback, receiver: receiver.name, sentAtMs, endedAtMs: Date.now(), tookMs, answer };
    exchanges.push(exchange);
    return exchange;
  }

  /** One that is up, as a gateway would choose; any, where none is. */
  function chosen(pick: number): Receiver | undefined {
    const up = receivers.filter((receiver) => receiver.isUp());
    const among = up.length > 0 ? up : receivers;
    return among[Math.floor(pick * among.length)];
  }

  async function deliver({ callback, pick }: Delivery): Promise<void> {
    const receiver = chosen(pick);
    if (receiver !== undefined) await send(callback, receiver);
  }

  return {
    exchanges,
    send,
    load(plan, { workers, restMs }) {
      const stopped = new AbortController();
      const work = async (): Promise<void> => {
        while (!stopped.signal.aborted) {
          for (const step of plan.next()) {
            await Promise.all(step.map(deliver));
            await pause(receivers.some((receiver) => receiver.isUp()) ? restMs : ALL_DOWN_MS);
          }
        }
      };
      const working = Promise.all(Array.from({ length: workers }, work));
      return {
        async stop() {
          stopped.abort();
          await working;
        },
      };
    },
    close: () => agent.destroy(),
  };
}

/**
 * What was answered; anything but 200 and plain text is told as it is. Undefined where the connection broke.
 */
function post(agent: Agent, url: string, { headers, body }: Planned): Promise<string | undefined> {
  return new Promise((resolve) => {
    const broken = (): void => resolve(undefined);
    const asked = request(url, { method: 'POST', agent, headers, timeout: GIVEN_UP_MS }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('error', broken).on('aborted', broken);
      response.on('end', () => {
        const isPlain = response.headers['content-type']?.startsWith('text/plain') === true;
        const { statusCode } = response;
        resolve(statusCode === 200 && isPlain ? text : `HTTP ${statusCode} ${text}`);
      });
    });
    asked.on('error', broken).on('timeout', () => asked.destroy());
    asked.end(body);
  });
}
