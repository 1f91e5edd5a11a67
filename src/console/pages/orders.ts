import { type Kind, KINDS, subjectOf } from '../../callback/callback.ts';
import { usageError } from '../../errors.ts';
import { type OrderSource, announceOrder, orderSource } from '../../orders/orders.ts';
import { ORDER_MEMBERS } from '../../policy/order-members.ts';
import type { Order, Store } from '../../store/store.ts';
import type { Clock } from '../../values/clock.ts';
import { choiceField, hiddenFields, oneOf, textField, written } from '../fields.ts';
import { type Html, html, link, withQuery } from '../html.ts';
import { card, facts, fault, instant, nothing } from '../layout.ts';
import {
  type ActRequest,
  type PageRequest,
  type Pages,
  type Person,
  type Redirect,
  type View,
  authorOf,
  mayUse,
  orAgain,
} from '../page.ts';
import { idMember, kindChoices, memberWord } from '../member-words.ts';

export interface OrdersParts {
  readonly store: Pick<Store, 'cancelOrder' | 'expectOrder' | 'order'>;
  readonly sources: readonly OrderSource[];
  readonly clock: Clock;
}

const EXPIRES = '24h';
/** Announced orders, by their ids: the stores have no list of them. */
export function ordersPages(parts: OrdersParts): Pages {
  return {
    pages: [
      { path: '/orders', navigation: 'Orders', show: (request) => show(parts, request) },
      { path: '/orders/cancel', show: (request) => confirmCancelling(parts, request) },
    ],
    acts: [
      { path: '/orders', role: 'operate', perform: (request) => announce(parts, request) },
      { path: '/orders/cancel', role: 'operate', perform: (request) => cancel(parts, request) },
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

interface Shown {
  readonly kind: Kind;
  readonly query: URLSearchParams;
  readonly person: Person;
  readonly found?: Html;
  readonly fault?: string;
}

/** `Order (appOrderId)`, because the programs of a merchant call it so. */
const idWord = (kind: Kind): string => `${memberWord(kind, idMember(kind))} (${idMember(kind)})`;

function view({ sources }: OrdersParts, { kind, query, person, found, fault: problem }: Shown): View {
  const fitting = sources.filter(({ kinds }) => kinds.includes(kind));
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
      ${found}${mayUse(person, 'operate') && announceForm(kind, fitting, query)}`,
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
  const [kind, id] = [kindOf(parts, query), written(query, 'id') ?? ''];
  const source = sourceOf(parts, kind, query);
  const order = await parts.store.order(source, subjectOf({ kind, id }));
  if (order?.state !== 'expected' || !mayUse(person, 'operate')) return show(parts, { query, person });
  const form = html`<form class="actions" method="post" action="${link`/orders/cancel`}">
    <input type="hidden" name="source" value="${source}" />
    <input type="hidden" name="kind" value="${kind}" />
    <input type="hidden" name="id" value="${id}" />
    <button class="danger">Yes, cancel it</button>
    <a class="button quiet" href="${withQuery(link`/orders`, { kind, source, id })}">No, keep it</a>
  </form>`;
  return {
    title: 'Cancel this order?',
    up: { to: withQuery(link`/orders`, { kind, source, id }), label: 'Orders' },
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

const announceForm = (kind: Kind, fitting: readonly OrderSource[], query: URLSearchParams): Html =>
  html`<form class="card" method="post" action="${link`/orders`}">
    <h2>Announce an order</h2>
    <input type="hidden" name="kind" value="${kind}" />
    <div class="fields">
      ${choiceField('Source', 'source', written(query, 'source'), namesOf(fitting), 'the first')}
      ${textField(idWord(kind), 'id', written(query, 'id'))}
      ${ORDER_MEMBERS[kind].names.map((name) => memberField(kind, name, fitting, query))}
      ${textField('Expires', 'expires', written(query, 'expires') ?? EXPIRES, 'a duration, or a time')}
    </div>
    <div class="actions"><button>Announce</button></div>
    <p class="hint">
      The rule expected-order passes only a callback that agrees with its order in every member.
    </p>
  </form>`;

async function announce(parts: OrdersParts, { form, person }: ActRequest): Promise<Redirect | View> {
  const kind = kindOf(parts, form);
  const order = async (): Promise<Redirect> => {
    const id = written(form, 'id') ?? '';
    const source = sourceOf(parts, kind, form);
    const members = Object.fromEntries(ORDER_MEMBERS[kind].names.flatMap((name) => memberOf(form, name)));
    const expires = written(form, 'expires') ?? EXPIRES;
    const request = { source, kind, id, members, expires, by: authorOf(person) };
    const { outcome } = await announceOrder(parts.store, parts.sources, request, parts.clock());
    const notice = outcome === 'expected' ? 'The order is announced.' : 'It was already announced.';
    return { to: withQuery(link`/orders`, { kind, source, id }), notice };
  };
  return orAgain(order, (because) => view(parts, { kind, query: form, person, fault: because }));
}

function memberOf(form: URLSearchParams, name: string): readonly (readonly [string, unknown])[] {
  const text = written(form, name);
  if (text === undefined) return [];
  return [[name, name === 'outputs' ? text.split(',').map(outputOf) : text]];
}

function outputOf(text: string): { readonly to: string; readonly amount: string } {
  const [to = '', amount = '', ...more] = text.trim().split('=');
  if (to !== '' && amount !== '' && more.length === 0) return { to, amount };
  throw usageError(`${text} is not an output. Write ADDRESS=AMOUNT, with commas between them`);
}

async function cancel(parts: OrdersParts, { form, person }: ActRequest): Promise<Redirect> {
  const kind = kindOf(parts, form);
  const source = sourceOf(parts, kind, form);
  const id = written(form, 'id') ?? '';
  const subject = subjectOf({ kind, id });
  const { outcome, order } = await parts.store.cancelOrder({ source, subject, by: authorOf(person) });
  const notice =
    outcome === 'cancelled' ? 'The order is cancelled.' : `Nothing to cancel: it is ${order.state}.`;
  return { to: withQuery(link`/orders`, { kind, source, id }), notice };
}
