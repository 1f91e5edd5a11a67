import { encodeFunctionData, encodePacked, parseAbi } from 'viem/utils';

/*
 * What transactions do to balances, as far as the contracts of these tests go: each call is written as data
 * and is also carried out. It shares no code with the service, and its only source is what the contracts do
 * on the chain.
 */

export type Hex = `0x${string}`;

const name = (digit: string): Hex => `0x${digit.repeat(40)}`;

export const ME = name('a');
const PARTNER = name('b');
/** Somebody who does not take coins. */
const CLOSED = name('c');
/** Safes: one of ours, and one of somebody else. */
export const SAFE = name('1');
export const OTHER_SAFE = name('2');
export const MULTISEND = name('3');
/** Anybody may let it call, and anybody may take what it holds. */
export const MULTICALL3 = name('4');
/** An account whose failing calls fail as a whole. */
export const ACCOUNT = name('5');
/** An account that goes on if one of its calls fails. */
export const LENIENT = name('6');
export const ROUTER = name('7');
export const WETH = name('8');
export const USDT = name('9');
export const DAI = name('d');

export const ADDRESSES: readonly Hex[] = [
  ME,
  PARTNER,
  CLOSED,
  SAFE,
  OTHER_SAFE,
  MULTISEND,
  MULTICALL3,
  ACCOUNT,
  LENIENT,
  ROUTER,
  WETH,
  USDT,
  DAI,
];

/** A call. `value` is in wei, as far as the wrapper around it can say so. */
export type Op = { readonly value: bigint } & (
  | { readonly is: 'plain'; readonly to: Hex }
  | { readonly is: 'transfer' | 'approve'; readonly token: Hex; readonly to: Hex; readonly amount: bigint }
  | {
      readonly is: 'transferFrom';
      readonly token: Hex;
      readonly from: Hex;
      readonly to: Hex;
      readonly amount: bigint;
    }
  | { readonly is: 'deposit' }
  | { readonly is: 'withdraw'; readonly amount: bigint }
  /** USDT of the caller, for as many DAI to somebody. */
  | { readonly is: 'swap'; readonly amount: bigint; readonly to: Hex | 'caller' }
  /** Coins, of which half come back to the caller. */
  | { readonly is: 'refund' }
  | { readonly is: 'multicall'; readonly ops: readonly Op[] }
  | {
      readonly is: 'safe';
      readonly safe: Hex;
      readonly op: Op;
      readonly safeTxGas: bigint;
      readonly gasPrice: bigint;
      readonly refundReceiver: Hex;
    }
  | { readonly is: 'batch of a safe'; readonly safe: Hex; readonly ops: readonly Op[] }
  | { readonly is: 'module'; readonly safe: Hex; readonly op: Op }
  | { readonly is: 'execute'; readonly account: Hex; readonly op: Op }
  | { readonly is: 'forward'; readonly account: Hex; readonly op: Op }
  | { readonly is: 'executeBatch'; readonly account: Hex; readonly ops: readonly Op[] }
  | { readonly is: 'aggregate'; readonly ops: readonly Op[] }
  | { readonly is: 'tryAggregate'; readonly requireSuccess: boolean; readonly ops: readonly Op[] }
  | {
      readonly is: 'aggregate3' | 'aggregate3Value';
      readonly ops: readonly { readonly allowFailure: boolean; readonly op: Op }[];
    }
);

// ---- as data ----

const encoded = (signature: string, args: readonly unknown[]): Hex => {
  const lines: readonly string[] = [`function ${signature}`];
  return encodeFunctionData({ abi: parseAbi(lines), args: [...args] });
};

export function contractOf(op: Op): Hex {
  switch (op.is) {
    case 'plain':
      return op.to;
    case 'transfer':
    case 'approve':
    case 'transferFrom':
      return op.token;
    case 'deposit':
    case 'withdraw':
      return WETH;
    case 'swap':
    case 'refund':
    case 'multicall':
      return ROUTER;
    case 'safe':
    case 'batch of a safe':
    case 'module':
      return op.safe;
    case 'execute':
    case 'forward':
    case 'executeBatch':
      return op.account;
    case 'aggregate':
    case 'tryAggregate':
    case 'aggregate3':
    case 'aggregate3Value':
  }
  return MULTICALL3;
}

const zero = `0x${'0'.repeat(40)}`;

