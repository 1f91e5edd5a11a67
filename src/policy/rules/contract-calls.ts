import { z } from 'zod';
import { toComparableEntry } from '../../values/comparable.ts';
import {
  type Condition,
  compileCondition,
  conditionText,
  listsOf,
  readListedText,
} from '../calls/condition.ts';
import { type Entry, compileEntry, entryShape, readContracts } from '../calls/entry.ts';
import { type MethodTable, methodTable } from '../calls/method-table.ts';
import { nameIn } from '../calls/methods.ts';
import type { Reading } from '../calls/read.ts';
import { type AllowedTransactions, type PlainTransfer, evaluateTransaction } from '../calls/transaction.ts';
import { placesOfCalls } from '../calls/inner-calls.ts';
import { HIGHER, looserIf } from '../language/looser.ts';
import { type Duration, amountText, textList, wholeUpTo } from '../language/parameter.ts';
import { refuse } from '../outcome.ts';
import { type RuleContext, checkNames } from '../rule-context.ts';
import { type ListedRead, defineRule } from './rule.ts';

const ENTRIES_MAX = 500;
const CALLS = `a list of at most ${ENTRIES_MAX} entries, each with contract and method`;
const DEPTH_MAX = 4;
const CALLS_MAX = 256;

const parameters = z
  .strictObject({
    calls: z
      .array(entryShape, { error: CALLS })
      .min(1, { error: CALLS })
      .max(ENTRIES_MAX, { error: CALLS })
      .optional()
      .describe(
        'The calls that pass. Each entry has `contract` and `method` (its signature; both may ' +
          'be lists). `where` has a condition for every argument: `any`, or `values`, `file`, ' +
          '`list`, `not-list`, `is: sender`, `is: caller`, `min`, `max`, `each`, `within`, ' +
          '`atLeast`. An amount needs `decimals` or `asset`. Optional are `unlimited: allowed`, ' +
          '`value: { max }` for native coins sent along, `recipient`, the argument whose address ' +
          '`to` may have instead of the contract, `trailing: { max }` for bytes behind the ' +
          'arguments, `calls` for calls in arguments of your own ABI, and `delegatecall: ' +
          'allowed`. Several entries for one contract and method are alternatives.',
      ),
    plain: z
      .looseObject({
        max: amountText.register(looserIf, HIGHER),
        to: conditionText.optional(),
      })
      .meta({ additionalProperties: false })
      .optional()
      .describe(
        'Transfers of native coins without call data: `max`, and a condition for `to`. Without ' +
          '`plain`, they are refused.',
      ),
    multicall: z
      .looseObject({
        depth: wholeUpTo(DEPTH_MAX).register(looserIf, HIGHER),
        calls: wholeUpTo(CALLS_MAX).register(looserIf, HIGHER),
      })
      .meta({ additionalProperties: false })
      .optional()
      .describe(
        'Allows entries for methods that contain calls: nested up to `depth` (at most ' +
          `${DEPTH_MAX}), with up to \`calls\` calls (at most ${CALLS_MAX}). Without ` +
          '`multicall`, they are refused.',
      ),
    accounts: textList
      .optional()
      .describe(
        'Accounts of your own, beside the sender: contracts such as your Safe. What stays with them, or comes ' +
          'to them, moves to nobody else, and `is: caller` may be one of them. Never name a contract that ' +
          'anybody may call, such as Multicall3.',
      ),
    abis: textList
      .optional()
      .describe('Files beside the policy with more methods: a signature a line, or a JSON ABI.'),
  })
  .superRefine(({ calls, plain }, context) => {
    if (calls !== undefined || plain !== undefined) return;
    context.addIssue({
      code: 'custom',
      message: 'it has neither calls nor plain, so no transaction could pass',
      params: { fix: 'give at least one of them' },
    });
  });

type Written = z.output<typeof parameters>;

