import { type Failure, failure } from '../errors.ts';
import type { Member, Members } from '../values/members.ts';
import type { Callback, Kind, ParseBounds, Parsed, SelfCheck } from './callback.ts';
import { parsePayment, paymentAliases, paymentValues } from './payment.ts';
import { parseTransfer, transferAliases, transferValues } from './transfer.ts';
import { parseWeb3, web3Aliases, web3Values } from './web3.ts';
import { VISIBLE, reading, requiredText } from './reading.ts';

/** One row a kind of callback: how it is read, and the names by which policies may ask for its members. */
export interface CallbackKind {
  readonly parse: (members: Members, source: string, bounds?: ParseBounds) => Parsed<Callback>;
  readonly values: readonly string[];
  /** Names on the wire that stand for another in `values`. */
  readonly aliases: Readonly<Record<string, string>>;
  /** Members by which this kind is told from the others, so that one URL can serve several. */
  readonly marks: readonly string[];
}

export const callbackKinds: Readonly<Record<Kind, CallbackKind>> = {
  payment: { parse: parsePayment, values: paymentValues, aliases: paymentAliases, marks: ['appOrderId'] },
  transfer: {
    parse: parseTransfer,
    values: transferValues,
    aliases: transferAliases,
    marks: ['transfer_id', 'withdraw_id'],
  },
  web3: {
    parse: parseWeb3,
    values: web3Values,
    aliases: web3Aliases,
    marks: ['trans_id', 'main_chain_symbol', 'input_data', 'interactive_contract'],
  },
};

/**
 * A co-signer's callback, by what its members show it to be. It must be one of `expected`, the kinds that its
 * URL serves; one that could be either, or is neither, is refused. A member that is null shows nothing.
 */
export function parseCosigner(
  members: Members,
  source: string,
  expected: readonly Kind[],
  bounds?: ParseBounds,
): Parsed<Callback | SelfCheck> | Failure {
  if (members.get('type')?.text === SELF_CHECK_TYPE) {
    return expected.includes('transfer')
      ? parseSelfCheck(members, source)
      : failure('KIND_UNEXPECTED', 'a self-check is sent to the URL for withdrawals');
  }
  const shown = (['transfer', 'web3'] as const).filter((kind) =>
    callbackKinds[kind].marks.some((name) => says(members.get(name))),
  );
  const [kind] = shown;
  if (kind === undefined || shown.length > 1 || !expected.includes(kind)) {
    return failure(
      'KIND_UNEXPECTED',
      `the members are those of ${shown.length === 0 ? 'no callback' : shown.join(' and ')}; this URL serves ${expected.join(' and ')}`,
      { shown, expected },
    );
  }
  return callbackKinds[kind].parse(members, source, bounds);
}

const says = (member: Member | undefined): boolean => member !== undefined && member.kind !== 'null';

export const SELF_CHECK_TYPE = 'verify_public_hash';

const TEXT = { pattern: VISIBLE, maxLength: 256 };

/**
 * The co-signer's question whether both sides hold the same public keys; sent when its operator checks its
 * settings.
 */
export function parseSelfCheck(members: Members, source: string): Parsed<SelfCheck> {
  return reading(() => ({
    kind: 'self-check',
    source,
    appId: requiredText(members, 'app_id', TEXT),
    clientHash: requiredText(members, 'client_system_pubkey_hash', TEXT),
    verifyHash: requiredText(members, 'verify_sign_pub_hash', TEXT),
  }));
}
