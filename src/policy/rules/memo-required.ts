import { z } from 'zod';
import { assetFix, unknownSymbols } from '../language/assets.ts';
import { fixFor } from '../fault.ts';
import { textList } from '../language/parameter.ts';
import { type RuleOutcome, pass, refuse } from '../outcome.ts';
import type { RuleContext } from '../rule-context.ts';
import { defineRule } from './rule.ts';

export const memoRequired = defineRule({
  name: 'memo-required',
  summary: 'A withdrawal of an asset that needs a memo (a tag) to reach its owner must have one.',
  callbacks: ['transfer'],
  parameters: z.strictObject({
    assets: textList
      .optional()
      .describe('The symbols that need a memo. They replace those of the asset table.'),
  }),
  compile: ({ assets: named }, context) => {
    if (!checkSymbols(named, context)) return undefined;
    const { assets } = context;
    const needing = named && new Set(named);
    return {
      evaluate: (callback) => {
        if (callback.kind !== 'transfer') return refuse(`a ${callback.kind} callback has no memo`);
        const { symbol, memo } = callback.texts;
        const needs = needing === undefined ? assets.get(symbol)?.memo : needing.has(symbol);
        return judge(symbol, memo, needs);
      },
    };
  },
});

function judge(symbol: string, memo: string, needs: boolean | undefined): RuleOutcome {
  if (needs === undefined) {
    return refuse(`the asset table does not have ${symbol}`, { symbol });
  }
  if (!needs) return pass(`${symbol} needs no memo`, { symbol });
  if (memo.trim() !== '') return pass(`the memo is ${memo}`, { symbol, memo });
  return refuse(`${symbol} needs a memo, and there is none`, { symbol });
}

/** Whether the policy can apply to each symbol. The asset of a misspelt symbol would pass without a memo. */
function checkSymbols(named: readonly string[] | undefined, context: RuleContext): boolean {
  const symbols = [...(context.when.get('symbol') ?? [])];
  if (named === undefined) {
    const unknown = unknownSymbols(symbols, context.assets);
    for (const symbol of unknown) {
      context.fault([], `the asset table does not have ${symbol}`, assetFix(symbol, context.assets));
    }
    return unknown.length === 0;
  }
  if (symbols.length === 0) return true;
  const unknown = named.filter((symbol) => !symbols.includes(symbol));
  for (const symbol of unknown) {
    context.fault(['assets'], `under when, the policy is not for ${symbol}`, fixFor(symbol, symbols));
  }
  return unknown.length === 0;
}
