import { z } from 'zod';
import { addDecimals, decimalText, readDecimal, subtractDecimals } from './decimal.ts';
import type { Fault, Faults } from './faults.ts';
import type { Signing } from './state.ts';

const OF_BOTH = [
  'sign-unasked',
  'sign-refused',
  'sign-early',
  'sign-amount',
  'sign-address',
  'sign-coin',
  'sign-twice',
  'sign-speed-up',
  'sign-silent',
  'sign-late',
] as const;

const SIGN_FAULTS: Readonly<Record<Signing['kind'], readonly Fault[]>> = {
  transfer: [...OF_BOTH, 'sign-memo', 'sign-outputs'],
  web3: [...OF_BOTH, 'sign-input', 'sign-contract'],
};

/** The one fault with which the co-signer signs a withdrawal or transaction, if any. */
export function signFaultOf({ kind, requestId }: Signing, faults: Faults): Fault | undefined {
  return SIGN_FAULTS[kind].find((fault) => faults.occurs(fault, requestId));
}

/** What is signed in place of what was asked. All outputs sum to the amount, and include the address. */
const CHANGES = new Map<Fault, (signing: Signing) => Partial<Signing>>([
  ['sign-amount', raised],
  ['sign-address', redirected],
  ['sign-coin', ({ symbol }) => ({ symbol: symbol === 'BTC' ? 'ETH' : 'BTC' })],
  ['sign-memo', ({ memo }) => ({ memo: `${memo}1` })],
  ['sign-outputs', divided],
  ['sign-input', ({ inputData }) => ({ inputData: `${inputData}00` })],
  ['sign-contract', ({ contract }) => ({ contract: other(contract) })],
]);

export function withSignFaults(signing: Signing, faults: readonly Fault[]): Signing {
  return faults.reduce((signed, fault) => ({ ...signed, ...CHANGES.get(fault)?.(signed) }), signing);
}

/** One more than an amount; of an unlimited one, 1. */
export function more(amount: string): string {
  return readDecimal(amount) === undefined ? '1' : addDecimals(amount, '1');
}

/** Another address of the same form. */
function other(address: string): string {
  return `${address.slice(0, -1)}${address.endsWith('1') ? '2' : '1'}`;
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

function redirected(signing: Signing): Partial<Signing> {
  const to = other(signing.to);
  const outputs = outputsOf(signing).map((output) =>
    output.address_to === signing.to ? { ...output, address_to: to } : output,
  );
  return { to, outputs: written(outputs) };
}

/** Half of the first output goes to another address. */
function divided(signing: Signing): Partial<Signing> {
  const [first = { address_to: signing.to, amount: signing.amount }, ...rest] = outputsOf(signing);
  const half = decimalText((readDecimal(first.amount) ?? 0n) / 2n);
  const outputs = [
    { ...first, amount: subtractDecimals(first.amount, half) },
    { address_to: other(first.address_to), amount: half },
    ...rest,
  ];
  return { outputs: written(outputs) };
}
