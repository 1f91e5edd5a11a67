import { type LimitUse, type LimitsInUse, percentOf } from '../../simulation/limits.ts';
import type { Lockout, Store } from '../../store/store.ts';
import { formatAmount } from '../../values/amount.ts';
import { choiceField, oneOf, reasonIn, textField, written } from '../fields.ts';
import { type Html, html, link } from '../html.ts';
import { instant, nothing, table } from '../layout.ts';
import {
  type ActRequest,
  type PageRequest,
  type Pages,
  type Person,
  type Redirect,
  type View,
  authorOf,
  mayUse,
} from '../page.ts';
import type { Reading } from '../reading.ts';

export interface LimitsPageParts {
  readonly store: Pick<Store, 'liftLockout'>;
  /** A handle of the console's own, so that its queries don't delay callbacks. */
  readonly reading: Pick<Reading, 'limits' | 'lockedOut'>;
  readonly sources: readonly { readonly name: string }[];
}

const ROWS = 100;
/** The page looks at so many entries of each source, for so long in all; at some of them in any case. */
const LOOKED = { most: 500, least: 200, ms: 200 };
const LOCKOUTS_MAX = 100;

/** How full the limits are, and who is locked out. */
export function limitsPages(parts: LimitsPageParts): Pages {
  return {
    pages: [{ path: '/limits', navigation: 'Limits', show: (request) => show(parts, request) }],
    acts: [
      { path: '/limits/lift', role: 'operate', perform: (request) => liftLockout(parts.store, request) },
    ],
  };
}

async function show({ reading, sources }: LimitsPageParts, { query, person }: PageRequest): Promise<View> {
  const names = sources.map(({ name }) => name);
  const chosen = oneOf(query, 'source', names);
  const shown = chosen === undefined ? names : [chosen];
  const [found, locked] = await Promise.all([
    reading.limits(shown, LOOKED),
    reading.lockedOut(shown, LOCKOUTS_MAX),
  ]);
  const [rule, value] = [written(query, 'rule'), written(query, 'value')];
  const matching = found.limits.filter((limit) => isOf(limit, rule, value));
  return {
    title: 'Limits',
    content: html`${searchForm(query, names)}${lockoutsCard(locked, person)}${limitsTable(matching)}
      <p class="hint">${lookedAt(found, matching.length)}</p>`,
  };
}

function isOf(
  { policy, rule, by }: LimitUse,
  wantedRule: string | undefined,
  value: string | undefined,
): boolean {
  const isRule = wantedRule === undefined || wantedRule === policy || wantedRule === `${policy}/${rule}`;
  return isRule && (value === undefined || Object.values(by).includes(value));
}

const searchForm = (query: URLSearchParams, names: readonly string[]): Html =>
  html`<form class="card search" method="get" action="${link`/limits`}">
    <div class="fields">
      ${choiceField('Source', 'source', written(query, 'source'), names)}
      ${textField('Rule', 'rule', written(query, 'rule'), 'policy or policy/rule')}
      ${textField('Counted by', 'value', written(query, 'value'), 'a user, an address')}
    </div>
    <div class="actions"><button>Show</button></div>
  </form>`;

function limitsTable(limits: readonly LimitUse[]): Html {
  if (limits.length === 0) return nothing('No limit over time counts the callbacks that were looked at.');
  return table(
    'Limits over time, the fullest first',
    ['Full', 'Whose', 'Rule', 'Used', 'Left', 'Room comes back (UTC)'],
    limits.slice(0, ROWS).map(limitRow),
  );
}

function limitRow(limit: LimitUse): readonly (Html | string)[] {
  const { source, group, policy, rule, mode, by, window, max, used, next } = limit;
  const percent = percentOf(limit);
  return [
    html`<meter min="0" max="100" high="80" optimum="0" value="${percent}">${percent}%</meter>
      <span class="mono">${percent}%</span>`,
    html`${group === undefined ? source : `group ${group}`}${Object.entries(by).map(
      ([name, value]) => html` <span class="value"><span class="muted">${name}</span> ${value}</span>`,
    )}`,
    html`<span class="mono">${policy}/${rule}</span
      >${mode !== 'enforce' && html` <span class="muted">${mode}</span>`}`,
    html`${formatAmount(used)} <span class="muted">of</span> ${formatAmount(max)}
      <span class="muted">in</span> ${window}`,
    used >= max ? '0' : formatAmount(max - used),
    next === undefined ? '' : html`${formatAmount(next.amount)} at ${instant(next.atMs)}`,
  ];
}

function lookedAt({ looked, sinceMs, limits }: LimitsInUse, matching: number): Html {
  const more = matching > ROWS ? ` The fullest ${ROWS} of ${matching} are shown.` : '';
  if (sinceMs === undefined) return html`The journal has no callbacks yet.`;
  return html`${limits.length} limits, found by the newest ${looked} entries of the journal, back to
    ${instant(sinceMs)}.${more} <code>countersign limits show --entries</code> looks farther back.`;
}

// ---- lock-outs ----

function lockoutsCard(
  { lockouts, more }: Awaited<ReturnType<Reading['lockedOut']>>,
  person: Person,
): Html | false {
  if (lockouts.length === 0) return false;
  return html`<section class="card">
    <h2>Locked out</h2>
    ${table(
      'Who is locked out, newest first',
      ['Source', 'Who', 'Policy', 'Refusals', 'Since (UTC)', 'Until (UTC)', 'Lift'],
      lockouts.map((lockout) => [
        lockout.source,
        lockout.whose,
        lockout.policy,
        lockout.refusals,
        instant(lockout.sinceMs),
        lockout.untilMs === 0 ? 'it is lifted' : instant(lockout.untilMs),
        mayUse(person, 'operate') ? liftForm(lockout) : '',
      ]),
    )}
    ${more && html`<p class="hint">There are more. <code>countersign lockout list</code> has all of them.</p>`}
  </section>`;
}

const liftForm = ({ source, id, whose }: Lockout): Html =>
  html`<form class="inline" method="post" action="${link`/limits/lift`}">
    <input type="hidden" name="source" value="${source}" />
    <input type="hidden" name="id" value="${id}" />
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

async function liftLockout(store: LimitsPageParts['store'], { form, person }: ActRequest): Promise<Redirect> {
  const message = reasonIn(form, 'message', 'the lock-out is lifted');
  const lifted = await store.liftLockout({
    source: form.get('source') ?? '',
    id: form.get('id') ?? '',
    by: authorOf(person),
    message,
  });
  return { to: link`/limits`, notice: `Lifted the lock-out of ${lifted.whose} in ${lifted.source}.` };
}
