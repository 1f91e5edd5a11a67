import type { PolicyFault } from './fault.ts';
import { type CompiledRule, type Release, appliesWherever } from './release.ts';

/**
 * A warning, with place and fix, for each policy whose rules see only native coins, although call data may move
 * tokens. There is none if contract-calls confines what may be called, in the policy or in another one that judges
 * all of its callbacks.
 */
export function movementWarnings({ policies }: Pick<Release, 'policies'>): readonly PolicyFault[] {
  const confining = policies.filter(({ rules }) =>
    rules.some(
      ({ mode, always, allowedCalls }) => mode === 'enforce' && always && allowedCalls !== undefined,
    ),
  );
  return policies.flatMap((policy) => {
    if (policy.callback !== 'web3' || policy.movements !== undefined) return [];
    if (confining.some((other) => appliesWherever(other, policy.callback, policy.when.texts))) return [];
    const rule = policy.rules.find(({ mode, ...each }) => mode === 'enforce' && missesTokens(each));
    if (rule === undefined) return [];
    return [
      {
        ...(rule.place ?? { file: '.', line: 0, column: 0 }),
        path: `${policy.name}/${rule.name}`,
        message:
          'it sees only native coins: the tokens that call data moves do not count, and nor do their recipients',
        fix: 'add movements: { approvals: count } to the policy, or list the allowed calls with contract-calls',
      },
    ];
  });
}

/** Whether it is about amounts, or about whom a callback is for. */
function missesTokens({
  judgesAmounts,
  compared,
}: Pick<CompiledRule, 'judgesAmounts' | 'compared'>): boolean {
  return judgesAmounts !== undefined || compared?.members.includes('to') === true;
}
