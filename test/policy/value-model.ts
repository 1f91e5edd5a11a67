import fc from 'fast-check';
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
export interface Op {
  readonly value: bigint;
  readonly contract: Hex;
  /** Its call data, if somebody makes the call. */
  readonly data: (caller: Hex) => Hex;
  /** Runs the code of the contract; `self` is the address as which it runs. */
  readonly run: (
    world: World,
    call: { readonly caller: Hex; readonly self: Hex; readonly value: bigint },
  ) => void;
}

type Call = Omit<Op, 'value'>;
type Ops = readonly Op[];

const zero = name('0');

function calling(
  contract: Hex,
  signature: string,
  args: readonly unknown[] | ((caller: Hex) => readonly unknown[]),
  run: Op['run'],
): Call {
  const abi = parseAbi([`function ${signature}`] as readonly string[]);
  const data = (caller: Hex): Hex =>
    encodeFunctionData({ abi, args: [...(typeof args === 'function' ? args(caller) : args)] });
  return {
    contract,
    data,
    run,
    [fc.toStringMethod]: () => `${signature} of ${contract}: ${data(ME)}`,
  } as Call;
}

/** A call of a method that takes no coins. */
const unpaid = (...[contract, signature, args, run]: Parameters<typeof calling>): Call =>
  calling(contract, signature, args, (world, call) => {
    if (call.value > 0n) throw new Reverted();
    run(world, call);
  });

export const plain = (to: Hex): Call => ({
  contract: to,
  data: () => '0x',
  run(world, { caller, value }) {
    if (to === CLOSED || to === USDT || to === DAI) throw new Reverted();
    // Its fallback makes a deposit.
    if (to === WETH) world.mint(WETH, caller, value);
  },
});

export const transfer = (token: Hex, to: Hex, amount: bigint): Call =>
  unpaid(token, 'transfer(address,uint256)', [to, amount], (world, { caller }) =>
    world.move(token, caller, to, amount),
  );

export const approve = (token: Hex, to: Hex, amount: bigint): Call =>
  unpaid(token, 'approve(address,uint256)', [to, amount], (world, { caller }) =>
    world.allow(token, caller, to, amount),
  );

export const transferFrom = (token: Hex, from: Hex, to: Hex, amount: bigint): Call =>
  unpaid(token, 'transferFrom(address,address,uint256)', [from, to, amount], (world, { caller }) =>
    world.take(token, from, caller, to, amount),
  );

export const deposit = calling(WETH, 'deposit()', [], (world, { caller, value }) =>
  world.mint(WETH, caller, value),
);

export const withdraw = (amount: bigint): Call =>
  unpaid(WETH, 'withdraw(uint256)', [amount], (world, { caller }) => {
    world.mint(WETH, caller, -amount);
    world.move(COINS, WETH, caller, amount);
  });

/** USDT of the caller, for as many DAI to somebody. */
export const swap = (amount: bigint, to: Hex | 'caller'): Call => {
  const recipient = (caller: Hex): Hex => (to === 'caller' ? caller : to);
  const args = (caller: Hex): readonly unknown[] => [amount, recipient(caller)];
  return unpaid(ROUTER, 'swap(uint256,address)', args, (world, { caller, self }) => {
    world.take(USDT, caller, self, self, amount);
    world.move(DAI, self, recipient(caller), amount);
  });
};

/** Coins, of which half come back to the caller. */
export const refund = calling(ROUTER, 'refund()', [], (world, { caller, self, value }) =>
  world.move(COINS, self, caller, value / 2n),
);

/** Each runs as the router, for its caller, and sees the same coins. */
export const multicall = (ops: Ops): Call =>
  calling(
    ROUTER,
    'multicall(bytes[])',
    (caller) => [ops.map((each) => each.data(caller))],
    (world, call) => {
      for (const each of ops) {
        if (each.contract !== call.self) throw new Reverted();
        each.run(world, call);
      }
    },
  );

/** A call that a wrapper makes, with how many coins, and whether the wrapper goes on if it fails. */
type Made = readonly [op: Op, value: bigint, mayFail: boolean];

const making =
  (...calls: readonly Made[]): Op['run'] =>
  (world, { self }) => {
    for (const [op, value, mayFail] of calls) world.attempt(mayFail, () => world.call(op, self, value));
  };

export interface SafeFees {
  readonly safeTxGas: bigint;
  readonly gasPrice: bigint;
  readonly refundReceiver: Hex;
}

const EXEC = 'execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)';

export const ofSafe = (safe: Hex, op: Op, { safeTxGas, gasPrice, refundReceiver }: SafeFees): Call =>
  calling(
    safe,
    EXEC,
    [op.contract, op.value, op.data(safe), 0, safeTxGas, 0n, gasPrice, zero, refundReceiver, '0x'],
    (world, call) => {
      if (gasPrice > 0n) world.move(COINS, safe, refundReceiver, gasPrice);
      // Before version 1.3 it goes on in any case.
      making([op, op.value, safeTxGas > 0n || safe === OTHER_SAFE])(world, call);
    },
  );

