import { ADDRESS_MEMBERS } from './members.ts';
import type { CompiledPolicy, CompiledRule, Release } from './release.ts';

/**
 * A sentence for each rule that compares addresses as text although an address can be written in several
 * ways: the asset's chain is unknown, or no rule refuses the other spellings.
 */
export function spellingWarnings(release: Pick<Release, 'policies' | 'assets'>): readonly string[] {
  return release.policies.flatMap((policy) =>
    policy.rules.flatMap(({ name, comparedAsText }) => {
      const member = comparedAsText?.members.find((each) => ADDRESS_MEMBERS.has(each));
      if (comparedAsText === undefined || member === undefined) return [];
      const warning = warningOf(release, policy, { ...comparedAsText, member });
      return warning === undefined ? [] : [`${policy.name}/${name}: ${warning}`];
    }),
  );
}

type Compared = NonNullable<CompiledRule['comparedAsText']> & { readonly member: string };

function warningOf(
  release: Pick<Release, 'policies' | 'assets'>,
  policy: CompiledPolicy,
  { member, effect, evades }: Compared,
): string | undefined {
  const { assets } = release;
  const symbols = [...(policy.when.texts.get('symbol') ?? assets.keys())].sort();
  const texts = symbols.filter((symbol) => assets.get(symbol)?.chain === 'text');
  if (texts.length > 0) {
    const whose = texts.length === 1 ? 'its' : 'their';
    return [
      `assets.yaml sets \`chain: text\` for ${formatSymbols(texts)}, so ${whose} addresses are not validated`,
      ' and are compared as exact text: another spelling of an address',
      ` (without 0x, with leading zeros, in another form) in ${member} ${effect};`,
      ' also deny or limit by another member, or, if assets.yaml can name the asset’s chain, write that chain',
    ].join('');
  }
  if (!evades) return undefined;
  const unknown = symbols.filter((symbol) => !assets.has(symbol));
  if (unknown.length > 0 || symbols.length === 0) {
    const whose = unknown.length > 0 ? formatSymbols(unknown) : 'its assets';
    return [
      `the chain of ${whose} is not known, so another spelling of an address in ${member} ${effect};`,
      ' name it in assets.yaml, and put the rule address beside this one',
    ].join('');
  }
  if (isChecked(release, policy, member)) return undefined;
  return [
    `no rule refuses a text in ${member} that is not a valid address of ${formatSymbols(symbols)}, such as `,
    `one without 0x; such a text ${effect}; put the rule address beside it`,
  ].join('');
}

/**
 * Whether an enforcing rule checks the addresses of this member in every callback that the policy applies to.
 */
function isChecked({ policies }: Pick<Release, 'policies'>, policy: CompiledPolicy, member: string): boolean {
  return policies.some(
    (other) =>
      other.callback === policy.callback &&
      other.when.conditions.length === 0 &&
      [...other.when.texts].every(([name, texts]) => {
        const ours = policy.when.texts.get(name);
        return ours !== undefined && [...ours].every((text) => texts.has(text));
      }) &&
      other.rules.some(
        ({ mode, always, checkedAddresses }) =>
          mode === 'enforce' && always && checkedAddresses?.includes(member) === true,
      ),
  );
}

const SHOWN_MAX = 5;

function formatSymbols(symbols: readonly string[]): string {
  const shown = symbols.slice(0, SHOWN_MAX);
  if (symbols.length > SHOWN_MAX) return `${shown.join(', ')} and ${symbols.length - SHOWN_MAX} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}
