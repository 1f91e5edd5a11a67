import { createHmac } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type Fault, faultsOf } from './faults.ts';
import { type Json, exactNumber } from './json.ts';
import { type Answer, post, shownAnswer } from './post.ts';
import { randomOf } from './random.ts';
import type { Running } from './running.ts';
import { more, withSignFaults } from './sign-faults.ts';
import type { Signing } from './state.ts';

type Step = 'sign_prepare' | 'sign_start' | 'sign_success';

/** The co-signer: it looks for what is pending, and asks before it signs. */
export interface Cosigner {
  /**
   * Takes everything that is pending one round further. Resolves with the number of requests it looked at.
   */
  poll(): Promise<number>;
  /** Asks whether the receiver has the same public keys. Resolves with its answer, or the reason for none. */
  selfCheck(): Promise<string>;
}

export function createCosigner(parts: Running): Cosigner {
  const { state } = parts;
  let polling: Promise<number> | undefined;
  const pollOnce = async (): Promise<number> => {
    const pending = state.signings.filter((each) => each.status === 'pending');
    for (const signing of pending) await round(signing, parts);
    return pending.length;
  };
  return {
    // A poll that begins while another one runs is that one, so that no request is asked about twice at once.
    poll: () => (polling ??= pollOnce().finally(() => (polling = undefined))),
    selfCheck: () => selfCheck(parts),
  };
}

const SIGN_FAULTS = faultsOf('sign');

/** One round: prepare, start, and, once it is signed, success. A speed-up is another round. */
async function round(signing: Signing, parts: Running): Promise<void> {
  // The one fault with which it is signed, if any.
  const fault = SIGN_FAULTS.find((each) => parts.faults.occurs(each, signing.requestId));
  const isFirst = signing.signed === 0;
  const isReordered = parts.faults.occurs('reorder', ...labelsOf(signing));
  const honest = isReordered ? (['reorder'] as const) : [];
  const steps: readonly Step[] = isReordered
    ? ['sign_start', 'sign_prepare']
    : ['sign_prepare', 'sign_start'];
  let isRefused = false;
  for (const step of fault === 'sign-unasked' ? [] : steps) {
    const why = await ask(signing, { step, speedUp: !isFirst }, honest, parts);
    if (why === undefined) continue;
    isRefused = true;
    if (fault === 'sign-refused') continue;
    signing.refused++;
    if (signing.refused >= parts.refusalsMax) signing.status = 'ignored';
    return;
  }
  const isApplied =
    fault === 'sign-unasked' || (fault === 'sign-refused' ? isRefused : fault !== undefined && isFirst);
  const applied = isApplied && fault !== undefined ? [fault] : [];
  await sign(signing, [...honest, ...applied], parts);
  if (fault === 'sign-twice' && isFirst) await sign(signing, applied, parts);
  signing.signed++;
  if (signing.signed <= signing.speedUps) return;
  signing.status = 'signed';
  if (fault === 'sign-speed-up') await sign(signing, [fault], parts);
}

const labelsOf = ({ requestId, signed, refused }: Signing) => [requestId, signed, refused] as const;

/** Signs, and reports it. */
async function sign(signing: Signing, applied: readonly Fault[], parts: Running): Promise<void> {
  const { requestId, txids, signed } = signing;
  const txid = `0x${randomOf(parts.state.seed, 'txid', requestId, txids.length).hex(64)}`;
  txids.push(txid);
  await ask(signing, { step: 'sign_success', speedUp: signed > 0, txid }, applied, parts);
}

/** What a call of the receiver is about. */
interface About {
  readonly step: Step;
  readonly speedUp: boolean;
  readonly txid?: string;
}

const aboutCall = ({ kind, requestId }: Signing, { step, speedUp }: About): string =>
  `${kind} ${requestId} ${step}${speedUp ? ' speed-up' : ''}`;

/**
 * Resolves with undefined for SUCCESS, else with the reason. Of several answers the last untampered one
 * counts.
 */
async function ask(
  signing: Signing,
  about: About,
  applied: readonly Fault[],
  parts: Running,
): Promise<string | undefined> {
  // The id is one of the terms, so it must not change from one call to the next.
  const occurring = CALL_FAULTS[signing.kind].filter((fault) =>
    fault === 'wire-big-id'
      ? parts.faults.occurs(fault, signing.requestId)
      : parts.faults.occurs(fault, ...labelsOf(signing), about.step),
  );
  if (occurring.includes('late')) await wait(parts.lateMs);
  const isTampering = (fault: Fault): boolean => fault.startsWith('tamper-');
  const tamperings = about.step === 'sign_success' ? [] : occurring.filter(isTampering);
  const honest = [...occurring.filter((fault) => !isTampering(fault)), ...applied];
  let refused = await call(signing, about, honest, parts);
  if (occurring.includes('repeat')) refused = await call(signing, about, honest, parts);
  for (const tampering of tamperings) await call(signing, about, [...honest, tampering], parts);
  return refused;
}

