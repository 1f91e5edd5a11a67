import { setTimeout as pause } from 'node:timers/promises';
import { PAYMENT_PATH, type Payment, signedPayment } from '../service.ts';

/** One payment confirmation as it was sent, and what came back: no answer where the connection broke. */
export interface Sent {
  readonly payment: Partial<Payment>;
  readonly body: string;
  readonly answer: string | undefined;
  readonly tookMs: number;
}

/** Sends it over a connection that is kept, signed as it must be. Never rejects. */
export async function send(url: string, payment: Partial<Payment>): Promise<Sent> {
  const body = signedPayment(payment);
  const sentAtMs = performance.now();
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}${PAYMENT_PATH}`, { method: 'POST', headers, body })
    .then((response) => response.text())
    .catch(() => undefined);
  return { payment, body, answer, tookMs: performance.now() - sentAtMs };
}

export interface Load {
  /** All that has come back so far. */
  readonly sent: readonly Sent[];
  successes(): number;
  stop(): Promise<readonly Sent[]>;
}

/**
 * Sends payments of 1 until it is stopped, each worker one after the other. Some are repeats of earlier ones,
 * and some are earlier ones with another amount.
 */
export function startLoad(url: string, { workers = 8, prefix = 'load' } = {}): Load {
  const sent: Sent[] = [];
  let orders = 0;
  const stopped = new AbortController();
  const next = (turn: number): Partial<Payment> => {
    const earlier = `${prefix}-${Math.floor(Math.random() * orders)}`;
    if (turn % 3 === 1) return { appOrderId: earlier, orderAmount: '1' };
    if (turn % 5 === 2) return { appOrderId: earlier, orderAmount: '2' };
    return { appOrderId: `${prefix}-${orders++}`, orderAmount: '1' };
  };
  const work = async (): Promise<void> => {
    for (let turn = 0; !stopped.signal.aborted; turn++) {
      sent.push(await send(url, next(turn)));
      // Not to synchronise: a service that refuses at once would else be asked as fast as the machine can.
      await pause(2);
    }
  };
  const working = Promise.all(Array.from({ length: workers }, work));
  return {
    sent,
    successes: () => successesOf(sent).length,
    async stop() {
      stopped.abort();
      await working;
      return sent;
    },
  };
}

export const successesOf = (sent: readonly Sent[]): readonly Sent[] =>
  sent.filter(({ answer }) => answer === 'SUCCESS');
