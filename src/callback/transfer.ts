import { TAG_FORM, isDestinationTag, requiresNumericMemo } from '../values/destination-tag.ts';
import { addressIdentity } from '../values/address.ts';
import { type Amount, formatAmount } from '../values/amount.ts';
import { canonicalJson } from '../values/canonical.ts';
import { toComparable } from '../values/comparable.ts';
import { OUTPUT_BOUNDS, type Members, readObjects } from '../values/members.ts';
import {
  OUTPUTS_MAX,
  type ParseBounds,
  type Parsed,
  type Payout,
  type TransferCallback,
  mergedPayouts,
} from './callback.ts';
import {
  ADDRESS,
  COSIGNER_TYPES,
  IDENTIFIER,
  MEMO,
  SYMBOL,
  NUMERIC_ID,
  type TextMember,
  oneOf,
  optionalFlag,
  parseWith,
  readText,
  requiredAmount,
  requireSafeText,
  requiredText,
  unknownNames,
  reject,
  valuesOf,
} from './member-readers.ts';

const OUTPUT_DEFINED = ['address_to', 'amount'];

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

const DEFINED = [...transferValues, 'withdraw_id', 'outputs'];

/** The members with a text (section 6.2). */
export const TRANSFER_TEXTS = {
  request_id: { ...IDENTIFIER, need: 'required' },
  transfer_id: { ...NUMERIC_ID, need: 'optional' },
  withdraw_id: { ...NUMERIC_ID, need: 'optional' },
  from: { ...ADDRESS, need: 'required' },
  to: { ...ADDRESS, need: 'required' },
  memo: { ...MEMO, need: 'optional' },
  symbol: { ...SYMBOL, need: 'required' },
  txid: { ...IDENTIFIER, need: 'optional' },
} as const satisfies Readonly<Record<string, TextMember>>;

/**
 * Parses a co-signer's withdrawal confirmation (section 6.2). The withdrawal number is `transfer_id` or
 * `withdraw_id`; either may be empty. If `outputs` is a list, also an empty one, it must sum to `amount` and
 * include `to`. For policies, `to` is then the list of all addresses that are paid.
 */
export function parseTransfer(
  members: Members,
  source: string,
  bounds: ParseBounds = { outputs: OUTPUTS_MAX },
): Parsed<TransferCallback> {
  return parseWith(() => {
    const type = oneOf(members, 'type', COSIGNER_TYPES);
    const id = readText(members, TRANSFER_TEXTS, 'request_id');
    const transferId = transferIdOf(members);
    const speedUp = optionalFlag(members, 'pending_round');
    const from = readText(members, TRANSFER_TEXTS, 'from');
    const to = readText(members, TRANSFER_TEXTS, 'to');
    const amount = requiredAmount(members, 'amount');
    const symbol = readText(members, TRANSFER_TEXTS, 'symbol');
    const txid = readText(members, TRANSFER_TEXTS, 'txid');
    const outputs = outputsOf(members, { to, amount, most: bounds.outputs });
    const recipients = [...new Set([to, ...(outputs?.written ?? [])])];
    const memo = memoOf(members, recipients);
    const payouts = outputs?.payouts ?? [{ to: toComparable(to), amount }];
    const texts = {
      type,
      transfer_id: transferId,
      request_id: id,
      pending_round: String(speedUp),
      from,
      to,
      memo,
      amount: formatAmount(amount),
      symbol,
      txid,
    };
    return {
      kind: 'transfer',
      source,
      id,
      question: { type, speedUp },
      amount,
      symbol,
      recipients,
      payouts,
      texts,
      values: valuesOf({ ...texts, to: payouts.map((payout) => payout.to) }),
      terms: {
        transferId,
        from: addressIdentity(from),
        to: addressIdentity(to),
        memo,
        amount: texts.amount,
        symbol,
        outputs:
          outputs === undefined
            ? ''
            : mergedPayouts(payouts, addressIdentity)
                .map((each) => `${each.to} ${formatAmount(each.amount)}`)
                .join('\n'),
        // Most withdrawals have none.
        ...(outputs === undefined || outputs.unknownMembers === ''
          ? {}
          : { outputMembers: outputs.unknownMembers }),
      },
      unknown: [...unknownNames(members, DEFINED), ...(outputs?.unknown ?? [])],
    };
  });
}