/** The call data of a call that an address makes. */
export function dataOf(op: Op, caller: Hex): Hex {
  const self = contractOf(op);
  const [to, data] = ['op' in op ? contractOf(op.op) : zero, 'op' in op ? dataOf(op.op, self) : '0x'];
  switch (op.is) {
    case 'plain':
      return '0x';
    case 'transfer':
    case 'approve':
      return encoded(`${op.is}(address,uint256)`, [op.to, op.amount]);
    case 'transferFrom':
      return encoded('transferFrom(address,address,uint256)', [op.from, op.to, op.amount]);
    case 'deposit':
      return encoded('deposit()', []);
    case 'withdraw':
      return encoded('withdraw(uint256)', [op.amount]);
    case 'swap':
      return encoded('swap(uint256,address)', [op.amount, op.to === 'caller' ? caller : op.to]);
    case 'refund':
      return encoded('refund()', []);
    case 'multicall':
      return encoded('multicall(bytes[])', [op.ops.map((each) => dataOf(each, caller))]);
    case 'safe':
      return execTransaction(to, op.op.value, data, 0, op);
    case 'batch of a safe': {
      const packed = op.ops.map((each) => {
        const inner = dataOf(each, self);
        return encodePacked(
          ['uint8', 'address', 'uint256', 'uint256', 'bytes'],
          [0, contractOf(each), each.value, BigInt(inner.length / 2 - 1), inner],
        ).slice(2);
      });
      return execTransaction(MULTISEND, 0n, encoded('multiSend(bytes)', [`0x${packed.join('')}`]), 1);
    }
    case 'module':
      return encoded('execTransactionFromModule(address,uint256,bytes,uint8)', [to, op.op.value, data, 0]);
    case 'execute':
      return encoded('execute(address,uint256,bytes)', [to, op.op.value, data]);
    case 'forward':
      return encoded('execute(address,bytes)', [to, data]);
    case 'executeBatch':
      return encoded('executeBatch((address,uint256,bytes)[])', [
        op.ops.map((each) => [contractOf(each), each.value, dataOf(each, self)]),
      ]);
    case 'aggregate':
      return encoded('aggregate((address,bytes)[])', [
        op.ops.map((each) => [contractOf(each), dataOf(each, self)]),
      ]);
    case 'tryAggregate':
      return encoded('tryAggregate(bool,(address,bytes)[])', [
        op.requireSuccess,
        op.ops.map((each) => [contractOf(each), dataOf(each, self)]),
      ]);
    case 'aggregate3':
      return encoded('aggregate3((address,bool,bytes)[])', [
        op.ops.map((each) => [contractOf(each.op), each.allowFailure, dataOf(each.op, self)]),
      ]);
    case 'aggregate3Value':
  }
  return encoded('aggregate3Value((address,bool,uint256,bytes)[])', [
    op.ops.map((each) => [contractOf(each.op), each.allowFailure, each.op.value, dataOf(each.op, self)]),
  ]);
}

const execTransaction = (
  to: string,
  value: bigint,
  data: string,
  operation: number,
  { safeTxGas = 0n, gasPrice = 0n, refundReceiver = zero } = {},
): Hex =>
  encoded('execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)', [
    to,
    value,
    data,
    operation,
    safeTxGas,
    0n,
    gasPrice,
    zero,
    refundReceiver,
    '0x',
  ]);

// ---- carried out ----

export const COINS = 'coins';
/** By asset (a token's contract, or coins) and owner. */
export type Balances = ReadonlyMap<string, bigint>;
export const placeOf = (asset: string, owner: string): string => `${asset} of ${owner}`;

class Reverted extends Error {}

/** The balances after a transaction of {@link ME}; undefined if it fails as a whole. */
export function balancesAfter(op: Op, before: Balances): Balances | undefined {
  const world = new World(before);
  try {
    world.call(op, ME, op.value);
    return world.balances;
  } catch (thrown) {
    if (thrown instanceof Reverted) return undefined;
    throw thrown;
  }
}

class World {
  balances: Map<string, bigint>;
  #allowances = new Map<string, bigint>();

  constructor(balances: Balances) {
    this.balances = new Map(balances);
  }

  /** Sends coins along, and runs the code of the contract. */
  call(op: Op, caller: Hex, value: bigint): void {
    const to = contractOf(op);
    this.#move(COINS, caller, to, value);
    if (op.is === 'plain' && (to === CLOSED || to === USDT || to === DAI)) throw new Reverted();
    // Its fallback makes a deposit.
    if (op.is === 'plain' && to === WETH) this.#mint(WETH, caller, value);
    this.#run(op, caller, to, value);
  }

