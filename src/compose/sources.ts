import type { OrderSource } from '../announce/orders.ts';
import { type AnswerFormat, jsonAnswer, plainAnswer } from '../callback/answer.ts';
import type { Kind } from '../callback/callback.ts';
import type { Settings, SourceSettings } from '../settings/schema.ts';

/** The kinds of callback that a source may send. */
export function kindsOf(source: SourceSettings): readonly Kind[] {
  if (source.callback === 'payment') return ['payment'];
  const { withdraw, web3 } = source.paths;
  return [
    ...(withdraw === undefined ? [] : ['transfer' as const]),
    ...(web3 === undefined ? [] : ['web3' as const]),
  ];
}

/** The sources of the settings, as orders must fit them. */
export function orderSources({ sources }: Pick<Settings, 'sources'>): readonly OrderSource[] {
  return sources.map((source) => ({
    name: source.name,
    kinds: kindsOf(source),
    schemes: source.callback === 'payment' ? [...new Set(source.signatures.map(({ scheme }) => scheme))] : [],
  }));
}

/** The bytes by which a source is answered. */
export function answerFormatOf(source: SourceSettings): AnswerFormat {
  if (source.callback !== 'payment' || source.answer === 'plain') return plainAnswer;
  return source.answer === 'json' ? jsonAnswer : source.answer;
}
