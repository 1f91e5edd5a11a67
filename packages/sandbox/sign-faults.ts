import { z } from 'zod';
import { addDecimals, readDecimal } from './decimal.ts';
import type { Fault } from './faults.ts';
import type { Signing } from './state.ts';

/** What is signed in place of what was asked. All outputs sum to the amount, and include the address. */
export function withSignFaults(signing: Signing, faults: readonly Fault[]): Signing {
  return {
    ...signing,
    ...(faults.includes('sign-amount') && raised(signing)),
    ...(faults.includes('sign-address') && redirected(signing)),
  };
}

/** One more than an amount; of an unlimited one, 1. */
export function more(amount: string): string {
  return readDecimal(amount) === undefined ? '1' : addDecimals(amount, '1');
}

const outputsSchema = z.array(z.strictObject({ address_to: z.string(), amount: z.string() }));
type Output = z.infer<typeof outputsSchema>[number];

function outputsOf({ outputs }: Signing): readonly Output[] {
  return outputs === '' ? [] : outputsSchema.parse(JSON.parse(outputs));
}

const written = (outputs: readonly Output[]): string => (outputs.length === 0 ? '' : JSON.stringify(outputs));

function raised(signing: Signing): Partial<Signing> {
  const [first, ...rest] = outputsOf(signing);
  const outputs = first === undefined ? [] : [{ ...first, amount: more(first.amount) }, ...rest];
  return { amount: more(signing.amount), outputs: written(outputs) };
}

/** Another address of the same form is paid. */
function redirected(signing: Signing): Partial<Signing> {
  const to = `${signing.to.slice(0, -1)}${signing.to.endsWith('1') ? '2' : '1'}`;
  const outputs = outputsOf(signing).map((output) =>
    output.address_to === signing.to ? { ...output, address_to: to } : output,
  );
  return { to, outputs: written(outputs) };
}
