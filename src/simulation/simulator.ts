import type { Kind } from '../callback/callback.ts';
import { usageError } from '../errors.ts';
import type { AskPlugin } from '../pipeline/decide.ts';
import { type OrderSource, orderSource } from '../orders/orders.ts';
import { type LiveSimulation, type SimulationParts, simulateLive } from './simulate-live.ts';
import { createFairQueue } from '../values/fair-queue.ts';
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
  /**
   * By default true: services and modules are asked, and told that it is a simulation. Otherwise rules
   * refuse.
   */
  readonly askPlugins?: boolean | undefined;
}

export interface SimulatorParts extends SimulationParts {
  /** Outputs that a withdrawal may have (`public.limits.outputs`). */
  readonly outputs: number;
}

/**
 * Says what a callback would be answered now: see simulateLive. `person` is who asks. Throws USAGE,
 * ORDER_INVALID and BUSY.
 */
export type Simulate = (request: SimulationRequest, person: string) => Promise<LiveSimulation>;

/** Of each person. */
const WAITING_MAX = 16;

/** Simulates one callback at a time. People take turns. */
export function createSimulator(parts: SimulatorParts, sources: readonly OrderSource[]): Simulate {
  const queue = createFairQueue('simulations', WAITING_MAX);
  return async (request, person) => {
    const source = orderSource(sources, request.source, request.kind);
    const scheme = schemeOf(source, request);
    const { kind, body, members, askPlugins = true } = request;
    const callback = simulatedCallback(
      { kind, source: source.name, outputs: parts.outputs },
      { body, members },
    );
    const ask = askPlugins ? parts.ask : askNone;
    return queue.run(person, () => simulateLive({ ...parts, ask }, callback, scheme));
  };
}

const askNone: AskPlugin = ({ type, name }) =>
  Promise.resolve({ verdict: 'failed', because: `this simulation does not ask the ${type} ${name}` });

function schemeOf({ name, schemes }: OrderSource, { scheme }: SimulationRequest): string | undefined {
  if (scheme === undefined || schemes.includes(scheme)) return scheme ?? schemes[0];
  const known =
    schemes.length === 0 ? 'Its callbacks are not signed: leave it out' : `Use one of ${schemes.join(', ')}`;
  throw usageError(`the source ${name} does not accept the scheme ${scheme}. ${known}`);
}
