import { EXCEPT, freeze, unfreeze } from '../../act/freezes.ts';
import { usageError } from '../../errors.ts';
import { shortRevision } from '../../release/push.ts';
import { exceptionText, lossesIn } from '../../store/freezes.ts';
import type { Control, Freeze, Store } from '../../store/store.ts';
import { type Html, html, link, withQuery } from '../html.ts';
import { barChart } from '../chart.ts';
import { choiceField, hiddenFields, oneOf, reasonField, reasonIn } from '../fields.ts';
import {
  card,
  choices,
  entryLink,
  facts,
  fault,
  instant,
  nothing,
  numbers,
  proseOf,
  table,
} from '../layout.ts';
import {
  type FormRequest,
  type PageRequest,
  type Pages,
  type Person,
  type View,
  formOf,
  mayUse,
} from '../page.ts';
import { type AskService, PERIODS, type Period, type ServiceState } from '../service-state.ts';

export interface NowParts {
  readonly store: Pick<Store, 'freeze' | 'unfreeze' | 'control' | 'services'>;
  readonly askService: AskService;
}

const REFUSALS_SHOWN = 10;

/** What happens now, and the freezes: the first page, unless another one comes first for a person. */
export function nowPages(parts: NowParts): Pages {
  const forms = {
    parts: () => parts,
    to: () => link`/now`,
    again: (request: FormRequest, because: string) => show(parts, request, { because, form: request.form }),
  };
  return {
    pages: [
      { path: '/', navigation: 'Now', show: (request) => show(parts, request) },
      { path: '/now', show: (request) => show(parts, request) },
    ],
    forms: [
      formOf(freeze, {
        ...forms,
        path: '/freeze',
        read: ({ form }) => ({
          reason: confirmedReason(form, 'freeze', 'approvals must stop', 'Nothing was frozen'),
          except: oneOf(form, 'except', EXCEPT),
        }),
      }),
      formOf(unfreeze, {
        ...forms,
        path: '/unfreeze',
        read: ({ form }) => ({
          ids: [form.get('id') ?? ''],
          acknowledgeLoss: form.get('acknowledge') === 'loss',
          message: confirmedReason(form, 'unfreeze', 'approvals may continue', 'Nothing was lifted'),
        }),
      }),
    ],
  };
}

async function show(
  { store, askService }: NowParts,
  { person, query }: PageRequest,
  mistake?: Mistake,
): Promise<View> {
  const period = oneOf(query, 'period', PERIODS) ?? 'hour';
  const [control, state] = await Promise.all([store.control(), askService()]);
  const ofService =
    state === undefined
      ? servicesCard(await store.services())
      : html`${activityCard(state.activity, period)}${alarmsCard(state.activity)}`;
  return {
    title: 'Now',
    content: html`${mistake && fault(mistake.because)}${freezeCard(control, person, mistake)} ${ofService}
      <div class="cards">${state && readinessCard(state.readiness)}${revisionCard(control)}</div>`,
  };
}

/** A form that was not accepted, with what was typed. */
interface Mistake {
  readonly because: string;
  readonly form: URLSearchParams;
}

/** Services send a heartbeat every two seconds. */
const SILENT_MS = 10_000;

/** All services of the store, where none of them says more. */
const servicesCard = ({ nowMs, services }: Awaited<ReturnType<Store['services']>>): Html =>
  card(
    'Services',
    services.length === 0
      ? nothing('No service has answered callbacks on this store in the last day.')
      : table(
          'Services of this store, by their last heartbeat',
          ['Service', 'Last heartbeat (UTC)', 'State'],
          services.map(({ name, atMs, trouble }) => [
            name,
            instant(atMs),
            nowMs - atMs > SILENT_MS ? '✕ no heartbeat' : trouble === '' ? '✓ ready' : `✕ ${trouble}`,
          ]),
        ),
    html`<p class="hint">
      Each service counts the callbacks that it answers: see its own console, or <code>/metrics</code>.
    </p>`,
  );

function activityCard({ sinceMs, over }: ServiceState['activity'], period: Period): Html {
  const { slots, slotMs, refusals } = over[period];
  const sum = (of: 'success' | 'failure'): number => slots.reduce((total, slot) => total + slot[of], 0);
  const [success, failure] = [sum('success'), sum('failure')];
  const minutes = slotMs / 60_000;
  const each = minutes === 1 ? 'minute' : minutes < 60 ? `${minutes} minutes` : `${minutes / 60} hours`;
  return html`<section class="card">
    <h2>Callbacks</h2>
    ${choices(
      'Periods',
      PERIODS.map((name) => ({
        to: withQuery(link`/now`, { period: name }),
        text: `last ${name}`,
        isChosen: name === period,
      })),
    )}
    <p class="legend">
      <span class="yes">${success} SUCCESS</span><span class="no">${failure} FAILURE</span>
    </p>
    ${barChart(`Callbacks in each ${each} of the last ${period}: ${success} SUCCESS, ${failure} FAILURE`, slots)}
    <p class="hint">
      A bar is ${minutes === 1 ? 'a minute' : each}, in UTC. This replica counts what it has answered since
      ${instant(sinceMs)}. Other replicas count theirs.
    </p>
    ${refusals.length > 0 && refusalsTable(refusals, slots[0]?.fromMs)}
  </section>`;
}

const refusalsTable = (
  refusals: readonly (readonly [cause: string, count: number])[],
  fromMs: number | undefined,
): Html =>
  html`<h3>Refused by</h3>
    ${table(
      'Refusals by rule, or by code where no rule refused, the most first',
      ['Rule or code', numbers('Refusals')],
      refusals.slice(0, REFUSALS_SHOWN).map(([cause, count]) => [refusalLink(cause, fromMs), count]),
    )}`;