const COMMON = ['late', 'repeat', 'tamper-credential', 'tamper-terms', 'wire-text', 'wire-big-id'] as const;

const CALL_FAULTS: Readonly<Record<Signing['kind'], readonly Fault[]>> = {
  transfer: [...COMMON, 'tamper-outputs'],
  web3: COMMON,
};

/** Posts to the custom URL of a kind, with the credential of the co-signer. */
function send(
  kind: Signing['kind'],
  body: Json,
  { withdrawUrl, web3Url, cosignerCredential: credential, timeoutMs }: Running,
  token: string,
): Promise<Answer> {
  const segment = credential.in === 'path' ? `/${encodeURIComponent(token)}` : '';
  return post({
    url: `${kind === 'web3' ? web3Url : withdrawUrl}${segment}`,
    headers: {
      'content-type': 'application/json;charset=UTF-8',
      ...(credential.in === 'header' && { [credential.name]: token }),
    },
    body: JSON.stringify(body),
    timeoutMs,
  });
}

async function call(
  signing: Signing,
  about: About,
  faults: readonly Fault[],
  parts: Running,
): Promise<string | undefined> {
  const body = bodyOf(withSignFaults(signing, faults), about, faults);
  const { token } = parts.credentials;
  const presented = faults.includes('tamper-credential') ? `${token}-other` : token;
  const answer = await send(signing.kind, body, parts, presented);
  const yes = answer.ok && answer.status === 200 && answer.text === 'SUCCESS';
  const tampered = faults.some((fault) => fault.startsWith('tamper-'));
  const why = yes
    ? tampered
      ? 'the receiver said yes to a tampered call'
      : 'the receiver said yes'
    : answer.ok
      ? 'the receiver did not say SUCCESS'
      : answer.why;
  parts.log.add({
    kind: 'cosigner',
    about: aboutCall(signing, about),
    outcome: shownAnswer(answer),
    why,
    faults,
  });
  return yes ? undefined : why;
}

/** Above 2^53, so that a reader with binary floating point would get another number. */
const BIG_ID = '9007199254740993000000';

function bodyOf(signing: Signing, { step, speedUp, txid = '' }: About, faults: readonly Fault[]): Json {
  const has = (fault: Fault): boolean => faults.includes(fault);
  const amount = has('tamper-terms') ? more(signing.amount) : signing.amount;
  const idText = has('wire-big-id')
    ? BIG_ID.slice(0, -String(signing.id).length) + signing.id
    : String(signing.id);
  const numberOf = (decimal: string): Json => (has('wire-text') ? decimal : exactNumber(decimal));
  const id = numberOf(idText);
  const common = {
    type: step,
    ...(signing.kind === 'web3' ? { trans_id: id } : { transfer_id: id }),
    request_id: signing.requestId,
    pending_round: speedUp,
    from: signing.from,
    to: signing.to,
    amount: numberOf(amount),
  };
  if (signing.kind === 'transfer') {
    const outputs = has('tamper-outputs') ? shortOutputs(signing) : signing.outputs;
    return { ...common, symbol: signing.symbol, ...withoutEmpty({ memo: signing.memo, txid, outputs }) };
  }
  return {
    ...common,
    main_chain_symbol: signing.symbol,
    input_data: signing.inputData,
    interactive_contract: signing.contract,
    ...withoutEmpty({ txid }),
  };
}

const withoutEmpty = (members: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(members).filter(([, text]) => text !== ''));

/** One output to the recipient, of more than the amount. */
function shortOutputs({ to, amount }: Signing): string {
  return JSON.stringify([{ address_to: to, amount: more(amount) }]);
}

async function selfCheck(parts: Running): Promise<string> {
  const { appKey, token, selfCheck: keys } = parts.credentials;
  const hash = (key: string): string => createHmac('sha256', appKey).update(key).digest('hex');
  const body = {
    app_id: appKey,
    client_system_pubkey_hash: hash(keys.clientSystemKey),
    verify_sign_pub_hash: hash(keys.verifySignKey),
    type: 'verify_public_hash',
  };
  const answer = await send('transfer', body, parts, token);
  const outcome = answer.ok ? answer.text : answer.why;
  parts.log.add({ kind: 'cosigner', about: 'verify_public_hash', outcome: shownAnswer(answer), why: '' });
  return outcome;
}