/** The empty text if the withdrawal has no number. */
function transferIdOf(members: Members): string {
  if (!members.has('transfer_id') && !members.has('withdraw_id')) {
    reject('MEMBER_MISSING', 'transfer_id and withdraw_id are both missing', { member: 'transfer_id' });
  }
  const transferId = readText(members, TRANSFER_TEXTS, 'transfer_id');
  const withdrawId = readText(members, TRANSFER_TEXTS, 'withdraw_id');
  if (transferId !== '' && withdrawId !== '' && transferId !== withdrawId) {
    reject(
      'MEMBER_INVALID',
      `transfer_id ${transferId} and withdraw_id ${withdrawId} name different withdrawals`,
      {
        member: 'withdraw_id',
      },
    );
  }
  return transferId === '' ? withdrawId : transferId;
}

/** The memo, or the empty text. If a recipient is on Ripple, it must be a destination tag. */
function memoOf(members: Members, recipients: readonly string[]): string {
  const memo = readText(members, TRANSFER_TEXTS, 'memo');
  if (memo === '') return '';
  requireSafeText('memo', memo);
  if (recipients.some(requiresNumericMemo) && !isDestinationTag(memo)) {
    const because =
      `memo is not a destination tag, which on Ripple is ${TAG_FORM}; ` +
      'send it in digits, without leading zeros';
    reject('MEMBER_INVALID', because, { member: 'memo' });
  }
  return memo;
}

interface Outputs {
  /** One for each address, in the order of the addresses. */
  readonly payouts: readonly Payout[];
  /** The addresses as written, one for each output. */
  readonly written: readonly string[];
  /** The names of members that the specification does not define, as `outputs[].name`, without duplicates. */
  readonly unknown: readonly string[];
  /**
   * The unknown members with their outputs, as text. Its order does not depend on the order of the outputs.
   */
  readonly unknownMembers: string;
}

/** The outputs; undefined if the withdrawal has no outputs. */
function outputsOf(
  members: Members,
  { to, amount, most }: { readonly to: string; readonly amount: Amount; readonly most: number },
): Outputs | undefined {
  const member = members.get('outputs');
  if (member === undefined || member.kind === 'null' || member.text === '') return undefined;
  if (member.kind !== 'string') reject('OUTPUTS_INVALID', 'outputs is not a string that holds JSON');
  const decoded = readObjects(member.text, OUTPUT_BOUNDS);
  if (!decoded.ok) return reject('OUTPUTS_INVALID', `outputs can't be read: ${decoded.because}`);
  const count = decoded.objects.length;
  if (count > most) {
    const because =
      `the withdrawal has ${count} outputs; at most ${most} are read (public.limits.outputs); ` +
      'split it, or raise the setting';
    reject('TOO_MANY_OUTPUTS', because, { outputs: count, most });
  }
  const paid: Payout[] = [];
  const written: string[] = [];
  const unknown = new Set<string>();
  const unknownMembers: string[] = [];
  for (const output of decoded.objects) {
    const text = requiredText(output, 'address_to', ADDRESS);
    written.push(text);
    const each = requiredAmount(output, 'amount');
    paid.push({ to: text, amount: each });
    const names = unknownNames(output, OUTPUT_DEFINED);
    if (names.length > 0) {
      const of = { address: addressIdentity(text), amount: formatAmount(each) };
      unknownMembers.push(unknownMembersOf(output, names, of));
    }
    for (const name of names) unknown.add(`outputs[].${name}`);
  }
  const sum = paid.reduce((total, each) => total + each.amount, 0n);
  if (sum !== amount) {
    reject(
      'OUTPUTS_INVALID',
      `the outputs sum to ${formatAmount(sum)}, the amount is ${formatAmount(amount)}`,
    );
  }
  if (!written.some((text) => addressIdentity(text) === addressIdentity(to))) {
    reject('OUTPUTS_INVALID', `the outputs do not include ${to}, the address in to`);
  }
  const payouts = mergedPayouts(paid, toComparable);
  return { payouts, written, unknown: [...unknown], unknownMembers: unknownMembers.sort().join('\n') };
}

/** The unknown members of one output as a line. They may matter: a memo, for instance. */
function unknownMembersOf(
  output: Members,
  names: readonly string[],
  of: { readonly address: string; readonly amount: string },
): string {
  const members = names.map((name) => [name, output.get(name)?.kind ?? '', output.get(name)?.text ?? '']);
  return canonicalJson([of.address, of.amount, ...members.sort(byName)]);
}

const byName = ([a = '']: readonly string[], [b = '']: readonly string[]): number => (a < b ? -1 : 1);
