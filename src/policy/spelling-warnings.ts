import type { Kind } from '../callback/callback.ts';
import type { Json } from '../values/canonical.ts';
import { isObject } from './document.ts';
import { memberNamed } from './members.ts';
import type { CompiledPolicy, Release } from './release.ts';

const ADDRESSES: ReadonlySet<string> = new Set(['from', 'to', 'interactive_contract']);

/**
 * What becomes of an address in another spelling, by the rule that compares it; and whether something is
 * evaded by that.
 */
const EFFECTS: Readonly<
  Record<string, { readonly names: string; readonly effect: string; readonly evaded: boolean }>
> = {
  'deny-list': { names: 'of', effect: 'is not denied', evaded: true },
  'allow-list': { names: 'of', effect: 'is refused', evaded: false },
  'cooling-period': { names: 'of', effect: 'is refused', evaded: false },
  'first-use-limit': { names: 'of', effect: 'is unknown again', evaded: false },
  'member-equals': { names: 'member', effect: 'is refused', evaded: false },
  'window-limit': { names: 'per', effect: 'has a limit of its own', evaded: true },
  'velocity-limit': { names: 'per', effect: 'has a limit of its own', evaded: true },
  'value-limit': { names: 'per', effect: 'has a limit of its own', evaded: true },
};

/**
 * A sentence for each rule that looks up or counts by an address which could be written in another way: on a
 * chain whose spellings are not known, or where no rule refuses those that are wrong.
 */
export function spellingWarnings(
  release: Pick<Release, 'document' | 'policies' | 'assets'>,
): readonly string[] {
  const written = policiesIn(release.document);
  return release.policies.flatMap((policy) =>
    rulesOf(written.get(policy.name)).flatMap(({ name, parameters }, index) => {
      const rule = EFFECTS[name];
      const [member] = rule === undefined ? [] : addressesUnder(policy.callback, parameters[rule.names]);
      if (rule === undefined || member === undefined) return [];
      const said = warningOf({ release, policy, written, member }, rule);
      return said === undefined ? [] : [`${policy.name}/${name}#${index + 1}: ${said}`];
    }),
  );
}

interface Place {
  readonly release: Pick<Release, 'policies' | 'assets'>;
  readonly policy: CompiledPolicy;
  readonly written: ReadonlyMap<string, Json>;
  readonly member: string;
}

function warningOf(
  place: Place,
  { effect, evaded }: { readonly effect: string; readonly evaded: boolean },
): string | undefined {
  const { release, policy, member } = place;
  const named = policy.when.get('symbol');
  const symbols = [...(named ?? release.assets.keys())].sort();
  const texts = symbols.filter((symbol) => release.assets.get(symbol)?.chain === 'text');
  if (texts.length > 0) {
    const have = texts.length === 1 ? 'has' : 'have';
    return `${some(texts)} ${have} the chain text, where one address may be written in several ways (without 0x, with leading zeros, in another form), and each is compared as exact text: another spelling of an address in ${member} ${effect}; deny or limit by something else as well, until the chain is known by its name`;
  }
  if (!evaded) return undefined;
  const unknown = symbols.filter((symbol) => !release.assets.has(symbol));
  if (unknown.length > 0 || symbols.length === 0) {
    const whose = unknown.length > 0 ? some(unknown) : 'its assets';
    return `the chain of ${whose} is not known, so another spelling of an address in ${member} ${effect}; name it in assets.yaml, and put the rule address beside this one`;
  }
  if (isChecked(place)) return undefined;
  return `nothing refuses an address in ${member} that ${some(symbols)} would not write so, such as one without 0x, and it ${effect}; put the rule address beside it`;
}

/** Whether a rule `address` that enforces judges the member of every callback that the policy applies to. */
function isChecked({ release, policy, written, member }: Place): boolean {
  return release.policies.some(
    (other) =>
      other.callback === policy.callback &&
      [...other.when].every(([name, texts]) => {
        const ours = policy.when.get(name);
        return ours !== undefined && [...ours].every((text) => texts.has(text));
      }) &&
      rulesOf(written.get(other.name)).some(({ name, parameters, mode }) => {
        const of = parameters['of'] ?? ['from', 'to'];
        return (
          name === 'address' && mode !== 'observe' && addressesUnder(other.callback, of).includes(member)
        );
      }),
  );
}

function addressesUnder(kind: Kind, names: Json | undefined): readonly string[] {
  const texts: readonly Json[] = Array.isArray(names)
    ? (names as readonly Json[])
    : names === undefined
      ? []
      : [names];
  return texts.flatMap((text) => {
    const member = typeof text === 'string' ? memberNamed(kind, text) : undefined;
    return member !== undefined && ADDRESSES.has(member) ? [member] : [];
  });
}

function policiesIn(document: string): ReadonlyMap<string, Json> {
  const release: Json = JSON.parse(document);
  const policies = isObject(release) && Array.isArray(release['policies']) ? release['policies'] : [];
  return new Map(
    (policies as readonly Json[]).flatMap((policy) =>
      isObject(policy) && typeof policy['policy'] === 'string' ? [[policy['policy'], policy] as const] : [],
    ),
  );
}

interface WrittenRule {
  readonly name: string;
  readonly parameters: { readonly [name: string]: Json | undefined };
  readonly mode: Json | undefined;
}

function rulesOf(policy: Json | undefined): readonly WrittenRule[] {
  const rules =
    policy !== undefined && isObject(policy) && Array.isArray(policy['rules']) ? policy['rules'] : [];
  return (rules as readonly Json[]).map((rule) => {
    const entries = isObject(rule) ? Object.entries(rule) : [];
    const [name = '', parameters = null] = entries.find(([key]) => key !== 'mode') ?? [];
    return {
      name,
      parameters: isObject(parameters) ? parameters : {},
      mode: entries.find(([key]) => key === 'mode')?.[1],
    };
  });
}

const SHOWN_MAX = 5;

function some(symbols: readonly string[]): string {
  const shown = symbols.slice(0, SHOWN_MAX);
  if (symbols.length > SHOWN_MAX) return `${shown.join(', ')} and ${symbols.length - SHOWN_MAX} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}
