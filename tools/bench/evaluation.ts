import { performance } from 'node:perf_hooks';
import { parsePayment } from '../../src/callback/payment.ts';
import type { PaymentCallback } from '../../src/callback/callback.ts';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { evaluate } from '../../src/policy/evaluate.ts';
import { factsAt } from '../../src/policy/facts.ts';
import { formatFault } from '../../src/policy/fault.ts';
import type { Release } from '../../src/policy/release.ts';
import type { Member } from '../../src/values/members.ts';
import { FEW_RULES, MANY_RULES } from './policies.ts';

interface Times {
  readonly p50Micros: number;
  readonly p99Micros: number;
}

export interface EvaluationTimes {
  readonly few: Times;
  readonly many: Times;
}

const CALLBACKS = 20_000;
const WARM_UP = 5000;

/** The fourth step by itself, callback by callback, in this process. */
export function evaluationTimes(): EvaluationTimes {
  const callbacks = Array.from({ length: WARM_UP + CALLBACKS }, (_, index) => callback(index));
  return { few: timesOf(FEW_RULES, callbacks), many: timesOf(MANY_RULES, callbacks) };
}

function timesOf(yaml: string, callbacks: readonly PaymentCallback[]): Times {
  const release = compiled(yaml);
  const nowMs = Date.now();
  const micros = callbacks
    .map((each) => {
      const startedMs = performance.now();
      const { approves, results } = evaluate(release, each, factsAt(nowMs));
      const spent = (performance.now() - startedMs) * 1000;
      if (!approves) throw new Error(results.find(({ verdict }) => verdict === 'refuse')?.because);
      return spent;
    })
    .slice(WARM_UP)
    .sort((a, b) => a - b);
  const at = (share: number): number => micros[Math.floor(micros.length * share)] ?? Number.NaN;
  return { p50Micros: at(0.5), p99Micros: at(0.99) };
}

function compiled(yaml: string): Release {
  const read = readPolicyFiles([{ name: 'bench.yaml', text: yaml }], () => undefined);
  if (!read.ok) throw new Error(read.faults.map(formatFault).join('\n'));
  return read.release;
}

function callback(index: number): PaymentCallback {
  const texts = {
    appKey: 'bench-shop',
    appOrderId: `order-${index}`,
    orderAmount: `${1 + (index % 97)}.${String(index % 100).padStart(2, '0')}`,
    payCoinSymbol: 'USDT1742',
    userId: `${10_000 + (index % 1000)}`,
  };
  const members = Object.entries(texts).map(([name, text]): [string, Member] => [
    name,
    { kind: 'string', text },
  ]);
  const parsed = parsePayment(new Map(members), 'shop');
  if (!parsed.ok) throw new Error(parsed.because);
  return parsed.callback;
}