  /** Runs the code of a contract; `self` is the address as which it runs. */
  #run(op: Op, caller: Hex, self: Hex, value: bigint): void {
    switch (op.is) {
      case 'plain':
        return;
      case 'transfer':
        this.#notPayable(value);
        return this.#move(op.token, caller, op.to, op.amount);
      case 'approve':
        this.#notPayable(value);
        this.#allowances.set(`${op.token} ${caller} ${op.to}`, op.amount);
        return;
      case 'transferFrom':
        this.#notPayable(value);
        return this.#take(op.token, op.from, caller, op.to, op.amount);
      case 'deposit':
        return this.#mint(WETH, caller, value);
      case 'withdraw':
        this.#notPayable(value);
        this.#mint(WETH, caller, -op.amount);
        return this.#move(COINS, WETH, caller, op.amount);
      case 'swap':
        this.#notPayable(value);
        this.#take(USDT, caller, self, self, op.amount);
        return this.#move(DAI, self, op.to === 'caller' ? caller : op.to, op.amount);
      case 'refund':
        return this.#move(COINS, self, caller, value / 2n);
      case 'multicall':
        // Each runs as the router, for its caller, and sees the same coins.
        for (const each of op.ops) this.#delegated(each, caller, self, value);
        return;
      case 'safe':
        if (op.gasPrice > 0n) this.#move(COINS, self, op.refundReceiver, op.gasPrice);
        // Before version 1.3 it goes on in any case.
        return this.#attempt(op.safeTxGas > 0n || self === OTHER_SAFE, () =>
          this.call(op.op, self, op.op.value),
        );
      case 'batch of a safe':
        // MultiSend runs as the Safe.
        for (const each of op.ops) this.call(each, self, each.value);
        return;
      case 'module':
        this.#notPayable(value);
        return this.#attempt(true, () => this.call(op.op, self, op.op.value));
      case 'execute':
        return this.#attempt(self === LENIENT, () => this.call(op.op, self, op.op.value));
      case 'forward':
        return this.#attempt(self === LENIENT, () => this.call(op.op, self, value));
      case 'executeBatch':
        for (const each of op.ops) {
          this.#attempt(self === LENIENT, () => this.call(each, self, each.value));
        }
        return;
      case 'aggregate':
        for (const each of op.ops) this.call(each, self, 0n);
        return;
      case 'tryAggregate':
        for (const each of op.ops) this.#attempt(!op.requireSuccess, () => this.call(each, self, 0n));
        return;
      case 'aggregate3':
        for (const { allowFailure, op: each } of op.ops) {
          this.#attempt(allowFailure, () => this.call(each, self, 0n));
        }
        return;
      case 'aggregate3Value':
        for (const { allowFailure, op: each } of op.ops) {
          this.#attempt(allowFailure, () => this.call(each, self, each.value));
        }
    }
  }

  #delegated(op: Op, caller: Hex, self: Hex, value: bigint): void {
    if (contractOf(op) !== self) throw new Reverted();
    this.#run(op, caller, self, value);
  }

  #attempt(mayFail: boolean, run: () => void): void {
    const before = [new Map(this.balances), new Map(this.#allowances)] as const;
    try {
      run();
    } catch (thrown) {
      if (!mayFail || !(thrown instanceof Reverted)) throw thrown;
      [this.balances, this.#allowances] = before;
    }
  }

  #notPayable(value: bigint): void {
    if (value > 0n) throw new Reverted();
  }

  #take(token: Hex, owner: Hex, spender: Hex, to: Hex, amount: bigint): void {
    const key = `${token} ${owner} ${spender}`;
    const allowed = this.#allowances.get(key) ?? 0n;
    if (owner !== spender) {
      if (allowed < amount) throw new Reverted();
      this.#allowances.set(key, allowed - amount);
    }
    this.#move(token, owner, to, amount);
  }

  #mint(token: Hex, owner: Hex, amount: bigint): void {
    const place = placeOf(token, owner);
    const balance = (this.balances.get(place) ?? 0n) + amount;
    if (balance < 0n) throw new Reverted();
    this.balances.set(place, balance);
  }

  #move(asset: string, from: Hex, to: Hex, amount: bigint): void {
    const [taken, given] = [placeOf(asset, from), placeOf(asset, to)];
    const left = (this.balances.get(taken) ?? 0n) - amount;
    if (left < 0n) throw new Reverted();
    this.balances.set(taken, left);
    this.balances.set(given, (this.balances.get(given) ?? 0n) + amount);
  }
}
