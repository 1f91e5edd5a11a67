import { encodeAbiParameters, parseAbiParameters } from 'viem/utils';
import { describe, expect, it } from 'vitest';
import { NOON, evaluateAt, faultsOf, release } from '../callbacks.ts';
import {
  DAI,
  MAX160,
  ME,
  PARTNER,
  PERMIT2,
  THIEF,
  type Transaction,
  USDT,
  WETH,
  call,
  callbackOf,
  withWord,
  SAFE,
  UNIVERSAL,
  ZERO,
  EXEC,
} from './transactions.ts';

/** What a router takes for its caller, and for itself. */
const CALLER = `0x${'1'.padStart(40, '0')}`;
const ITSELF = `0x${'2'.padStart(40, '0')}`;
const UNIT = 1_000_000n;
const ETHER = 10n ** 18n;

const entry = (method: string, where: string, more = ''): string =>
  `        - { contract: '${UNIVERSAL}', method: ${method}, where: ${where}${more} }\n`;
const SWAP_TOKENS = `['${USDT}', '${WETH}']`;

const POLICY = `policy: one
callback: web3
when: { main_chain_symbol: ETH }
rules:
  - contract-calls:
      multicall: { depth: 2, calls: 4 }
      calls:
        - { contract: '${UNIVERSAL}', method: 'execute(bytes,bytes[])', value: { max: 1 } }
        - { contract: '${UNIVERSAL}', method: 'execute(bytes,bytes[],uint256)', value: { max: 1 }, where: { deadline: any } }
${entry('V3_SWAP_EXACT_IN', `{ recipient: { is: caller }, amountIn: { max: 1000, decimals: 6 }, amountOutMin: { min: 1 }, path.tokenIn: { values: '${USDT}' }, path.tokenOut: { values: ['${WETH}', '${USDT}'] }, path.tokens: { values: ${SWAP_TOKENS} }, path.fees: { values: [500, 3000] }, payerIsUser: { values: true }, allowRevert: { values: false } }`)}\
${entry('V3_SWAP_EXACT_OUT', `{ recipient: { values: '${UNIVERSAL}' }, amountOut: { min: 1 }, amountInMax: { max: 1000, decimals: 6 }, path.tokenIn: { values: '${WETH}' }, path.tokenOut: { values: '${USDT}' }, path.tokens: any, path.fees: any, payerIsUser: any, allowRevert: { values: false } }`)}\
${entry('V2_SWAP_EXACT_IN', `{ recipient: { is: sender }, amountIn: { max: 1000, decimals: 6 }, amountOutMin: { min: 1 }, path.tokenIn: { values: '${USDT}' }, path.tokenOut: { values: '${WETH}' }, path.tokens: { values: ${SWAP_TOKENS} }, payerIsUser: any, allowRevert: { values: false } }`)}\
${entry('PERMIT2_PERMIT', `{ permitSingle.details.token: { values: '${USDT}' }, permitSingle.details.amount: { max: 1000, decimals: 6 }, permitSingle.details.expiration: any, permitSingle.details.nonce: any, permitSingle.spender: { values: '${UNIVERSAL}' }, permitSingle.sigDeadline: any, signature: any, allowRevert: any }`)}\
${entry('WRAP_ETH', `{ recipient: { values: '${UNIVERSAL}' }, amount: { max: 1, decimals: 18 }, allowRevert: { values: false } }`)}\
${entry('UNWRAP_WETH', `{ recipient: { is: caller }, amountMin: { min: 1 }, allowRevert: { values: false } }`)}\
${entry('SWEEP', `{ token: { values: '${USDT}' }, recipient: { is: caller }, amountMin: any, allowRevert: { values: false } }`)}\
        - contract: '${SAFE}'
          method: ${EXEC}
          where: { safeTxGas: any, baseGas: any, gasPrice: { values: 0 }, gasToken: any, refundReceiver: any, signatures: any }
`;
const policies = release(POLICY);

const judge = (transaction: Transaction) => {
  const [result] = evaluateAt(policies, callbackOf(transaction), NOON).results;
  if (result === undefined) throw new Error('the policy did not apply');
  return result;
};

type Command = readonly [byte: number, input: string];
const encoded = (types: string, ...values: readonly unknown[]): string => {
  const text: string = types;
  return encodeAbiParameters(parseAbiParameters(text), values);
};
const path = (first: string, ...hops: readonly (readonly [fee: number, token: string])[]): string =>
  first + hops.map(([fee, token]) => fee.toString(16).padStart(6, '0') + token.slice(2)).join('');
const SWAP = 'address, uint256, uint256, bytes, bool';
const ROUTE = path(USDT, [500, WETH]);