export const contractCalls = defineRule({
  name: 'contract-calls',
  summary:
    'The transaction must be a call of a listed contract and method, with arguments that meet ' +
    'its conditions.',
  namesCalls: true,
  callbacks: ['web3'],
  parameters,
  compile: (written, context) => {
    const allowed = compileAllowed(written, context);
    return (
      allowed && {
        allowedCalls: allowed,
        lists: listsNamed(written),
        readListed: (list, value) => readListedArgument(allowed, list, value),
        ...maxPriceAgeOf(written),
        evaluate: (callback, facts) =>
          callback.kind === 'web3'
            ? evaluateTransaction(allowed, callback, facts)
            : refuse('it is not a web3 transaction'),
      }
    );
  },
});

function compileAllowed(
  { calls = [], plain, multicall, accounts = [], abis }: Written,
  context: RuleContext,
): AllowedTransactions | undefined {
  const networks = context.when.get('symbol') ?? new Set();
  if (networks.size === 0) {
    const fix = 'write main_chain_symbol under when, like when: { main_chain_symbol: ETH }';
    context.fault(
      [],
      'the policy names no network, and an address is another contract on another network',
      fix,
    );
    return undefined;
  }
  const table = methodTable(abis ?? [], context);
  const isKnown =
    multicall === undefined || checkNames(multicall, ['depth', 'calls'], ['multicall'], context);
  const plainTransfer = compilePlain(plain, context);
  const ours = readContracts(accounts, ['accounts'], context);
  if (table === undefined || ours === undefined) return undefined;
  const entries = calls.map((entry, index) => compileEntry(entry, table, ['calls', index], context));
  warnOfUnreadable(table, calls, context);
  const wrapperIndex = entries.findIndex((methods) =>
    methods.some(({ method }) => method.innerCalls !== undefined),
  );
  if (wrapperIndex >= 0 && multicall === undefined) {
    const message = 'a method that holds other calls is allowed, and multicall is not given';
    context.fault(
      ['calls', wrapperIndex, 'method'],
      message,
      'write multicall: { depth: 1, calls: 16 } beside calls',
    );
  }
  if (entries.some((methods) => methods.length === 0) || !isKnown || plainTransfer === 'faulty')
    return undefined;
  if (wrapperIndex >= 0 && multicall === undefined) return undefined;
  if (!agreeOnCalls(entries, context) || !areOurs(ours, entries.flat(), context)) return undefined;
  const byContract = indexed(entries.flat());
  const reading = { methodOf: methodLookup(byContract, table), nesting: multicall };
  return { networks, entries: byContract, plain: plainTransfer, accounts: new Set(ours), reading };
}

/**
 * Checks that a method of a contract contains calls by all of its entries, in the same arguments, or by none.
 */
function agreeOnCalls(entries: readonly (readonly Entry[])[], context: RuleContext): boolean {
  const known = new Map<string, string>();
  for (const [index, methods] of entries.entries()) {
    for (const { contracts, method } of methods) {
      const text = placesOfCalls(method.innerCalls);
      for (const key of contracts.map((contract) => `${contract} ${method.selector}`)) {
        if ((known.get(key) ?? text) !== text) {
          const message = `another entry for ${method.signature} of the same contract has other calls`;
          context.fault(['calls', index], message, 'write the same calls in all of its entries');
          return false;
        }
        known.set(key, text);
      }
    }
  }
  return true;
}

/** Checks that no account of ours is a contract that anybody may call. */
function areOurs(accounts: readonly string[], entries: readonly Entry[], context: RuleContext): boolean {
  const open = entries.find(
    ({ contracts, method }) =>
      method.traits.isForAnybody === true && contracts.some((contract) => accounts.includes(contract)),
  );
  if (open === undefined) return true;
  const account = open.contracts.find((contract) => accounts.includes(contract)) ?? '';
  const message = `anybody may call ${nameIn(open.method.signature)} of ${account}, and take what it holds`;
  context.fault(['accounts'], message, 'leave it out');
  return false;
}

/** The strictest age of prices among the conditions. */
function maxPriceAgeOf({ calls = [] }: Written): { readonly maxPriceAge?: Duration } {
  const ages = calls
    .flatMap(({ where }) => Object.values(where ?? {}))
    .flatMap((condition) => (typeof condition === 'object' ? (condition.atLeast?.maxAge ?? []) : []))
    .sort((one, other) => one.ms - other.ms);
  return ages[0] === undefined ? {} : { maxPriceAge: ages[0] };
}

