import type { Callback, Kind, ParseBounds } from '../callback/callback.ts';
import { callbackKinds } from '../callback/kinds.ts';
import { usageError } from '../errors.ts';
import { type Member, decodeMembers } from '../values/members.ts';

/** The members that may be left out without a body. The id is that of no real callback. */
const DEFAULTS: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  payment: { appOrderId: 'simulated' },
  transfer: { type: 'sign_start', request_id: 'simulated', transfer_id: '1', memo: '' },
  web3: {
    type: 'sign_start',
    request_id: 'simulated',
    trans_id: '1',
    amount: '0',
    input_data: '',
    interactive_contract: '',
  },
};

/**
 * A callback to simulate, without a signature. `body` is the text of a body, an empty one for none; `members`
 * are set over its members, by their names on the wire or in policies. A body is parsed as it is: what it lacks
 * is missing. Throws USAGE, with the member that is missing, wrong or unknown.
 */
export function simulatedCallback(
  { kind, source, outputs }: { readonly kind: Kind; readonly source: string } & ParseBounds,
  { body, members }: { readonly body: string; readonly members: Readonly<Record<string, string>> },
): Callback {
  const all = body.trim() === '' ? defaultMembers(kind, members) : bodyMembers(body);
  for (const [name, text] of Object.entries(members)) all.set(wireName(kind, name), memberOf(name, text));
  const parsed = callbackKinds[kind].parse(all, source, { outputs });
  // Without a misspelt member, another callback would be simulated.
  const misspelt = parsed.ok
    ? Object.keys(members).find((name) => parsed.callback.unknown.includes(name))
    : undefined;
  if (parsed.ok && misspelt === undefined) return parsed.callback;
  const because = parsed.ok ? `a ${kind} callback has no member ${JSON.stringify(misspelt)}` : parsed.because;
  const isUnknown = parsed.ok || parsed.code === 'MEMBER_UNKNOWN';
  const fix = isUnknown
    ? `Known here: ${callbackKinds[kind].valueNames.join(', ')}`
    : 'Give the member a value';
  throw usageError(`it can't be simulated: ${because}. ${fix}`);
}

/** The number of a withdrawal is in `transfer_id` or `withdraw_id`, so only one of them is needed. */
function defaultMembers(kind: Kind, given: Readonly<Record<string, string>>): Map<string, Member> {
  const texts = Object.entries(DEFAULTS[kind]).filter(
    ([name]) => name !== 'transfer_id' || !Object.hasOwn(given, 'withdraw_id'),
  );
  return new Map(texts.map(([name, text]) => [name, { kind: 'string', text }]));
}

function bodyMembers(body: string): Map<string, Member> {
  const decoded = decodeMembers(Buffer.from(body));
  if (decoded.ok) return new Map(decoded.members);
  throw usageError(
    `the callback can't be read: ${decoded.because}. Give the JSON object that arrives, without an envelope`,
  );
}

/** The name of a member on the wire: `orderAmount` for `amount` of a payment. */
function wireName(kind: Kind, name: string): string {
  const { aliases } = callbackKinds[kind];
  if (Object.hasOwn(DEFAULTS[kind], name)) return name;
  return Object.entries(aliases).find(([, canonical]) => canonical === name)?.[0] ?? name;
}

/** A text, as most members are; `pending_round` is a JSON boolean. */
const memberOf = (name: string, text: string): Member =>
  name === 'pending_round' && (text === 'true' || text === 'false')
    ? { kind: 'boolean', text }
    : { kind: 'string', text };
