import type { OrderSource } from '../orders/orders.ts';
import { type AnswerFormat, jsonAnswer, plainAnswer } from '../callback/answer.ts';
import type { Kind } from '../callback/callback.ts';
import { PAYMENT_MEMBERS, PAYMENT_OPTIONAL } from '../callback/payment.ts';
import type { CallbackUrl } from '../http/public.ts';
import type { AnswerRecipient } from '../pipeline/arrival.ts';
import type { Settings, SourceSettings } from '../settings/schema.ts';
import { PAYMENT_PATH } from '../settings/sources.ts';
import { type Authenticator, compileAuthenticator } from '../signature/authenticate.ts';
import type { DecryptionThreads } from '../signature/blocks.ts';
import { claimedAppKey } from '../signature/payments.ts';
import type { ReadSecret } from '../values/secret.ts';

/** Reads the keys of all sources. Throws one error that lists every key that can't be read. */
export function authenticatorOf(
  settings: Settings,
  readSecret: ReadSecret,
  threads?: DecryptionThreads,
): Authenticator {
  return compileAuthenticator(settings.sources, {
    readSecret,
    threads,
    grammar: PAYMENT_MEMBERS,
    optional: PAYMENT_OPTIONAL,
  });
}

/** The kinds of callback that a source may send. */
export function kindsOf(source: SourceSettings): readonly Kind[] {
  if (source.callback === 'payment') return ['payment'];
  const { withdraw, web3 } = source.paths;
  return [
    ...(withdraw === undefined ? [] : ['transfer' as const]),
    ...(web3 === undefined ? [] : ['web3' as const]),
  ];
}

/** The sources in the form that the functions for orders need. */
export function orderSources({ sources }: Pick<Settings, 'sources'>): readonly OrderSource[] {
  return sources.map((source) => ({
    name: source.name,
    kinds: kindsOf(source),
    schemes: source.callback === 'payment' ? [...new Set(source.signatures.map(({ scheme }) => scheme))] : [],
  }));
}

/** Whether a source's orders are bound to the scheme of their first callback. */
export function schemeBinding(sources: Settings['sources']): (source: string) => boolean {
  const free = new Set(
    sources.flatMap((source) => (source.callback === 'payment' && !source.bindScheme ? [source.name] : [])),
  );
  return (source) => !free.has(source);
}

/** The form of the answers to a source. */
export function answerFormatOf(source: SourceSettings): AnswerFormat {
  if (source.callback !== 'payment' || source.answer === 'plain') return plainAnswer;
  return source.answer === 'json' ? jsonAnswer : source.answer;
}

/**
 * The form of an answer. An authenticated source has its own form. Otherwise the path of a co-signer names
 * the source.
 *
 * All payments arrive on one path. If all their sources have one form, unknown senders get it too. If not,
 * the appKey in the body selects the form. Without an appKey, or without a body, the answer is plain.
 */
export function answerFormats(sources: Settings['sources']): (recipient: AnswerRecipient) => AnswerFormat {
  const byName = new Map(sources.map((source) => [source.name, answerFormatOf(source)]));
  const payments = sources.filter((source) => source.callback === 'payment');
  const byAppKey = new Map(payments.map((source) => [source.appKey, answerFormatOf(source)]));
  const distinct = new Map(payments.map(answerFormatOf).map((format) => [JSON.stringify(format), format]));
  const [shared] = distinct.size === 1 ? distinct.values() : [];
  return ({ route, source, members }) => {
    const claimedSource = source ?? (route.callback === 'cosigner' ? route.source : undefined);
    if (claimedSource !== undefined) return byName.get(claimedSource) ?? plainAnswer;
    if (shared !== undefined || members === undefined) return shared ?? plainAnswer;
    const appKey = claimedAppKey(members);
    return (appKey === undefined ? undefined : byAppKey.get(appKey)) ?? plainAnswer;
  };
}

const PAYMENTS: CallbackUrl = { path: PAYMENT_PATH, route: { callback: 'payment' }, secret: false };

/** The URLs that the public port serves. */
export function callbackUrls(sources: readonly SourceSettings[]): readonly CallbackUrl[] {
  return [PAYMENTS, ...sources.flatMap(urlsOf)];
}

function urlsOf(source: SourceSettings): readonly CallbackUrl[] {
  if (source.callback === 'payment') return [];
  const { withdraw, web3 } = source.paths;
  const secret = source.authenticate.some(
    (credential) => typeof credential === 'object' && 'path' in credential,
  );
  const paths = new Set([withdraw, web3].filter((path) => path !== undefined));
  return [...paths].map((path) => ({
    path,
    secret,
    route: {
      callback: 'cosigner',
      source: source.name,
      expected: [
        ...(path === withdraw ? (['transfer'] as const) : []),
        ...(path === web3 ? (['web3'] as const) : []),
      ],
    },
  }));
}
