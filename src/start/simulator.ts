import type { Plugins } from '../plugins/plugins.ts';
import type { Settings } from '../settings/schema.ts';
import type { SimulationParts } from '../simulation/simulate-live.ts';
import { type Simulate, createSimulator } from '../simulation/simulator.ts';
import { orderSources, schemeBinding } from './sources.ts';
import { groupsOf } from './store.ts';

/** Simulates callbacks of the sources of the settings. */
export function composeSimulator(
  settings: Settings,
  {
    plugins,
    ...parts
  }: Pick<SimulationParts, 'store' | 'policies' | 'clock'> & {
    readonly plugins: Pick<Plugins, 'askSimulated'>;
  },
): Simulate {
  const { sources, answerTimeoutMs } = settings;
  const groups = groupsOf(settings);
  return createSimulator(
    {
      ...parts,
      ask: plugins.askSimulated,
      answerTimeoutMs,
      outputs: settings.public.limits.outputs,
      bindsScheme: schemeBinding(sources),
      groupOf: (source) => groups.get(source),
    },
    orderSources(settings),
  );
}