/** MultiSend runs as the Safe. */
export const batchOfSafe = (safe: Hex, ops: Ops): Call => {
  const packed = ops.map((each) => {
    const data = each.data(safe);
    return encodePacked(
      ['uint8', 'address', 'uint256', 'uint256', 'bytes'],
      [0, each.contract, each.value, BigInt(data.length / 2 - 1), data],
    ).slice(2);
  });
  const send = calling(MULTISEND, 'multiSend(bytes)', [`0x${packed.join('')}`], making()).data(safe);
  const args = [MULTISEND, 0n, send, 1, 0n, 0n, 0n, zero, zero, '0x'];
  return calling(safe, EXEC, args, making(...ops.map((each): Made => [each, each.value, false])));
};

export const byModule = (safe: Hex, op: Op): Call => {
  const args = [op.contract, op.value, op.data(safe), 0];
  const signature = 'execTransactionFromModule(address,uint256,bytes,uint8)';
  return unpaid(safe, signature, args, making([op, op.value, true]));
};

export const execute = (account: Hex, op: Op): Call => {
  const args = [op.contract, op.value, op.data(account)];
  const run = making([op, op.value, account === LENIENT]);
  return calling(account, 'execute(address,uint256,bytes)', args, run);
};

/** Sends on the coins that it gets. */
export const forward = (account: Hex, op: Op): Call =>
  calling(account, 'execute(address,bytes)', [op.contract, op.data(account)], (world, call) =>
    making([op, call.value, account === LENIENT])(world, call),
  );

export const executeBatch = (account: Hex, ops: Ops): Call => {
  const args = [ops.map((each) => [each.contract, each.value, each.data(account)])];
  const run = making(...ops.map((each): Made => [each, each.value, account === LENIENT]));
  return calling(account, 'executeBatch((address,uint256,bytes)[])', args, run);
};

const inMulticall3 = ({ contract, data }: Op): readonly [Hex, Hex] => [contract, data(MULTICALL3)];

export const aggregate = (ops: Ops): Call => {
  const run = making(...ops.map((each): Made => [each, 0n, false]));
  return calling(MULTICALL3, 'aggregate((address,bytes)[])', [ops.map(inMulticall3)], run);
};

export const tryAggregate = (requireSuccess: boolean, ops: Ops): Call => {
  const args = [requireSuccess, ops.map(inMulticall3)];
  const run = making(...ops.map((each): Made => [each, 0n, !requireSuccess]));
  return calling(MULTICALL3, 'tryAggregate(bool,(address,bytes)[])', args, run);
};

type MayFail = readonly { readonly allowFailure: boolean; readonly op: Op }[];

export const aggregate3 = (calls: MayFail): Call => {
  const args = [calls.map(({ allowFailure, op }) => [op.contract, allowFailure, op.data(MULTICALL3)])];
  const run = making(...calls.map(({ op, allowFailure }): Made => [op, 0n, allowFailure]));
  return calling(MULTICALL3, 'aggregate3((address,bool,bytes)[])', args, run);
};

export const aggregate3Value = (calls: MayFail): Call => {
  const args = [
    calls.map(({ allowFailure, op }) => [op.contract, allowFailure, op.value, op.data(MULTICALL3)]),
  ];
  const run = making(...calls.map(({ op, allowFailure }): Made => [op, op.value, allowFailure]));
  return calling(MULTICALL3, 'aggregate3Value((address,bool,uint256,bytes)[])', args, run);
};

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
    this.move(COINS, caller, op.contract, value);
    op.run(this, { caller, self: op.contract, value });
  }

  attempt(mayFail: boolean, run: () => void): void {
    const before = [new Map(this.balances), new Map(this.#allowances)] as const;
    try {
      run();
    } catch (thrown) {
      if (!mayFail || !(thrown instanceof Reverted)) throw thrown;
      [this.balances, this.#allowances] = before;
    }
  }

  allow(token: Hex, owner: Hex, spender: Hex, amount: bigint): void {
    this.#allowances.set(`${token} ${owner} ${spender}`, amount);
  }

  take(token: Hex, owner: Hex, spender: Hex, to: Hex, amount: bigint): void {
    if (owner !== spender) {
      const allowed = this.#allowances.get(`${token} ${owner} ${spender}`) ?? 0n;
      if (allowed < amount) throw new Reverted();
      this.allow(token, owner, spender, allowed - amount);
    }
    this.move(token, owner, to, amount);
  }

  mint(token: Hex, owner: Hex, amount: bigint): void {
    const place = placeOf(token, owner);
    const balance = (this.balances.get(place) ?? 0n) + amount;
    if (balance < 0n) throw new Reverted();
    this.balances.set(place, balance);
  }

  move(asset: string, from: Hex, to: Hex, amount: bigint): void {
    const [taken, given] = [placeOf(asset, from), placeOf(asset, to)];
    const left = (this.balances.get(taken) ?? 0n) - amount;
    if (left < 0n) throw new Reverted();
    this.balances.set(taken, left);
    this.balances.set(given, (this.balances.get(given) ?? 0n) + amount);
  }
}
