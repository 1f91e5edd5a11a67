import { type Failure, failure } from '../errors.ts';
import { type Member, type Members, readMembers } from '../values/members.ts';
import {
  type Callback,
  KINDS,
  type Kind,
  type ParseBounds,
  type Parsed,
  type SelfCheck,
  subjectOf,
} from './callback.ts';
import { parsePayment, paymentAliases, paymentValues } from './payment.ts';
import { parseTransfer, transferAliases, transferValues } from './transfer.ts';
import { parseWeb3, web3Aliases, web3Values } from './web3.ts';
import { IDENTIFIER, type TextMember, VISIBLE, parseWith, readText, requiredText } from './member-readers.ts';

/** How to parse one kind of callback, and the names that policies use for its members. */
export interface CallbackKind {
  readonly parse: (members: Members, source: string, bounds?: ParseBounds) => Parsed<Callback>;
  readonly valueNames: readonly string[];
  /** Other names that members have in a body, such as `withdraw_id`, with their names in `valueNames`. */
  readonly aliases: Readonly<Record<string, string>>;
  /**
   * Members that only this kind has. They determine the kind of a callback at a URL that serves several
   * kinds.
   */
  readonly distinctiveMembers: readonly string[];
}

export const callbackKinds: Readonly<Record<Kind, CallbackKind>> = {
  payment: {
    parse: parsePayment,
    valueNames: paymentValues,
    aliases: paymentAliases,
    distinctiveMembers: ['appOrderId'],
  },
  transfer: {
    parse: parseTransfer,
    valueNames: transferValues,
    aliases: transferAliases,
    distinctiveMembers: ['transfer_id', 'withdraw_id'],
  },
  web3: {
    parse: parseWeb3,
    valueNames: web3Values,
    aliases: web3Aliases,
    distinctiveMembers: ['trans_id', 'main_chain_symbol', 'input_data', 'interactive_contract'],
  },
};

/** The kinds that a co-signer sends. */
const COSIGNER_KINDS = KINDS.filter((kind) => kind !== 'payment');

/**
 * Parses a co-signer's callback. Its members determine its kind, which must be one of `expected`, the kinds
 * that the URL serves. A callback that fits no kind, or more than one, is refused. A member that is null
 * doesn't count.
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
  const found = kindsOf(members);
  const [kind] = found;
  if (kind === undefined || found.length > 1 || !expected.includes(kind)) {
    const kinds = found.length === 0 ? 'no callback' : found.join(' and ');
    return failure(
      'KIND_UNEXPECTED',
      `the members are those of ${kinds}; this URL serves ${expected.join(' and ')}`,
      { shown: found, expected },
    );
  }
  return callbackKinds[kind].parse(members, source, bounds);
}

/** The kinds of which a co-signer's callback has members that no other kind has. */
const kindsOf = (members: Members): readonly Kind[] =>
  COSIGNER_KINDS.filter((kind) =>
    callbackKinds[kind].distinctiveMembers.some((name) => isPresent(members.get(name))),
  );

/**
 * The subject that an unreadable callback is about, for people who look for its id; the empty text if its id
 * can't be read either. `expected` are the kinds that its URL serves.
 */
export function claimedSubject(members: Members, expected: readonly Kind[]): string {
  const kind = [...kindsOf(members), ...expected].find((each) => expected.includes(each)) ?? 'payment';
  const name = kind === 'payment' ? 'appOrderId' : 'request_id';
  const read = parseWith(() => requiredText(members, name, IDENTIFIER));
  return read.ok ? subjectOf({ kind, id: read.callback }) : '';
}

const isPresent = (member: Member | undefined): boolean => member !== undefined && member.kind !== 'null';

export const SELF_CHECK_TYPE = 'verify_public_hash';

const HASH = { pattern: VISIBLE, maxLength: 256, need: 'required' } as const;

/** The members of a self-check, besides its type. */
export const SELF_CHECK_TEXTS = {
  app_id: HASH,
  client_system_pubkey_hash: HASH,
  verify_sign_pub_hash: HASH,
} as const satisfies Readonly<Record<string, TextMember>>;

/**
 * Parses the co-signer's question whether both sides hold the same public keys. The co-signer sends it when
 * its operator checks the settings.
 */
function parseSelfCheck(members: Members, source: string): Parsed<SelfCheck> {
  return parseWith(() => ({
    kind: 'self-check',
    source,
    appId: readText(members, SELF_CHECK_TEXTS, 'app_id'),
    clientHash: readText(members, SELF_CHECK_TEXTS, 'client_system_pubkey_hash'),
    verifyHash: readText(members, SELF_CHECK_TEXTS, 'verify_sign_pub_hash'),
  }));
}

/**
 * A recorded callback, parsed again from its body or plaintext, or a sentence that says why it can't be read. The
 * bounds at the time of recording don't matter: the callback was within them.
 */
export function parseRecorded(kind: Kind, source: string, text: string): Callback | string {
  const decoded = readMembers(text);
  const parsed = decoded.ok
    ? callbackKinds[kind].parse(decoded.members, source, { outputs: Infinity })
    : decoded;
  return parsed.ok ? parsed.callback : `its body can't be read: ${parsed.because}`;
}
