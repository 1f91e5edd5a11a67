import { readdirSync } from 'node:fs';
import { describe, expect } from 'vitest';
import type { Claim } from '../../../src/claims/claims.ts';
import { type Window, groupedKey } from '../../../src/claims/window.ts';
import type { Choice, Requirement } from '../../../src/policy/proposal.ts';
import type { OrderAnnouncement } from '../../../src/store/store.ts';
import { type Column, string, tablesOf } from '../../cases.ts';
import {
  MEMBERS,
  START_MS,
  agedClaim,
  announcement,
  approvalClaim,
  change,
  claimsOf,
  distinctClaim,
  idOf,
  keyOf,
  listClaim,
  markClaim,
  notice,
  orderClaim,
  priceChange,
  push,
  refusalsClaim,
  request,
  requestChange,
  revisionOf,
  rollingHour,
  signing,
  speedUpClaim,
  thaw,
  units,
  windowClaim,
} from '../requests.ts';
import { type OpenStore, type StoreUnderTest, testsOn } from './store-under-test.ts';

/*
 * Stories are rows of the YAML files in `stories`: a promise, and steps that a store takes one after the other,
 * with what it must answer.
 *
 *     pay 2 under older with amount 4 of 10 & mark exempt => FAILURE, holds used 6, holds marked never
 *
 * - `pay`, `prepare` and `start` settle an approving proposal about a payment of `shop`, or `sign_prepare` and
 *   `sign_start` about a transfer of `vault`, whose id is 1 unless it is named, under the revision that was pushed
 *   last. `of`, a counter's room, may be followed by another window than the rolling hour.
 * - `choosing (0 1 | 2)` makes a choice: the claims 0 and 1, or claim 2. A claim decides nothing by itself then,
 *   unless it is `deciding`. What was not looked at is `unchecked`.
 * - `approval ID` is the claim of a rule that too few people have approved; with `at`, enough have, at that version.
 * - `across NAME` is a counter of a group: `shop` and `kiosk` are in `sales`, `vault` in `shop`, `alone` in none.
 * - An answer has a verdict or a code, an outcome, `as NAME` to name it, `repeats NAME`, `journalled` if its entry
 *   says the same, and what each of its claims found, all of them and in their order.
 * - A claim that is `observed` decides nothing; `in NAME` is its counter or mark; a list has to have `all` or
 *   `none` of the values, or to have had them for some time (`aged`).
 * - `ask ID` writes the approval request of `shop`, over the version `over`, open unless it is `closed`; `changed` is
 *   that it is at another version. `asked ID` is what it is then: `open 2`, `closed 2 by first`, or `missing`.
 * - `used`, `counted` and `marked` are what a counter or a mark holds then. Instants count from START_MS.
 */

const folder = new URL('stories/', import.meta.url);

/** A group may have the name of a source. */
export const GROUPS = new Map([
  ['shop', 'sales'],
  ['kiosk', 'sales'],
  ['vault', 'shop'],
]);

export function describeStories(open: OpenStore): void {
  const subjects = readdirSync(folder).map((file) => file.replace('.yaml', ''));
  describe.each(subjects)('%s', (subject) => {
    const it = testsOn(subject === 'groups' ? () => open(GROUPS) : open);
    const stories = tablesOf(new URL(`${subject}.yaml`, folder))('stories', string, steps);
    it.for(stories)('%s', async ([, story], { under }) => {
      const teller = tellerOf(under);
      for (const step of story) await teller(step);
    });
  });
}

const steps: Column<readonly string[]> = (written, names) => string(written, names).split(/;\s+/);

const LENGTHS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of `1h-1ms`. */
function msOf(text: string): number {
  const parts = [...text.matchAll(/([+-]?)(\d+)(ms|s|m|h|d)/g)];
  if (text !== '0' && parts.map(([part]) => part).join('') !== text) throw new Error(`${text} is no time`);
  return parts.reduce(
    (sum, [, sign, count, unit = '']) =>
      sum + (sign === '-' ? -1 : 1) * Number(count) * (LENGTHS_MS[unit] ?? Number.NaN),
    0,
  );
}

