import { liftLockout } from '../../act/lockouts.ts';
import { START } from '../../journal/cursor.ts';
import { releaseInForce } from '../../release/stored.ts';
import {
  type LimitUse,
  type LimitsInUse,
  type LimitsParts,
  type LimitsWanted,
  limitsInUse,
  limitsOfEntries,
  percentOf,
} from '../../simulation/limits.ts';
import type { Lockout, Store } from '../../store/store.ts';
import { formatAmount } from '../../values/amount.ts';
import { counted } from '../../values/text.ts';
import { choiceField, hiddenFields, oneOf, reasonIn, textField, written } from '../fields.ts';
import { type Html, html, link } from '../html.ts';
import { card, instant, nothing, numbers, table } from '../layout.ts';
import { type PageRequest, type Pages, type Person, type View, formOf, mayUse } from '../page.ts';
import { continued, endOf, searchFrom, stepIn } from '../search.ts';

export interface LimitsPageParts {
  readonly store: Pick<
    Store,
    | 'buckets'
    | 'control'
    | 'document'
    | 'entries'
    | 'entry'
    | 'health'
    | 'liftLockout'
    | 'lockouts'
    | 'prices'
  >;
  readonly groupOf: (source: string) => string | undefined;
  readonly sources: readonly { readonly name: string }[];
}

const ROWS = 50;
/** The page looks at so many entries of each source, for so long in all; at some of them in any case. */
const LOOKED = { most: 500, least: 100, ms: 100 };
const LOCKOUTS_MAX = 100;
/** For one user or address, the journal is searched, up to so many callbacks. */
const CALLBACKS_OF_VALUE = 20;
const SEARCHED = { most: 20_000, least: 500, ms: 200 };

/** How full the limits are, and who is locked out. */
export function limitsPages(parts: LimitsPageParts): Pages {
  return {
    pages: [{ path: '/limits', navigation: 'Limits', show: (request) => show(parts, request) }],
    forms: [
      formOf(liftLockout, {
        path: '/limits/lift',
        parts: () => parts,
        read: ({ form }) => ({
          source: form.get('source') ?? '',
          id: form.get('id') ?? '',
          message: reasonIn(form, 'message', 'the lock-out is lifted'),
        }),
        to: () => link`/limits`,
      }),
    ],
  };
}

async function show(parts: LimitsPageParts, { query, person }: PageRequest): Promise<View> {
  const names = parts.sources.map(({ name }) => name);
  const chosen = oneOf(query, 'source', names);
  const shown = chosen === undefined ? names : [chosen];
  const [rule, value] = [written(query, 'rule'), written(query, 'value')];
  const wanted = { rule, value, most: ROWS };
  const current = await limitsParts(parts);
  const { most: entries } = LOOKED;
  const [recent, locked, search] = await Promise.all([
    limitsInUse(current, { ...wanted, sources: shown, entries, isOver: endOf(LOOKED) }),
    lockedOut(parts.store, shown),
    value === undefined ? undefined : searched(parts, current, shown, { ...wanted, value }, query),
  ]);
  const limits = search === undefined ? recent.limits : eachOnce([...search.limits, ...recent.limits]);
  const goesOn = limits.length === 0 && search?.next !== undefined;
  const more =
    goesOn &&
    continued({
      path: link`/limits`,
      query: { source: chosen, rule, value },
      step: stepIn(query),
      next: search.next,
      lookedAtMs: search.lookedAtMs,
    });
  return {
    title: 'Limits',
    ...(more && more.refresh),
    content: html`${searchForm(query, names)}${lockoutsCard(locked, person)}
      ${more ? more.content : limitsTable(limits, nothingOf(rule, value))}
      <p class="hint">
        ${USED} ${value === undefined ? lookedAt(recent) : limits.length >= ROWS && AT_MOST}
      </p>`,
  };
}

/** What limits are measured by: the policies, the prices and the time of the store. */
async function limitsParts({ store, groupOf }: LimitsPageParts): Promise<LimitsParts> {
  const [release, prices, { nowMs }] = await Promise.all([
    releaseInForce(store),
    store.prices(),
    store.health(),
  ]);
  return { store, release, prices, groupOf, nowMs };
}

interface Searched {
  readonly limits: readonly LimitUse[];
  readonly next: string | undefined;
  readonly lookedAtMs: number | undefined;
}

/** The limits of the newest callbacks of a user, an address or an asset, however long ago they were. */
async function searched(
  { store }: LimitsPageParts,
  current: LimitsParts,
  sources: readonly string[],
  wanted: LimitsWanted & { readonly value: string },
  query: URLSearchParams,
): Promise<Searched> {
  const { entries, next, lookedAtMs } = await searchFrom(
    store,
    {
      streams: sources.map((source) => ({ source })),
      newestFirst: true,
      period: {},
      cursor: written(query, 'after') ?? START,
      filter: { party: wanted.value },
      limit: CALLBACKS_OF_VALUE,
    },
    SEARCHED,
  );
  return { limits: await limitsOfEntries(current, entries, wanted), next, lookedAtMs };
}

