import { EXPIRES, cancelOrder, expectOrder, readOutputs } from '../../act/orders.ts';
import { type Kind, KINDS, subjectOf } from '../../callback/callback.ts';
import { type OrderSource, orderSource } from '../../orders/orders.ts';
import { ORDER_MEMBERS } from '../../policy/order-members.ts';
import type { Release } from '../../policy/release.ts';
import type { ApprovalRequests, Order, Store } from '../../store/store.ts';
import type { Clock } from '../../values/clock.ts';
import { choiceField, hiddenFields, oneOf, textField, written } from '../fields.ts';
import { type Html, html, link, withQuery } from '../html.ts';
import { card, facts, fault, instant, nothing, yesOrNo } from '../layout.ts';
import {
  type FormRequest,
  type PageRequest,
  type Pages,
  type Person,
  type View,
  formOf,
  mayUse,
} from '../page.ts';
import { idMember, kindChoices, memberWord } from '../member-words.ts';

export interface OrdersParts {
  readonly store: Pick<Store, 'cancelOrder' | 'expectOrder' | 'order' | 'control' | 'document'> &
    ApprovalRequests;
  readonly sources: readonly OrderSource[];
  readonly policies: { readonly current: () => Release | undefined };
  readonly deployment?: string | undefined;
  readonly clock: Clock;
}

/** Announced orders, by their ids: the stores have no list of them. */
export function ordersPages(parts: OrdersParts): Pages {
  const to = ({ form }: FormRequest): string => withQuery(link`/orders`, namedIn(parts, form));
  return {
    pages: [
      { path: '/orders', navigation: 'Orders', show: (request) => show(parts, request) },
      { path: '/orders/cancel', show: (request) => confirmCancelling(parts, request) },
    ],
    forms: [
      formOf(expectOrder, {
        path: '/orders',
        parts: () => parts,
        read: ({ form }) => {
          const { kind, ...named } = namedIn(parts, form);
          const members = ORDER_MEMBERS[kind].names.flatMap((name) => memberOf(form, name));
          const ask = form.get('ask') === 'yes';
          const expires = written(form, 'expires');
          return { ...named, kind, members: Object.fromEntries(members), expires, ask };
        },
        to,
        again: ({ form, person }, because) =>
          view(parts, { kind: kindOf(parts, form), query: form, person, fault: because }),
      }),
      formOf(cancelOrder, {
        path: '/orders/cancel',
        parts: () => parts,
        read: ({ form }) => namedIn(parts, form),
        to,
      }),
    ],
  };
}

async function show(
  parts: OrdersParts,
  { query, person }: Pick<PageRequest, 'query' | 'person'>,
): Promise<View> {
  const id = written(query, 'id');
  const kind = kindOf(parts, query);
  if (id === undefined) return view(parts, { kind, query, person });
  const source = sourceOf(parts, kind, query);
  const subject = subjectOf({ kind, id });
  const order = await parts.store.order(source, subject);
  const found =
    order === undefined
      ? nothing(`No order ${subject} was announced for ${source}.`)
      : orderCard(kind, order, cancelLink(kind, order, id, person));
  return view(parts, { kind, query, person, found });
}

/** The kind that was chosen, or the first that a source takes. */
function kindOf({ sources }: OrdersParts, values: URLSearchParams): Kind {
  const taken = KINDS.find((each) => sources.some(({ kinds }) => kinds.includes(each)));
  return oneOf(values, 'kind', KINDS) ?? taken ?? 'payment';
}

/** The source that was chosen, or the first that takes the kind. Throws ORDER_INVALID. */
function sourceOf({ sources }: OrdersParts, kind: Kind, values: URLSearchParams): string {
  const first = sources.find(({ kinds }) => kinds.includes(kind))?.name;
  return orderSource(sources, written(values, 'source') ?? first ?? '', kind).name;
}

/** The order that a form or a query names. Throws ORDER_INVALID. */
function namedIn(parts: OrdersParts, values: URLSearchParams) {
  const kind = kindOf(parts, values);
  return { kind, source: sourceOf(parts, kind, values), id: written(values, 'id') ?? '' };
}

interface Shown {
  readonly kind: Kind;
  readonly query: URLSearchParams;
  readonly person: Person;
  readonly found?: Html;
  readonly fault?: string;
}

/** `Order (appOrderId)`, because the programs of a merchant call it so. */
const idWord = (kind: Kind): string => `${memberWord(kind, idMember(kind))} (${idMember(kind)})`;

