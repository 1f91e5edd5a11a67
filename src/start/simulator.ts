import type { Settings } from '../settings/schema.ts';
import type { SimulationParts } from '../simulation/simulate-live.ts';
import { type Simulate, createSimulator } from '../simulation/simulator.ts';
import type { ApprovalRequests } from '../store/store.ts';
import { peopleOf } from './people.ts';
import { orderSources, schemeBinding } from './sources.ts';
import { groupsOf } from './store.ts';

/** Simulates callbacks of the sources of the settings. */
export function simulatorOf(
  settings: Settings,
  parts: Pick<SimulationParts, 'policies' | 'clock' | 'ask'> & {
    readonly store: SimulationParts['store'] & ApprovalRequests;
  },
): Simulate {
  const { sources, answerTimeoutMs } = settings;
  const { outputs } = settings.public.limits;
  const groups = groupsOf(settings);
  const groupOf = (source: string): string | undefined => groups.get(source);
  const bindsScheme = schemeBinding(sources);
  return createSimulator(
    { ...parts, people: peopleOf(settings, parts), answerTimeoutMs, outputs, bindsScheme, groupOf },
    orderSources(settings),
  );
}