/** Warns of methods of ABI files that can't be read and that no entry names. An entry has a fault instead. */
function warnOfUnreadable(
  { unreadable }: MethodTable,
  calls: NonNullable<Written['calls']>,
  context: RuleContext,
): void {
  const named = new Set(calls.flatMap(({ method }) => method.map(nameIn)));
  for (const { name, because, ...place } of unreadable.filter((each) => !named.has(each.name))) {
    const what = name === '' ? 'a method' : `the method ${name}`;
    const message = `${what} can't be read: ${because}`;
    context.warn(place, message, 'correct it, or remove it; no call of it passes');
  }
}

/** Reads a value of a list as one of the arguments that are looked up in it. */
function readListedArgument(
  { entries, plain }: AllowedTransactions,
  list: string,
  written: string,
): ListedRead {
  const methods = [...entries.values()].flatMap((bySelector) => [...bySelector.values()].flat());
  const conditions = [...methods.flatMap((method) => method.conditions), plain?.to];
  const reads = conditions.flatMap((condition) =>
    condition?.lists.some((each) => each.list === list) === true
      ? [readListedText(written, condition.argument)]
      : [],
  );
  const texts = [...new Set(reads.flatMap((read) => ('text' in read ? [read.text] : [])))];
  const [first = toComparableEntry(written), ...others] = texts;
  const wrong = reads.find((read) => 'because' in read);
  return wrong !== undefined && texts.length === 0
    ? { ok: false, because: wrong.because }
    : { ok: true, texts: [first, ...others] };
}

/** The lists of the store that conditions look up. */
function listsNamed({ calls = [], plain }: Written): readonly string[] {
  const conditions = [...calls.flatMap(({ where }) => Object.values(where ?? {})), plain?.to];
  return conditions.flatMap((condition) =>
    typeof condition === 'object' ? listsOf(condition).map(({ list }) => list) : [],
  );
}

/** Finds the method of the entries for a contract and selector, or says why there is none. */
function methodLookup(
  entries: AllowedTransactions['entries'],
  { bySelector }: MethodTable,
): Reading['methodOf'] {
  return (contract, selector) => {
    const found = entries.get(contract)?.get(selector) ?? [];
    const [entry] = found;
    if (entry !== undefined) {
      return { method: entry.method, trailingMax: Math.max(...found.map(({ trailingMax }) => trailingMax)) };
    }
    const signature = bySelector.get(selector);
    const values = { contract, selector, ...(signature === undefined ? {} : { method: signature }) };
    if (!entries.has(contract)) return { because: `no call of the contract ${contract} is allowed`, values };
    const named = signature === selector ? signature : `${signature ?? 'an unknown method'} (${selector})`;
    return { because: `${named} of ${contract} is not allowed`, values };
  };
}

function indexed(entries: readonly Entry[]): AllowedTransactions['entries'] {
  const byContract = new Map<string, Map<string, Entry[]>>();
  for (const entry of entries) {
    for (const contract of entry.contracts) {
      const bySelector = byContract.get(contract) ?? new Map<string, Entry[]>();
      const { selector } = entry.method;
      bySelector.set(selector, [...(bySelector.get(selector) ?? []), entry]);
      byContract.set(contract, bySelector);
    }
  }
  return byContract;
}

function compilePlain(written: Written['plain'], context: RuleContext): PlainTransfer | undefined | 'faulty' {
  if (written === undefined) return undefined;
  if (!checkNames(written, ['max', 'to'], ['plain'], context)) return 'faulty';
  const { max, to = 'any' } = written;
  if (to === 'any') return { max, to: undefined };
  const argument: Condition['argument'] = { path: 'to', steps: [], type: { kind: 'address' } };
  const condition = compileCondition(
    to,
    { argument, decimals: undefined, isAmount: false, isSummed: false },
    ['plain', 'to'],
    context,
  );
  return condition === undefined ? 'faulty' : { max, to: condition };
}