function view(
  { sources, policies }: OrdersParts,
  { kind, query, person, found, fault: problem }: Shown,
): View {
  const fitting = sources.filter(({ kinds }) => kinds.includes(kind));
  const asksPeople = policies.current()?.asksPeople === true;
  return {
    title: 'Orders',
    content: html`${kindChoices(link`/orders`, kind)} ${problem !== undefined && fault(problem)}
      <form class="card" method="get" action="${link`/orders`}">
        ${hiddenFields({ kind })}
        <div class="fields">
          ${choiceField('Source', 'source', written(query, 'source'), namesOf(fitting), 'the first')}
          ${textField(idWord(kind), 'id', written(query, 'id'))}
        </div>
        <div class="actions"><button>Look up</button></div>
      </form>
      ${found}${mayUse(person, 'operate') && announceForm(kind, fitting, query, asksPeople)}`,
  };
}

/** An order, with what can be done about it. */
function orderCard(kind: Kind, order: Order, acts: Html | false): Html {
  const { source, subject, state, members, by, ...times } = order;
  const tone = { expected: 'yes', used: '', cancelled: 'no', expired: 'no' }[state];
  const valueOf = (text: string): Html | string =>
    text === '' ? 'none' : html`<span class="mono value">${text}</span>`;
  return card(
    html`${subject} <span class="pill ${tone}">${state}</span>`,
    facts([
      ['Source', source],
      ...Object.entries(members).map(([name, text]) => [memberWord(kind, name), valueOf(text)] as const),
      ['Announced by', by],
      ['Announced (UTC)', instant(times.announcedAtMs)],
      ['Expires (UTC)', instant(times.expiresAtMs)],
      ['Ended (UTC)', times.endedAtMs === 0 ? '' : instant(times.endedAtMs)],
    ]),
    acts,
  );
}

/** Leads to the page that asks whether to cancel. */
const cancelLink = (kind: Kind, { source, state }: Order, id: string, person: Person): Html | false =>
  state === 'expected' &&
  mayUse(person, 'operate') &&
  html`<p class="actions">
    <a class="button quiet" href="${withQuery(link`/orders/cancel`, { kind, source, id })}"
      >Cancel the order</a
    >
  </p>`;

/** Shows an order, and asks whether to cancel it. */
async function confirmCancelling(parts: OrdersParts, { query, person }: PageRequest): Promise<View> {
  const named = namedIn(parts, query);
  const { kind, source } = named;
  const order = await parts.store.order(source, subjectOf(named));
  if (order?.state !== 'expected' || !mayUse(person, 'operate')) return show(parts, { query, person });
  const up = withQuery(link`/orders`, named);
  const form = html`<form method="post" action="${link`/orders/cancel`}">
    ${hiddenFields(named)}${yesOrNo('cancel it', 'keep it', up)}
  </form>`;
  return {
    title: 'Cancel this order?',
    up: { to: up, label: 'Orders' },
    content: html`<p>The rule expected-order then refuses its callback. The order can be announced again.</p>
      ${orderCard(kind, order, form)}`,
  };
}

const namesOf = (sources: readonly OrderSource[]): readonly string[] => sources.map(({ name }) => name);

/** A member to type, or to choose if only some values are possible. */
function memberField(
  kind: Kind,
  name: string,
  fitting: readonly OrderSource[],
  query: URLSearchParams,
): Html {
  const [label, value] = [memberWord(kind, name), written(query, name)];
  if (name !== 'scheme') return textField(label, name, value);
  const schemes = [...new Set(fitting.flatMap((source) => source.schemes))];
  return choiceField(label, name, value, schemes, 'choose one');
}

const announceForm = (
  kind: Kind,
  fitting: readonly OrderSource[],
  query: URLSearchParams,
  asksPeople: boolean,
): Html =>
  html`<form class="card" method="post" action="${link`/orders`}">
    <h2>Announce an order</h2>
    <input type="hidden" name="kind" value="${kind}" />
    <div class="fields">
      ${choiceField('Source', 'source', written(query, 'source'), namesOf(fitting), 'the first')}
      ${textField(idWord(kind), 'id', written(query, 'id'))}
      ${ORDER_MEMBERS[kind].names.map((name) => memberField(kind, name, fitting, query))}
      ${textField('Expires', 'expires', written(query, 'expires') ?? EXPIRES, 'a duration, or a time')}
    </div>
    ${
      asksPeople &&
      html`<p>
        <label
          ><input type="checkbox" name="ask" value="yes" ${query.get('ask') === 'yes' && html` checked`} />
          Ask people now to approve it</label
        >
      </p>`
    }
    <div class="actions"><button>Announce</button></div>
    <p class="hint">
      The rule expected-order passes only a callback that agrees with its order in every member.
    </p>
  </form>`;

function memberOf(form: URLSearchParams, name: string): readonly (readonly [string, unknown])[] {
  const text = written(form, name);
  if (text === undefined) return [];
  return [[name, name === 'outputs' ? readOutputs(text) : text]];
}