interface Swap {
  readonly recipient?: string;
  readonly amountIn?: bigint;
  readonly route?: string;
  readonly payerIsUser?: boolean;
  readonly byte?: number;
}
const v3 = ({
  recipient = CALLER,
  amountIn = 400n * UNIT,
  route = ROUTE,
  payerIsUser = true,
  byte = 0,
}: Swap = {}): Command => [byte, encoded(SWAP, recipient, amountIn, 1n, route, payerIsUser)];
const v3Out = (recipient: string): Command => [1, encoded(SWAP, recipient, 1n, 5n, ROUTE, true)];
const v2 = (recipient: string, ...tokens: readonly string[]): Command => [
  8,
  encoded('address, uint256, uint256, address[], bool', recipient, 5n, 1n, tokens, true),
];
const permit = (spender: string, amount: bigint, byte = 0x8a): Command => [
  byte,
  encoded(
    '((address, uint160, uint48, uint48), address, uint256), bytes',
    [[USDT, amount, 1, 2], spender, 9n],
    '0x1234',
  ),
];
const wrap = (recipient: string, amount: bigint): Command => [
  0x0b,
  encoded('address, uint256', recipient, amount),
];
const unwrap = (recipient: string): Command => [0x0c, encoded('address, uint256', recipient, 1n)];
const sweep = (recipient: string): Command => [4, encoded('address, address, uint256', USDT, recipient, 0n)];

const bytesOf = (commands: readonly Command[]): string =>
  `0x${commands.map(([byte]) => byte.toString(16).padStart(2, '0')).join('')}`;
const execute = (...commands: readonly Command[]): string =>
  call(
    'execute(bytes,bytes[],uint256)',
    bytesOf(commands),
    commands.map(([, each]) => each),
    9n,
  );
const routed = (...commands: readonly Command[]): Transaction => ({
  contract: UNIVERSAL,
  data: execute(...commands),
});
const raw = (commands: string, inputs: readonly string[]): Transaction => ({
  contract: UNIVERSAL,
  data: call('execute(bytes,bytes[])', commands, inputs),
});
const bySafe = (...commands: readonly Command[]): Transaction => ({
  contract: SAFE,
  data: call(EXEC, UNIVERSAL, 0n, execute(...commands), 0, 0n, 0n, 0n, ZERO, ZERO, '0x'),
});

describe('the commands of a Universal Router pass', () => {
  it.each<[string, Transaction]>([
    ['a swap whose recipient is the caller by its short form', routed(v3())],
    ['a swap whose recipient is written out', routed(v3({ recipient: ME }))],
    ['a swap over two pools', routed(v3({ route: path(USDT, [500, WETH], [3000, USDT]) }))],
    ['without a deadline', raw('0x00', [v3()[1]])],
    ['a permit that may fail, and a swap', routed(permit(UNIVERSAL, 1000n * UNIT), v3())],
    ['coins that the router wraps, and a swap', { ...routed(wrap(ITSELF, ETHER), v3()), amount: '1' }],
    ['a swap into the router, and what is unwrapped', routed(v3Out(ITSELF), unwrap(CALLER))],
    ['a swap of the second version', routed(v2(ME, USDT, WETH))],
    ['the rest of a token', routed(sweep(CALLER))],
    ['what a Safe swaps for itself', bySafe(v3())],
  ])('%s', (_, transaction) => {
    expect(judge(transaction)).toMatchObject({ verdict: 'pass' });
  });

  it('and are reported with their inputs', () => {
    expect(judge(bySafe(v3())).values).toMatchObject({
      'call1.path': 'execTransaction > execute',
      'call1.1.path': 'execTransaction > execute > V3_SWAP_EXACT_IN',
      'call1.1.contract': UNIVERSAL,
      'call1.1.method': 'V3_SWAP_EXACT_IN',
      'call1.1.args.recipient': SAFE,
      'call1.1.args.amountIn': '400',
      'call1.1.args.path.tokens': `${USDT} ${WETH}`,
      'call1.1.args.path.fees': '500',
      'call1.1.args.allowRevert': 'false',
    });
    // The path of an exact output begins with the token that is bought.
    const out: Command = [1, encoded(SWAP, ITSELF, 1n, 5n, path(USDT, [500, DAI], [3000, WETH]), true)];
    expect(judge(routed(out)).values).toMatchObject({
      'call1.args.path.tokenIn': WETH,
      'call1.args.path.tokenOut': USDT,
      'call1.args.path.tokens': `${WETH} ${DAI} ${USDT}`,
      'call1.args.path.fees': '3000 500',
    });
  });
});

