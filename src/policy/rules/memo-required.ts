import { z } from 'zod';
import { assetFix, unknownSymbols } from '../assets.ts';
import { fixFor } from '../fault.ts';
import { textList } from './parameter.ts';
import { type RuleOutcome, pass, refuse } from '../outcome.ts';
import type { RuleContext } from '../rule-context.ts';
import { defineRule } from './rule.ts';

export const memoRequired = defineRule({
  name: 'memo-required',
  summary: 'A withdrawal of an asset that needs a memo (a tag) to reach its owner must have one.',
  notes: [
    'Without `assets`, the asset table says which assets need a memo (`memo: required`). An ' +
      'asset that is not in the table is refused.',
    'With `assets`, the table is not used, and all other assets pass without a memo.',
    'A memo of blanks, or a destination tag on Ripple that is not a whole number, is refused ' +
      'before any rule.',
    'This rule accepts any memo. An allow-list of `[to, symbol, memo]` binds a memo to its address.',
  ],
  callbacks: ['transfer'],
  parameters: z.strictObject({
    assets: textList
      .optional()
      .describe('The symbols that need a memo. They replace those of the asset table.'),
  }),
  example: `policy: tags-are-there
callback: transfer
when: { source: vault, symbol: [XRP, ETH] }
rules:
  - memo-required: {}
`,
  files: {
    'assets.yaml': `assets:
  XRP: { chain: ripple, decimals: 6, memo: required }
  ETH: { chain: evm, decimals: 18 }
`,
  },
  cases: `tests:
  - test: an asset that needs a memo passes with one, any other without
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: rPEPPER7kfTD9w2To4CQk6UCfuHM9c6GDY,
            to: rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh, amount: '25', symbol: XRP, memo: '12345' }
        expect: SUCCESS
      - source: vault
        transfer:
          { request_id: r2, from: '0x52908400098527886E0F7030069857D2E4169EE7',
            to: '0x8617E340B3D01FA5F11F306F4090FD50E238070D', amount: '1', symbol: ETH }
        expect: SUCCESS
  - test: without its memo it is refused, and so is an asset that no policy names
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: rPEPPER7kfTD9w2To4CQk6UCfuHM9c6GDY,
            to: rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh, amount: '25', symbol: XRP }
        expect: { verdict: FAILURE, rule: memo-required#1, values: { symbol: XRP } }
      - source: vault
        transfer: { request_id: r2, from: one, to: two, amount: '1', symbol: EOS, memo: '7' }
        expect: { verdict: FAILURE, code: NO_POLICY }
`,
  compile: ({ assets: named }, context) => {
    if (!checkSymbols(named, context)) return undefined;
    const { assets } = context;
    const needing = named && new Set(named);
    return {
      evaluate: (callback) => {
        if (callback.kind !== 'transfer') return refuse(`a ${callback.kind} callback has no memo`);
        const { symbol, memo } = callback;
        const needs = needing === undefined ? assets.get(symbol)?.memo : needing.has(symbol);
        return judge(symbol, memo, needs);
      },
    };
  },
});

function judge(symbol: string, memo: string | undefined, needs: boolean | undefined): RuleOutcome {
  if (needs === undefined) {
    return refuse(`the asset table does not have ${symbol}`, { symbol });
  }
  if (!needs) return pass(`${symbol} needs no memo`, { symbol });
  const given = memo ?? '';
  if (given.trim() !== '') return pass(`the memo is ${given}`, { symbol, memo: given });
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