/** The fullest first. */
function eachOnce(limits: readonly LimitUse[]): readonly LimitUse[] {
  const nameOf = ({ source, group, policy, rule, by, window }: LimitUse): string =>
    JSON.stringify([group === undefined ? source : ['group', group], policy, rule, by, window]);
  const once = new Map(limits.map((limit) => [nameOf(limit), limit]));
  return [...once.values()].sort((a, b) => percentOf(b) - percentOf(a));
}

function nothingOf(rule: string | undefined, value: string | undefined): string {
  const of = rule === undefined ? '' : ` of ${rule}`;
  if (value !== undefined)
    return `No limit over time${of} counts by ${value}, or the journal has no callback of it.`;
  return `No limit over time${of} counts the callbacks that were looked at.`;
}

const USED =
  'Used is what approvals have reserved in the window: there is no other count of reservations. An approval whose ' +
  'operation failed counts, too, until it is released or its window ends.';

const AT_MOST = `At most ${ROWS} are shown, the fullest: name a rule to see only its limits.`;

const searchForm = (query: URLSearchParams, names: readonly string[]): Html =>
  html`<form class="card search" method="get" action="${link`/limits`}">
    <div class="fields">
      ${choiceField('Source', 'source', written(query, 'source'), names)}
      ${textField('Rule', 'rule', written(query, 'rule'), 'policy or policy/rule')}
      ${textField('Counted by', 'value', written(query, 'value'), 'a user or an address')}
    </div>
    <div class="actions"><button>Show</button></div>
  </form>`;

function limitsTable(limits: readonly LimitUse[], none: string): Html {
  if (limits.length === 0) return nothing(none);
  return table(
    'Limits over time, the fullest first',
    ['Full', 'Whose', 'Rule', numbers('Used'), 'Of', numbers('Left'), 'Room comes back (UTC)'],
    limits.slice(0, ROWS).map(limitRow),
  );
}

function limitRow(limit: LimitUse): readonly (Html | string)[] {
  const { source, group, policy, rule, mode, by, window, max, used, next } = limit;
  const percent = percentOf(limit);
  return [
    html`<span class="full ${used === 0n ? 'minor' : ''}"
      ><meter min="0" max="100" high="80" optimum="0" value="${percent}">${percent}%</meter>
      <span class="mono">${percent}%</span></span
    >`,
    html`${group === undefined ? source : `group ${group}`}${Object.entries(by).map(
      ([name, value]) => html` <span class="value"><span class="muted">${name}</span> ${value}</span>`,
    )}`,
    html`<span class="mono">${policy}/${rule}</span
      >${mode !== 'enforce' && html` <span class="muted">${mode}</span>`}`,
    formatAmount(used),
    html`${formatAmount(max)} <span class="muted">in</span> ${window}`,
    used >= max ? '0' : formatAmount(max - used),
    next === undefined ? '' : html`${formatAmount(next.amount)} at ${instant(next.atMs)}`,
  ];
}

function lookedAt({ looked, sinceMs, limits, found, wanted }: LimitsInUse): Html {
  const more = wanted > limits.length ? ` The fullest ${limits.length} of ${wanted} are shown.` : '';
  if (sinceMs === undefined) return html`The journal has no callbacks yet.`;
  return html`${counted(found, 'limit')}, found by the newest ${counted(looked, 'entry', 'entries')} of the
  journal, back to ${instant(sinceMs)}.${more} Search for a user or an address to find what was counted
  earlier.`;
}

// ---- lock-outs ----

interface LockedOut {
  readonly lockouts: readonly Lockout[];
  readonly more: boolean;
}

/** Newest first. */
async function lockedOut(store: LimitsPageParts['store'], sources: readonly string[]): Promise<LockedOut> {
  const found: Lockout[] = [];
  const result = (more: boolean): LockedOut => ({
    lockouts: found.toSorted((a, b) => b.sinceMs - a.sinceMs),
    more,
  });
  for (const source of sources) {
    for await (const lockout of store.lockouts(source)) {
      if (found.length === LOCKOUTS_MAX) return result(true);
      found.push(lockout);
    }
  }
  return result(false);
}

function lockoutsCard({ lockouts, more }: LockedOut, person: Person): Html | false {
  if (lockouts.length === 0) return false;
  return card(
    'Locked out',
    table(
      'Who is locked out, newest first',
      ['Source', 'Who', 'Policy', numbers('Refusals'), 'Since (UTC)', 'Until (UTC)', 'Lift'],
      lockouts.map((lockout) => [
        lockout.source,
        lockout.whose,
        lockout.policy,
        lockout.refusals,
        instant(lockout.sinceMs),
        lockout.untilMs === 0 ? 'it is lifted' : instant(lockout.untilMs),
        mayUse(person, 'operate') ? liftForm(lockout) : '',
      ]),
    ),
    more && html`<p class="hint">There are more. <code>countersign lockout list</code> has all of them.</p>`,
  );
}

const liftForm = ({ source, id, whose }: Lockout): Html =>
  html`<form class="inline" method="post" action="${link`/limits/lift`}">
    ${hiddenFields({ source, id })}
    <input
      name="message"
      required
      maxlength="1000"
      autocomplete="off"
      placeholder="reason"
      aria-label="Reason to lift the lock-out of ${whose}"
    />
    <button class="quiet">Lift</button>
  </form>`;