describe('the commands of a Universal Router are refused:', () => {
  const on = `of ${UNIVERSAL} is not allowed`;
  it.each<[string, Transaction, string]>([
    [
      'a swap to a stranger',
      routed(v3({ recipient: THIEF })),
      `call 1: recipient ${THIEF} is not the caller ${ME}`,
    ],
    [
      'a swap to the router, where a stranger could take it',
      routed(v3({ recipient: ITSELF })),
      `call 1: recipient ${UNIVERSAL} is not the caller ${ME}`,
    ],
    [
      'what a Safe swaps for the sender',
      bySafe(v3({ recipient: ME })),
      `call 1.1: recipient ${ME} is not the caller ${SAFE}`,
    ],
    [
      'what a Safe swaps for itself, where only the sender may have it',
      bySafe(v2(CALLER, USDT, WETH)),
      `call 1.1: recipient ${SAFE} is not the sender ${ME}`,
    ],
    [
      'another token in the path',
      routed(v3({ route: path(USDT, [500, THIEF], [500, WETH]) })),
      `call 1: path.tokens ${THIEF} is not among the values of the policy`,
    ],
    [
      'a path the other way round, whose amounts have other units',
      routed(v3({ route: path(WETH, [500, USDT]) })),
      `call 1: path.tokenIn ${WETH} is not among the values of the policy`,
    ],
    [
      'the same of the second version',
      routed(v2(ME, WETH, USDT)),
      `call 1: path.tokenIn ${WETH} is not among the values of the policy`,
    ],
    [
      'a path to another token',
      routed(v3({ route: path(USDT, [500, WETH], [500, THIEF]) })),
      `call 1: path.tokenOut ${THIEF} is not among the values of the policy`,
    ],
    [
      'a path of the second version with one token',
      routed(v2(ME, USDT)),
      'call 1: V2_SWAP_EXACT_IN: path is not a list of tokens, with a fee between each two if it is packed',
    ],
    [
      'another pool in the path',
      routed(v3({ route: path(USDT, [10_000, WETH]) })),
      'call 1: path.fees 10000 is not among the values of the policy',
    ],
    [
      'a path of one token',
      routed(v3({ route: USDT })),
      'call 1: V3_SWAP_EXACT_IN: path is not a list of tokens, with a fee between each two if it is packed',
    ],
    [
      'a path with half a token',
      routed(v3({ route: `${ROUTE}00` })),
      'call 1: V3_SWAP_EXACT_IN: path is not a list of tokens, with a fee between each two if it is packed',
    ],
    [
      'an empty path',
      routed(v3({ route: '0x' })),
      'call 1: V3_SWAP_EXACT_IN: path is not a list of tokens, with a fee between each two if it is packed',
    ],
    [
      'more than the limit',
      routed(v3({ amountIn: 1000n * UNIT + 1n })),
      'call 1: amountIn 1000.000001 is above the maximum 1000',
    ],
    [
      'more than the limit over two swaps',
      routed(v3({ amountIn: 600n * UNIT }), v3({ amountIn: 600n * UNIT })),
      'call 2: amountIn of V3_SWAP_EXACT_IN is 1200 over all calls together, above the maximum 1000',
    ],
    [
      'all that the router has',
      routed(v3({ amountIn: 2n ** 255n })),
      'call 1: amountIn of V3_SWAP_EXACT_IN is unlimited, and that is not allowed',
    ],
    [
      'what the router pays',
      routed(v3({ payerIsUser: false })),
      'call 1: payerIsUser false is not among the values of the policy',
    ],
    [
      'a swap that may fail',
      routed(v3({ byte: 0x80 })),
      'call 1: allowRevert true is not among the values of the policy',
    ],
    ['a byte that some routers take for a swap', routed(v3({ byte: 0x40 })), 'the command 0x40 is unknown'],
    ['the same with the flag', routed(v3({ byte: 0xc0 })), 'the command 0xc0 is unknown'],
    [
      'a command for NFTs',
      routed([0x10, encoded('uint256, bytes', 1n, '0x')]),
      'the command 0x10 is unknown',
    ],
    [
      'a plan of commands',
      routed([0x21, encoded('bytes, bytes[]', '0x00', [v3()[1]])]),
      'the command 0x21 is unknown',
    ],
    ['the placeholder', routed([0x07, '0x']), 'the command 0x07 is unknown'],
    ['an unknown command behind an allowed one', routed(v3(), [0x10, '0x']), 'the command 0x10 is unknown'],
    [
      'a command without an entry',
      routed([5, encoded('address, address, uint256', USDT, THIEF, 1n)]),
      `call 1: TRANSFER ${on}`,
    ],
    [
      'a permit for a stranger',
      routed(permit(THIEF, 1n)),
      `call 1: permitSingle.spender ${THIEF} is not among the values of the policy`,
    ],
    [
      'a permit without a limit',
      routed(permit(UNIVERSAL, MAX160)),
      'call 1: permitSingle.details.amount of PERMIT2_PERMIT is unlimited, and that is not allowed',
    ],
    [
      'the rest of a token for a stranger',
      routed(sweep(THIEF)),
      `call 1: recipient ${THIEF} is not the caller ${ME}`,
    ],
    [
      'what is unwrapped for a stranger',
      routed(unwrap(THIEF)),
      `call 1: recipient ${THIEF} is not the caller ${ME}`,
    ],
    [
      'more coins than the router may have',
      { ...routed(v3()), amount: '1.1' },
      'the native value 1.1 of execute(bytes,bytes[],uint256) is above the maximum 1',
    ],
    ['no command', raw('0x', []), 'execute(bytes,bytes[]) contains no call'],
    ['more commands than inputs', raw('0x0000', [v3()[1]]), 'there are 2 commands and 1 inputs'],
    ['more inputs than commands', raw('0x00', [v3()[1], v3()[1]]), 'there are 1 commands and 2 inputs'],
    [
      'more commands than the bound',
      routed(v3(), v3(), v3(), v3(), v3()),
      'there are at least 5 inner calls; at most 4 are allowed',
    ],
    [
      'an input that is missing',
      raw('0x00', ['0x']),
      'call 1: V3_SWAP_EXACT_IN: the data ends within recipient',
    ],
    [
      'an input that is cut short',
      raw('0x00', [v3()[1].slice(0, -64)]),
      'call 1: V3_SWAP_EXACT_IN: path claims a length of 43, and there is room for 32',
    ],
    [
      'bytes behind an input',
      raw('0x00', [`${v3()[1]}00`]),
      'call 1: V3_SWAP_EXACT_IN: 1 bytes follow the last argument',
    ],
    [
      'the input of another command',
      raw('0x00', [wrap(ME, 1n)[1]]),
      'call 1: V3_SWAP_EXACT_IN: the data ends within amountOutMin',
    ],
    [
      'a path whose offset leads elsewhere',
      raw('0x00', [input(3, 0x80n)]),
      'call 1: V3_SWAP_EXACT_IN: the offset of path is 128 and must be 160',
    ],
    [
      'a recipient with dirty bytes',
      raw('0x00', [input(0, (1n << 160n) + BigInt(ME))]),
      'call 1: V3_SWAP_EXACT_IN: recipient is not an address: its upper bytes are not zero',
    ],
    [
      'a flag that is 2',
      raw('0x00', [input(4, 2n)]),
      'call 1: V3_SWAP_EXACT_IN: payerIsUser is neither true nor false',
    ],
    [
      'a swap with the inputs of a later version',
      raw('0x00', [encoded(`${SWAP}, uint256[]`, ME, 1n, 1n, ROUTE, true, [])]),
      'call 1: V3_SWAP_EXACT_IN: the offset of path is 192 and must be 160',
    ],
    [
      'a call of another contract that is no router',
      { ...routed(v3()), contract: PERMIT2 },
      `no call of the contract ${PERMIT2} is allowed`,
    ],
    [
      'the name of a command instead of a selector',
      { contract: UNIVERSAL, data: `0x${Buffer.from('V3_SWAP_EXACT_IN').toString('hex')}` },
      `an unknown method (0x56335f53) ${on}`,
    ],
  ])('%s', (_, transaction, because) => {
    const result = judge(transaction);
    expect({ verdict: result.verdict, because: result.because }).toEqual({ verdict: 'refuse', because });
  });
});