/**
 * To the decisions that it refused in the period. A callback without a valid signature is refused before
 * there is one.
 */
function refusalLink(cause: string, fromMs = 0): Html {
  if (cause.startsWith('SIGN_'))
    return html`<span class="mono">${cause}</span> <span class="muted">(in the log)</span>`;
  const from = new Date(fromMs).toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length);
  const query = { ...(cause.includes('/') ? { rule: cause } : { code: cause }), verdict: 'FAILURE', from };
  return html`<a class="mono" href="${withQuery(link`/decisions`, query)}">${cause}</a>`;
}

function alarmsCard({ alarms }: ServiceState['activity']): Html | false {
  if (alarms.length === 0) return false;
  return card(
    'Alarms',
    table(
      'Callbacks that somebody must look into, newest first',
      ['Time (UTC)', 'About', 'Code', 'Why'],
      alarms.map(({ atMs, source = '', subject = '', code, because, decision }) => [
        decision === undefined ? instant(atMs) : entryLink(source, decision, instant(atMs)),
        `${source} ${subject}`,
        html`<span class="code">${code}</span>`,
        proseOf(because),
      ]),
    ),
  );
}

function readinessCard({ ready, checks }: ServiceState['readiness']): Html {
  return card(
    html`Readiness <span class="pill ${ready ? 'yes' : 'no'}">${ready ? '✓ ready' : '✕ not ready'}</span>`,
    facts(checks.map(({ name, ok, because }) => [name, html`${ok ? '✓' : '✕'} ${because}`] as const)),
  );
}

function revisionCard({ revision, sequence, prices }: Control): Html {
  const inForce = html`<a class="mono" href="${link`/policies`}">${shortRevision(revision)}</a>`;
  return card(
    'In force',
    facts([
      ['Revision', revision === '' ? 'none' : inForce],
      ['Change', html`${sequence} (<a href="${link`/policies/history`}">all pushes</a>)`],
      ['Prices', prices === 0 ? 'none' : `version ${prices}`],
    ]),
  );
}

function freezeCard({ frozen }: Control, person: Person, mistake?: Mistake): Html {
  const typed = mistake?.form;
  const lifting = typed?.get('id');
  const rows = frozen.map((each) => [
    each.id,
    `${each.by}${exceptionText(each)}`,
    each.reason,
    instant(each.atMs),
    mayUse(person, 'operate') && unfreezeForm(each, each.id === lifting ? typed : undefined),
  ]);
  return html`<section class="card" id="freeze">
    <h2>Freezes</h2>
    ${
      rows.length === 0
        ? html`<p>Nothing is frozen. Approvals are given as the policies say.</p>`
        : table(
            'Freezes in effect',
            ['Id', 'By', 'Reason', 'Since (UTC)', 'Lift'],
            rows.map((row) => row.map((cell) => (cell === false ? '' : cell))),
          )
    }${mayUse(person, 'operate') && freezeForm(lifting === null ? typed : undefined)}
  </section>`;
}

/** Approvals continue with a mistake as easily as they stop: both need a reason and a word. */
const unfreezeForm = (standing: Freeze, typed: URLSearchParams | undefined): Html => {
  const isLoss = lossesIn([standing]).length > 0;
  return html`<details${typed && html` open`}>
    <summary>Lift ${standing.id}</summary>
    <form method="post" action="${link`/unfreeze`}">
      ${hiddenFields({ id: standing.id })}
      ${
        isLoss &&
        html`<label class="choice"
          ><input type="checkbox" name="acknowledge" value="loss" required /> I have compared the approvals
          with the platform: limits and repeats begin with the data that is left</label
        >`
      }
      ${confirmedFields('Reason, for the journal', 'unfreeze', typed)}
      <div class="actions">
        <button class="danger">Lift ${standing.id}</button>
        <p class="hint">Approvals continue, on all replicas, once no freeze is left.</p>
      </div>
    </form>
  </details>`;
};

const freezeForm = (typed: URLSearchParams | undefined): Html =>
  html`<details${typed && html` open`}>
    <summary>Freeze approvals</summary>
    <form method="post" action="${link`/freeze`}">
      ${choiceField(
        'What is frozen',
        'except',
        typed?.get('except') ?? undefined,
        EXCEPT,
        'all approvals',
        () => 'all approvals except what two people approve',
      )}
      ${confirmedFields('Reason, for the journal and for other operators', 'freeze', typed)}
      <div class="actions">
        <button class="danger">Freeze</button>
        <p class="hint">What is frozen is answered FAILURE, on all replicas, until the freeze is lifted.</p>
      </div>
    </form>
  </details>`;

const confirmedFields = (label: string, word: string, typed: URLSearchParams | undefined): Html =>
  html`<div class="fields">
    ${reasonField(label, 'reason', typed?.get('reason') ?? '')}
    <label
      >Type “${word}” to confirm <input name="confirmation" required autocomplete="off" autocapitalize="none"
    /></label>
  </div>`;

/** The reason. Throws USAGE without one, and without the word that confirms it. */
function confirmedReason(form: URLSearchParams, word: string, why: string, undone: string): string {
  const reason = reasonIn(form, 'reason', why);
  if (form.get('confirmation')?.trim().toLowerCase() === word) return reason;
  throw usageError(`${undone}. Type “${word}” to confirm`);
}