const instantOf = (text: string): number => (text === 'never' ? 0 : START_MS + msOf(text));

/** The words of a step, which are taken one after the other. */
class Words {
  readonly #words: string[];

  constructor(text: string) {
    this.#words = text.split(' ').filter((word) => word !== '');
  }

  next(): string {
    const word = this.#words.shift();
    if (word === undefined) throw new Error('a word is missing');
    return word;
  }

  /** Whether the word is there; it is taken, wherever it is. */
  has(word: string): boolean {
    const at = this.#words.indexOf(word);
    if (at >= 0) this.#words.splice(at, 1);
    return at >= 0;
  }

  /** The word behind this one, if it is there. */
  after(word: string): string | undefined {
    const at = this.#words.indexOf(word);
    return at < 0 ? undefined : this.#words.splice(at, 2)[1];
  }

  /** What is left, or what is left before a word. */
  rest(until?: string): readonly string[] {
    const at = until === undefined ? -1 : this.#words.indexOf(until);
    return this.#words.splice(0, at < 0 ? this.#words.length : at);
  }

  id(): string {
    return /^(?:\d+|[a-z])$/.test(this.#words[0] ?? '') ? this.next() : '1';
  }

  end(): void {
    if (this.#words.length > 0) throw new Error(`"${this.#words.join(' ')}" means nothing`);
  }
}

function windowOf(words: Words): Window {
  const from = words.after('from');
  if (from !== undefined)
    return { type: 'calendar', startMs: instantOf(from), endMs: instantOf(words.after('to') ?? '') };
  const length = words.after('rolling');
  if (length === undefined) return rollingHour;
  return { type: 'rolling', lengthMs: msOf(length), bucketMs: msOf(words.after('by') ?? '') };
}

const membersOf = (texts: readonly string[]): Readonly<Record<string, string>> => ({
  ...MEMBERS,
  ...Object.fromEntries(texts.map((text) => text.split('='))),
});

/** The choices of `(0 1 | (2 | 3)) (4)`: alternatives, each with the claims and the choices that it requires. */
function choicesOf(text: string): readonly Choice[] {
  const [decides, tokens] = [!text.includes('observed'), text.match(/[()|]|\d+/g) ?? []];
  const choiceIn = (): Choice => {
    const alternatives: Requirement[][] = tokens[0] === ')' ? [] : [[]];
    for (let token = tokens.shift(); token !== ')'; token = tokens.shift()) {
      if (token === undefined) throw new Error(`${text} has no end`);
      if (token === '|') alternatives.push([]);
      else alternatives.at(-1)?.push(token === '(' ? choiceIn() : Number(token));
    }
    return {
      result: 0,
      decides,
      retryable: false,
      alternatives: alternatives.map((requires) => ({ from: 0, to: 0, requires })),
    };
  };
  const choices: Choice[] = [];
  while (tokens.shift() === '(') choices.push(choiceIn());
  return choices;
}

/** Claims; those of alternatives have results of their own, and decide nothing by themselves. */
function claimsIn(text: string | undefined, isChosen: boolean): readonly Claim[] {
  return (text?.split(' & ') ?? []).map((each, at) => {
    const words = new Words(each);
    const decides = words.has('deciding');
    const claim = claimIn(words);
    words.end();
    return isChosen ? { ...claim, result: at + 1, decides } : claim;
  });
}

function claimIn(words: Words): Claim {
  const type = words.next();
  const group = words.after('across');
  const key = words.after('in') ?? (group === undefined ? undefined : 'counter');
  const over = {
    ...(words.has('observed') && { decides: false }),
    ...(words.has('retryable') && { retryable: true }),
    ...(words.has('failed') && { failed: true }),
  };
  const keyed = { ...over, ...(key !== undefined && { key: groupedKey(group, keyOf(key)) }) };
  switch (type) {
    case 'amount': {
      const window = windowOf(words);
      return windowClaim(words.next(), words.after('of') ?? '', { ...keyed, window });
    }
    case 'values':
    case 'new': {
      const window = windowOf(words);
      const max = Number(words.after('of'));
      const values = words.rest().map((value) => groupedKey(group, keyOf(value)));
      return distinctClaim([], max, { ...keyed, window, values, onlyNew: type === 'new' });
    }
    case 'mark':
      return markClaim({ ...keyed, exempt: words.has('exempt'), ageMs: msOf(words.after('aged') ?? '0') });
    case 'refusals': {
      const withinMs = msOf(words.after('within') ?? '1h');
      return refusalsClaim(Number(words.next()), { ...keyed, withinMs });
    }
    case 'all':
    case 'none':
      return listClaim(words.next(), `hold-${type}`, words.rest(), over);
    case 'aged':
      return agedClaim(words.next(), msOf(words.next()), words.rest(), over);
    case 'order': {
      if (words.has('nothing')) return orderClaim({}, over);
      const without = words.after('without');
      const members = Object.entries(membersOf(words.rest())).filter(([name]) => name !== without);
      return orderClaim(Object.fromEntries(members), over);
    }
    case 'approval': {
      const [id, at] = [words.next(), words.after('at')];
      return approvalClaim(id, at === undefined ? undefined : Number(at), over);
    }
    case 'sped-up':
      return speedUpClaim(Number(words.next()), msOf(words.after('within') ?? ''), over);
    default:
      throw new Error(`${type} is no claim`);
  }
}

/** What a claim found, as far as the text says it. */
function foundOf(text: string): object {
  if (text === 'unchecked') return { type: 'not-checked' };
  const words = new Words(text);
  const holds = words.next();
  if (holds !== 'holds' && holds !== 'fails') throw new Error(`"${text}" is no answer`);
  const found: Record<string, unknown> = { holds: holds === 'holds' };
  for (const name of ['reserved', 'used'] as const) {
    const amount = words.after(name);
    if (amount !== undefined) found[name] = units(amount);
  }
  for (const [name, member] of [
    ['counted', 'counted'],
    ['further', 'further'],
    ['refusals', 'refusals'],
    ['speed-ups', 'speedUps'],
  ] as const) {
    const count = words.after(name);
    if (count !== undefined) found[member] = Number(count);
  }
  for (const [name, member] of [
    ['marked', 'markedAtMs'],
    ['approved', 'approvedAtMs'],
    ['locked', 'lockedAtMs'],
    ['until', 'lockedUntilMs'],
  ] as const) {
    const at = words.after(name);
    if (at !== undefined) found[member] = instantOf(at);
  }
  const order = words.after('order');
  const approval = words.after('approval');
  if (approval !== undefined) found['approval'] = approval;
  const lists = { missing: words.has('missing'), present: words.has('present'), added: words.has('added') };
  if (Object.values(lists).includes(true)) found['missing'] = lists.missing;
  if (lists.present) found['present'] = words.rest();
  if (lists.added) {
    found['added'] = words.rest().map((entry) => {
      const [value, at = ''] = entry.split('@');
      return [value, instantOf(at)];
    });
  }
  if (order !== undefined) Object.assign(found, { order, differs: words.rest() });
  words.end();
  return found;
}

/** The scope of an approval request. */
const scopeOf = (words: Words): string => (words.has('shared') ? '' : (words.after('at') ?? 'shop'));

const REFUSALS = ['NO_POLICY', 'NOTHING_IN_FORCE', 'TOO_MANY_CLAIMS'] as const;

const PARTS = {
  pay: { of: request, kind: 'payment', question: 'payment' },
  prepare: { of: signing, kind: 'transfer', question: 'sign_prepare' },
  start: { of: signing, kind: 'transfer', question: 'sign_start' },
} as const;

/** Tells one step of a story after the other. */
function tellerOf({ store: first, clock, another, reopen }: StoreUnderTest) {
  let store = first;
  let inForce = 'first';
  let probes = 0;
  const known = new Map<string, string>();
  const announced = new Map<string, OrderAnnouncement>();

  const probed = async (claim: Claim, source = 'shop') => {
    const subject = `payment:probe-${++probes}`;
    const asked = { source, subject, revision: revisionOf(inForce), approves: false, claims: [claim] };
    return claimsOf(await store.settle(request(asked)))[0];
  };

  async function settle(
    type: keyof typeof PARTS,
    words: Words,
    { claims, choices }: { readonly claims: readonly Claim[]; readonly choices: readonly Choice[] },
    expected: string,
  ) {
    const { of, kind, question } = PARTS[type];
    const id = words.id();
    const [source, revision] = [words.after('at'), words.after('under') ?? inForce];
    const [from, until] = [words.after('from'), words.after('until')];
    const saying = words.after('saying');
    const refusal = REFUSALS.find((each) => each === saying);
    const asked = of({
      subject: words.after('about') ?? `${kind}:${id}`,
      question,
      claims,
      ...(choices.length > 0 && { choices }),
      refusal,
      prices: Number(words.after('priced') ?? 0),
      scheme: words.after('by') ?? '',
      revision: revision === 'nothing' ? '' : revisionOf(revision),
      approves: !words.has('refuses'),
      retryable: words.has('retryable'),
      failed: words.has('failed'),
      speedUp: words.has('speed-up'),
      ...(words.has('other-terms') && { terms: 'other terms' }),
      ...(source !== undefined && { source }),
      ...(from !== undefined && { validFromMs: instantOf(from) }),
      ...(until !== undefined && { validUntilMs: instantOf(until) }),
    });
    words.end();
    const result = await store.settle(asked);
    if (result.outcome === 'stale') expect(result.inForce).toBe(revisionOf(inForce));
    const found: object[] = [];
    for (const part of expected === '' ? [] : expected.split(', ')) {
      const [word = '', named = ''] = part.split(' ');
      if (word === 'as') known.set(named, idOf(result));
      else if (word === 'repeats')
        expect(result).toMatchObject({ outcome: 'repeated', of: known.get(named) ?? 'unknown' });
      else if (word === 'at') expect(result).toMatchObject({ atMs: instantOf(named) });
      else if (word === 'journalled') {
        const entry = await store.entry(asked.callback.source, idOf(result));
        expect(result).toMatchObject({ verdict: entry?.verdict, code: entry?.code });
        expect(entry?.type).toBe(result.outcome === 'repeated' ? 'repeat' : 'decision');
        expect(entry?.claims).toEqual(claimsOf(result));
      } else if (word === 'SUCCESS' || word === 'FAILURE') expect(result).toMatchObject({ verdict: word });
      else if (/^[A-Z_]+$/.test(word)) expect(result).toMatchObject({ code: word });
      else if (/^(?:decided|repeated|stale|expired)$/.test(word)) expect(result.outcome).toBe(word);
      else if (part === 'nothing claimed') expect(claimsOf(result)).toEqual([]);
      else found.push(foundOf(part));
    }
    if (found.length > 0)
      expect(claimsOf(result)).toMatchObject(found.map((each, at) => ({ type: claims[at]?.type, ...each })));
  }

  const others: Readonly<Record<string, (words: Words, expected: string) => unknown>> = {
    wait: (words) => clock.advance(msOf(words.next())),
    clock: (words) => void (clock.nowMs = instantOf(words.next())),
    freeze: () => store.freeze({ reason: 'drill', by: 'ada' }),
    thaw: () => thaw(store),
    register: (words) => store.register([words.next()]),
    async push(words) {
      const name = words.next();
      await store.push(push(name, revisionOf(inForce)));
      inForce = name;
    },
    async another() {
      store = await another();
    },
    async reopen() {
      store = await reopen();
    },
    async list(words) {
      const [source = 'shop', name] = [words.after('at'), words.next()];
      const added = words.rest('-').filter((word) => word !== '+');
      words.has('-');
      await store.changeList(change(name, added, words.rest(), { source }));
    },
    async prices(words) {
      const prices = Object.fromEntries(words.rest().map((price) => price.split('=')));
      await store.changePrices(priceChange(prices));
    },
    async used(words) {
      const [key = 'counter', source] = [words.after('in'), words.after('at')];
      const counter = groupedKey(words.after('across'), keyOf(key));
      const claim = windowClaim('0', '0', { key: counter, window: windowOf(words) });
      expect(await probed(claim, source)).toMatchObject({ used: units(words.next()) });
    },
    async counted(words) {
      const claim = distinctClaim(['probe'], 1, { key: keyOf(words.after('in') ?? 'distinct') });
      expect(await probed(claim)).toMatchObject({ counted: Number(words.next()) });
    },
    async marked(words) {
      const claim = markClaim({ key: keyOf(words.after('in') ?? 'mark') });
      expect(await probed(claim, words.after('at'))).toMatchObject({ markedAtMs: instantOf(words.next()) });
    },
    async time(words) {
      expect((await store.health()).nowMs).toBe(instantOf(words.next()));
    },
    async journal(words) {
      expect(await store.journalSize(words.after('at') ?? 'shop')).toBe(Number(words.next()));
    },
    async notify(words, expected) {
      const txid = words.next();
      const [source = 'vault', about] = [words.after('at'), words.after('about')];
      const terms = words.has('other-terms') ? { terms: 'other terms' } : {};
      const subject = about ?? `transfer:${words.id()}`;
      const noted = notice({ source, subject, txid: txid === 'none' ? '' : txid, ...terms });
      const verdict = expected === 'NOTED' ? 'SUCCESS' : 'FAILURE';
      const result = await store.recordNotification(noted);
      if (expected !== '') expect(result).toMatchObject({ code: expected, verdict });
    },
    async announce(words, expected) {
      const [source = 'shop', until = '1h'] = [words.after('at'), words.after('until')];
      const subject = words.after('about') ?? `payment:${words.id()}`;
      const members = membersOf(words.rest());
      const asked = announcement({ source, subject, members, expiresAtMs: instantOf(until) });
      expect(await store.expectOrder(asked)).toMatchObject({ outcome: expected || 'expected' });
      if (expected === '') announced.set(subject, asked);
    },
    async ask(words, expected) {
      const scope = scopeOf(words);
      const [over = '0', kept = '1h'] = [words.after('over'), words.after('kept')];
      const [isOpen, id] = [!words.has('closed'), words.next()];
      const asked = requestChange({ scope, id, expected: Number(over), isOpen, keepMs: msOf(kept) });
      expect(await store.changeApprovalRequest(asked)).toEqual({ done: expected !== 'changed' });
    },
    async asked(words, expected) {
      const record = await store.approvalRequest(scopeOf(words), words.next());
      const [state = '', by = ''] = expected.split(' by ');
      const [open, version] = state.split(' ');
      const usedBy = by === '' ? '' : known.get(by);
      if (expected === 'missing') expect(record).toBeUndefined();
      else expect(record).toMatchObject({ isOpen: open === 'open', version: Number(version), usedBy });
    },
    async cancel(words, expected) {
      const cancel = { source: 'shop', subject: `payment:${words.id()}`, by: 'bob' };
      expect(await store.cancelOrder(cancel)).toMatchObject({ outcome: expected || 'cancelled' });
    },
    async order(words, expected) {
      const [source = 'shop', subject = `payment:${words.id()}`] = [words.after('at'), words.after('about')];
      const [state, ended] = expected.split(' at ');
      const endedAtMs = ended === undefined ? {} : { endedAtMs: instantOf(ended) };
      expect(await store.order(source, subject)).toMatchObject({
        ...announced.get(subject),
        state,
        ...endedAtMs,
      });
    },
  };

  return async (step: string): Promise<void> => {
    const [asked = '', expected = ''] = step.split(' => ');
    const [head = '', claims] = asked.split(' with ');
    const [named = '', choosing = ''] = head.split(' choosing ');
    const words = new Words(named);
    const verb = words.next();
    try {
      if (verb in PARTS) {
        const choices = choicesOf(choosing);
        const all = { claims: claimsIn(claims, choices.length > 0), choices };
        await settle(verb as keyof typeof PARTS, words, all, expected);
      } else {
        const tell = others[verb];
        if (tell === undefined || claims !== undefined || choosing !== '')
          throw new Error(`${verb} is no such step`);
        if (expected !== '' && tell.length < 2) throw new Error(`${verb} has no answer`);
        await tell(words, expected);
        words.end();
      }
    } catch (thrown) {
      if (thrown instanceof Error) thrown.message = `${step}: ${thrown.message}`;
      throw thrown;
    }
  };
}
