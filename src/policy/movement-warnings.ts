import type { AssetTable } from './assets.ts';
import { type PolicyFault, formatTexts } from './fault.ts';
import { judgedCalls } from './judged-calls.ts';
import { unreadMethods } from './movements.ts';
import { type CompiledPolicy, type CompiledRule, type Release, appliesWherever } from './release.ts';

type Judged = Pick<Release, 'policies' | 'assets'>;

/**
 * Warnings, with place and fix, about what the rules of web3 policies see of transactions: policies whose rules
 * miss tokens, and calls that are named, but not for movements.
 */
export function movementWarnings({ policies, assets }: Judged): readonly PolicyFault[] {
  return [
    ...missedTokens(policies),
    ...policies.flatMap((policy) => (policy.movements === undefined ? [] : unreadCalls(policy, assets))),
  ];
}

/**
 * The policies whose rules see only native coins, although call data may move tokens. There is none if
 * contract-calls confines what may be called, in the policy or in another one that judges all of its callbacks.
 */
function missedTokens(policies: readonly CompiledPolicy[]): readonly PolicyFault[] {
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
      warningAt(policy, rule, {
        message:
          'it sees only native coins: the tokens that call data moves do not count, and nor do their recipients',
        fix: 'add movements: { approvals: count } to the policy, or list the allowed calls with contract-calls',
      }),
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

/** The rules that name calls which can't be read for movements, because no such rule judges them always. */
function unreadCalls(policy: CompiledPolicy, assets: AssetTable): readonly PolicyFault[] {
  const judged = judgedCalls(policy.entries);
  return policy.rules.flatMap((rule) => {
    const { mode, allowedCalls } = rule;
    if (mode !== 'enforce' || allowedCalls === undefined || judged.includes(allowedCalls)) return [];
    const methods = unreadMethods(allowedCalls, judged, assets);
    if (methods.length === 0) return [];
    return [
      warningAt(policy, rule, {
        message:
          `it does not judge every transaction, so the other rules can't read ${formatTexts(methods)} for ` +
          `movements, and refuse ${methods.length === 1 ? 'it' : 'them'}`,
        fix: 'write the rule without when and outside of any, or one in every alternative of any',
      }),
    ];
  });
}

const warningAt = (
  policy: CompiledPolicy,
  rule: CompiledRule,
  text: Pick<PolicyFault, 'message' | 'fix'>,
): PolicyFault => ({
  ...(rule.place ?? { file: '.', line: 0, column: 0 }),
  path: `${policy.name}/${rule.name}`,
  ...text,
});