/** The inputs of a swap with one word replaced. */
function input(index: number, word: bigint): string {
  return `0x${withWord(`0x00000000${v3()[1].slice(2)}`, index, word).slice(10)}`;
}

describe('an entry for a command is at fault', () => {
  const faults = (entries: string): readonly string[] =>
    faultsOf(
      `policy: one\ncallback: web3\nwhen: { symbol: ETH }\nrules:\n  - contract-calls: { calls: [${entries}] }\n`,
    );

  it('without a condition on whether it may fail', () => {
    const where = '{ recipient: any, amountMin: any }';
    expect(faults(`{ contract: '${UNIVERSAL}', method: UNWRAP_WETH, where: ${where} }`)).toEqual([
      expect.stringContaining('UNWRAP_WETH: there is no condition on allowRevert'),
    ]);
  });

  it('with a limit whose decimals are not given', () => {
    const where = '{ recipient: any, amount: { max: 1 }, allowRevert: any }';
    expect(faults(`{ contract: '${UNIVERSAL}', method: WRAP_ETH, where: ${where} }`)).toEqual([
      expect.stringContaining('amount is an amount, and its decimals are not given'),
    ]);
  });

  it('with a condition on the commands as a whole', () => {
    const where = '{ commands: any, inputs: any }';
    expect(
      faults(`{ contract: '${PARTNER}', method: 'execute(bytes,bytes[])', where: ${where} }`),
    ).toContainEqual(expect.stringContaining('commands describes the inner calls'));
  });
});
