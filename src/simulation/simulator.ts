import type { Kind } from '../callback/callback.ts';
import { CountersignError } from '../errors.ts';
import type { AskPlugin } from '../pipeline/decide.ts';
import { type OrderSource, orderSource } from '../orders/orders.ts';
import { type LiveSimulation, type SimulationParts, simulateLive } from './simulate-live.ts';
import { simulatedCallback } from './simulated-callback.ts';

export interface SimulationRequest {
  readonly kind: Kind;
  readonly source: string;
  /** Of a payment; by default the first that the source accepts. */
  readonly scheme?: string | undefined;
  /** The text of a body; empty for none. */
  readonly body: string;
  /** Set over those of the body, by their names on the wire or in policies. */
  readonly members: Readonly<Record<string, string>>;
  /** By default true: services and modules are asked, and told that it is a simulation. Otherwise rules refuse. */
  readonly askPlugins?: boolean | undefined;
}

export interface SimulatorParts extends SimulationParts {
  /** Outputs that a withdrawal may have (`public.limits.outputs`). */
  readonly outputs: number;
}

/** Says what a callback would be answered now: see simulateLive. Throws USAGE, ORDER_INVALID and BUSY. */
export type Simulate = (request: SimulationRequest) => Promise<LiveSimulation>;

const WAITING_MAX = 16;

/** Simulates one callback at a time, so that simulations take little of what callbacks need. */
export function createSimulator(parts: SimulatorParts, sources: readonly OrderSource[]): Simulate {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  return async (request) => {
    if (waiting >= WAITING_MAX) {
      throw new CountersignError('BUSY', `${waiting} simulations are waiting. Try again in a second`);
    }
    const source = orderSource(sources, request.source, request.kind);
    const scheme = schemeOf(source, request);
    const { kind, body, members, askPlugins = true } = request;
    const callback = simulatedCallback(
      { kind, source: source.name, outputs: parts.outputs },
      { body, members },
    );
    const ask = askPlugins ? parts.ask : askNone;
    waiting += 1;
    const run = last.then(() => simulateLive({ ...parts, ask }, callback, scheme));
    last = run.catch(() => undefined).finally(() => (waiting -= 1));
    return run;
  };
}

const askNone: AskPlugin = ({ type, name }) =>
  Promise.resolve({ verdict: 'failed', because: `this simulation does not ask the ${type} ${name}` });

function schemeOf({ name, schemes }: OrderSource, { scheme }: SimulationRequest): string | undefined {
  if (scheme === undefined || schemes.includes(scheme)) return scheme ?? schemes[0];
  const known =
    schemes.length === 0 ? 'Its callbacks are not signed: leave it out' : `Use one of ${schemes.join(', ')}`;
  throw new CountersignError('USAGE', `the source ${name} does not accept the scheme ${scheme}. ${known}`);
}
