import { takesNumber } from '../values/address.ts';
import { type Amount, formatAmount } from '../values/amount.ts';
import { canonicalJson } from '../values/canonical.ts';
import { comparable } from '../values/comparable.ts';
import { type Bounds, type Members, readObjects } from '../values/members.ts';
import {
  OUTPUTS_MAX,
  type ParseBounds,
  type Parsed,
  type Payout,
  type TransferCallback,
} from './callback.ts';
import {
  ADDRESS,
  COSIGNER_TYPES,
  IDENTIFIER,
  MEMO,
  SYMBOL,
  WIRE_ID,
  oneOf,
  optionalFlag,
  optionalText,
  reading,
  requiredAmount,
  requireOneSpelling,
  requiredText,
  unknownNames,
  unreadable,
  valuesOf,
} from './reading.ts';

const DEFINED = [
  'type',
  'transfer_id',
  'withdraw_id',
  'request_id',
  'pending_round',
  'from',
  'to',
  'memo',
  'amount',
  'symbol',
  'txid',
  'outputs',
];

const OUTPUT_DEFINED = ['address_to', 'amount'];

/** Whatever the bound on outputs is, the body's size bounds what is read of them. */
const OUTPUT_BOUNDS: Bounds = { bytes: 65_536, members: 4096, depth: 4, numberCharacters: 80 };

export const transferValues = [
  'type',
  'transfer_id',
  'request_id',
  'pending_round',
  'from',
  'to',
  'memo',
  'amount',
  'symbol',
  'txid',
] as const;
export const transferAliases = { withdraw_id: 'transfer_id' } as const;

/**
 * A co-signer's withdrawal confirmation (section 6.2). Its id is `transfer_id` or `withdraw_id`, either may
 * be empty. Where there are `outputs`, they must sum to `amount` and include `to`, and `to` then stands for
 * every address paid.
 */
export function parseTransfer(
  members: Members,
  source: string,
  bounds: ParseBounds = { outputs: OUTPUTS_MAX },
): Parsed<TransferCallback> {
  return reading(() => {
    const type = oneOf(members, 'type', COSIGNER_TYPES);
    const id = requiredText(members, 'request_id', IDENTIFIER);
    const transferId = transferIdOf(members);
    const speedUp = optionalFlag(members, 'pending_round');
    const from = requiredText(members, 'from', ADDRESS);
    const to = requiredText(members, 'to', ADDRESS);
    const amount = requiredAmount(members, 'amount');
    const symbol = requiredText(members, 'symbol', SYMBOL);
    const txid = optionalText(members, 'txid', IDENTIFIER);
    const outputs = outputsOf(members, { to: comparable(to), amount, most: bounds.outputs });
    const recipients = [...new Set([to, ...(outputs?.written ?? [])])];
    const memo = memoOf(members, recipients);
    const payouts = outputs?.payouts ?? [{ to: comparable(to), amount }];
    return {
      kind: 'transfer',
      source,
      id,
      question: { type, speedUp },
      from,
      to,
      recipients,
      memo,
      amount,
      symbol,
      txid,
      payouts,
      values: valuesOf({
        type,
        transfer_id: transferId,
        request_id: id,
        pending_round: String(speedUp),
        from,
        to: payouts.map((payout) => payout.to),
        memo,
        amount: formatAmount(amount),
        symbol,
        txid,
      }),
      terms: {
        transferId: transferId ?? '',
        from: comparable(from),
        to: comparable(to),
        memo: memo ?? '',
        amount: formatAmount(amount),
        symbol,
        outputs:
          outputs === undefined
            ? ''
            : payouts.map((each) => `${each.to} ${formatAmount(each.amount)}`).join('\n'),
        // Only where there are any, so that all other terms stay what they were before these were looked at.
        ...(outputs === undefined || outputs.more === '' ? {} : { outputMembers: outputs.more }),
      },
      unknown: [...unknownNames(members, DEFINED), ...(outputs?.unknown ?? [])],
    };
  });
}

