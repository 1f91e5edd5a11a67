import type { CompiledPolicy, CompiledRule, Release } from './release.ts';

const ADDRESSES: ReadonlySet<string> = new Set(['from', 'to', 'interactive_contract']);

/**
 * A sentence for each rule that compares addresses as text although an address can be written in several
 * ways: the asset's chain is unknown, or no rule refuses the other spellings.
 */
export function spellingWarnings(release: Pick<Release, 'policies' | 'assets'>): readonly string[] {
  return release.policies.flatMap((policy) =>
    policy.rules.flatMap(({ name, compared }) => {
      const member = compared?.members.find((each) => ADDRESSES.has(each));
      if (compared === undefined || member === undefined) return [];
      const warning = warningOf(release, policy, { ...compared, member });
      return warning === undefined ? [] : [`${policy.name}/${name}: ${warning}`];
    }),
  );
}

type Compared = NonNullable<CompiledRule['compared']> & { readonly member: string };

function warningOf(
  release: Pick<Release, 'policies' | 'assets'>,
  policy: CompiledPolicy,
  { member, effect, evades }: Compared,
): string | undefined {
  const { assets } = release;
  const symbols = [...(policy.when.get('symbol') ?? assets.keys())].sort();
  const texts = symbols.filter((symbol) => assets.get(symbol)?.chain === 'text');
  if (texts.length > 0) {
    const have = texts.length === 1 ? 'has' : 'have';
    return [
      `${formatSymbols(texts)} ${have} the chain text, where one address may be written in several ways`,
      ' (without 0x, with leading zeros, in another form), and each is compared as exact text:',
      ` another spelling of an address in ${member} ${effect};`,
      ' deny or limit by something else as well, until the chain is known by its name',
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
    `nothing refuses an address in ${member} that ${formatSymbols(symbols)} would not write so, such as ` +
      'one without 0x,',
    ` and it ${effect}; put the rule address beside it`,
  ].join('');
}

/**
 * Whether an enforcing rule checks the addresses of this member in every callback that the policy applies to.
 */
function isChecked({ policies }: Pick<Release, 'policies'>, policy: CompiledPolicy, member: string): boolean {
  return policies.some(
    (other) =>
      other.callback === policy.callback &&
      [...other.when].every(([name, texts]) => {
        const ours = policy.when.get(name);
        return ours !== undefined && [...ours].every((text) => texts.has(text));
      }) &&
      other.rules.some(
        ({ mode, checkedAddresses }) => mode === 'enforce' && checkedAddresses?.includes(member) === true,
      ),
  );
}

const SHOWN_MAX = 5;

function formatSymbols(symbols: readonly string[]): string {
  const shown = symbols.slice(0, SHOWN_MAX);
  if (symbols.length > SHOWN_MAX) return `${shown.join(', ')} and ${symbols.length - SHOWN_MAX} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}