function transferIdOf(members: Members): string | undefined {
  if (!members.has('transfer_id') && !members.has('withdraw_id')) {
    unreadable('MEMBER_MISSING', 'neither transfer_id nor withdraw_id is there', { member: 'transfer_id' });
  }
  const transferId = optionalText(members, 'transfer_id', WIRE_ID);
  const withdrawId = optionalText(members, 'withdraw_id', WIRE_ID);
  if (transferId !== undefined && withdrawId !== undefined && transferId !== withdrawId) {
    unreadable(
      'MEMBER_INVALID',
      `transfer_id ${transferId} and withdraw_id ${withdrawId} name different withdrawals`,
      {
        member: 'withdraw_id',
      },
    );
  }
  return transferId ?? withdrawId;
}

const TAG = /^(?:0|[1-9]\d{0,9})$/;
const TAG_MAX = 4_294_967_295;

/** The memo in its one spelling; a number where one of the recipients is of a chain whose memo is one. */
function memoOf(members: Members, recipients: readonly string[]): string | undefined {
  const memo = optionalText(members, 'memo', MEMO);
  if (memo === undefined) return undefined;
  requireOneSpelling('memo', memo);
  if (recipients.some(takesNumber) && !(TAG.test(memo) && Number(memo) <= TAG_MAX)) {
    const because = `memo is no destination tag, which Ripple wants as a whole number from 0 to ${TAG_MAX}; ask for it in digits, without leading zeros`;
    unreadable('MEMBER_INVALID', because, { member: 'memo' });
  }
  return memo;
}

interface Outputs {
  /** One an address, in the order of the addresses. */
  readonly payouts: readonly Payout[];
  /** The addresses as they are written, one for each output. */
  readonly written: readonly string[];
  /** The names of members that the specification does not define, as `outputs[].name`, each once. */
  readonly unknown: readonly string[];
  /**
   * What these say, with the output that they are of, whatever the order; the empty text if there are none.
   */
  readonly more: string;
}

/** The outputs, or undefined where the withdrawal has none. */
function outputsOf(
  members: Members,
  { to, amount, most }: { readonly to: string; readonly amount: Amount; readonly most: number },
): Outputs | undefined {
  const member = members.get('outputs');
  if (member === undefined || member.kind === 'null' || member.text === '') return undefined;
  if (member.kind !== 'string') unreadable('OUTPUTS_INVALID', 'outputs is not a string that holds JSON');
  const decoded = readObjects(member.text, OUTPUT_BOUNDS);
  if (!decoded.ok) return unreadable('OUTPUTS_INVALID', `outputs can't be read: ${decoded.because}`);
  const count = decoded.objects.length;
  if (count === 0) return undefined;
  if (count > most) {
    const because = `the withdrawal has ${count} outputs; at most ${most} are read (public.limits.outputs); split it, or raise the setting`;
    unreadable('TOO_MANY_OUTPUTS', because, { outputs: count, most });
  }
  const paid = new Map<string, Amount>();
  const written: string[] = [];
  const unknown = new Set<string>();
  const more: string[] = [];
  for (const output of decoded.objects) {
    const text = requiredText(output, 'address_to', ADDRESS);
    const address = comparable(text);
    written.push(text);
    const each = requiredAmount(output, 'amount');
    paid.set(address, (paid.get(address) ?? 0n) + each);
    const names = unknownNames(output, OUTPUT_DEFINED);
    if (names.length > 0) more.push(moreOf(output, names, { address, amount: formatAmount(each) }));
    for (const name of names) unknown.add(`outputs[].${name}`);
  }
  const sum = [...paid.values()].reduce((total, each) => total + each, 0n);
  if (sum !== amount) {
    unreadable(
      'OUTPUTS_INVALID',
      `the outputs sum to ${formatAmount(sum)}, the amount is ${formatAmount(amount)}`,
    );
  }
  if (!paid.has(to)) unreadable('OUTPUTS_INVALID', `the outputs do not include ${to}, the address in to`);
  const payouts = [...paid]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([address, each]) => ({ to: address, amount: each }));
  return { payouts, written, unknown: [...unknown], more: more.sort().join('\n') };
}

/** The unknown members of one output as a line: they may say whom it reaches, such as a memo of its own. */
function moreOf(
  output: Members,
  names: readonly string[],
  of: { readonly address: string; readonly amount: string },
): string {
  const said = names.map((name) => [name, output.get(name)?.kind ?? '', output.get(name)?.text ?? '']);
  return canonicalJson([of.address, of.amount, ...said.sort(byName)]);
}

const byName = ([a = '']: readonly string[], [b = '']: readonly string[]): number => (a < b ? -1 : 1);
