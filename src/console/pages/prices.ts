import { type PricesParts, removePrices, setPrices } from '../../act/prices.ts';
import { usageError } from '../../errors.ts';
import { type WrittenPrice, readPrices } from '../../orders/prices.ts';
import { type PriceChanges, afterText, beforeText, priceChanges } from '../../orders/price-changes.ts';
import type { PriceTable } from '../../policy/facts.ts';
import type { PriceChange } from '../../store/store.ts';
import { type Amount, formatAmount } from '../../values/amount.ts';
import { countLines } from '../../values/text.ts';
import { hiddenFields, textField, written } from '../fields.ts';
import { type Html, html, link, verbatim, withQuery } from '../html.ts';
import { card, facts, fault, instant, nothing, numbers, table, yesOrNo } from '../layout.ts';
import {
  CONFIRM,
  type FormRequest,
  type PageRequest,
  type Pages,
  type Person,
  type View,
  formOf,
  mayUse,
} from '../page.ts';
import { endOf } from '../search.ts';

const SET_MAX = 1000;
const CHANGES_SHOWN = 100;
/** Changes of the table that are looked at, for so long; each may have a thousand prices. */
const LOOKED = { most: 200, least: 20, ms: 200 };

/** The prices for the rule value-limit: look, set several with a preview, remove. */
export function pricesPages(parts: PricesParts): Pages {
  return {
    pages: [
      {
        path: '/prices',
        navigation: 'Prices',
        show: (request) => show(parts, request),
      },
      { path: '/prices/remove', show: (request) => confirmRemoval(parts, request) },
    ],
    forms: [
      formOf(setPrices, {
        path: '/prices',
        parts: () => parts,
        read: ({ form }) => ({ prices: pricesIn(form.get('prices') ?? '') }),
        to: () => link`/prices`,
        preview: (request) => preview(parts, request),
        again: async ({ form, person }, because) =>
          view(await parts.store.prices(), person, form.get('prices') ?? '', { above: fault(because) }),
      }),
      formOf(removePrices, {
        path: '/prices/remove',
        parts: () => parts,
        read: ({ form }) => ({ assets: [form.get('asset') ?? ''] }),
        to: () => link`/prices`,
      }),
    ],
  };
}

async function show(
  { store }: PricesParts,
  { person, query }: Pick<PageRequest, 'person' | 'query'>,
): Promise<View> {
  const isLate = endOf(LOOKED);
  const isOver = (looked: number): boolean => looked >= LOOKED.most || isLate(looked);
  const [prices, changes] = await Promise.all([
    store.prices(),
    priceChanges(store, { most: CHANGES_SHOWN, isOver }),
  ]);
  const asset = written(query, 'asset');
  return view(prices, person, '', {
    above: prices.prices.size > 0 || asset !== undefined ? searchForm(asset) : undefined,
    asset,
    below: changesCard(changes),
  });
}

const searchForm = (asset: string | undefined): Html =>
  html`<form class="card" method="get" action="${link`/prices`}" role="search">
    <div class="fields">${textField('Asset', 'asset', asset, 'USDT')}</div>
    <div class="actions">
      <button>Search</button><a class="button quiet" href="${link`/prices`}">Clear</a>
    </div>
  </form>`;

function view(
  prices: PriceTable,
  person: Person,
  text: string,
  {
    above,
    asset,
    below,
  }: { readonly [name in 'above' | 'below']?: Html | undefined } & {
    readonly asset?: string | undefined;
  },
): View {
  return {
    title: 'Prices',
    content: html`${above}${pricesTable(prices, person, asset)}${mayUse(person, 'operate') && setForm(text)}${below}`,
  };
}

function changesCard({ changes, more }: PriceChanges): Html {
  return card(
    'Changes',
    changes.length === 0
      ? nothing('No price was changed, or the history is no longer kept.')
      : table(
          'Changes of prices, newest first',
          ['At (UTC)', 'By', 'Asset', numbers('From'), numbers('To'), 'As of (UTC)', numbers('Version')],
          changes.map((change) => [
            instant(change.atMs),
            change.by,
            change.asset,
            beforeText(change),
            afterText(change),
            change.asOfMs === undefined ? '' : instant(change.asOfMs),
            change.version,
          ]),
        ),
    more &&
      html`<p class="hint">
        The newest ${changes.length}. <code>countersign prices history</code> shows more. A ? stands for a
        price that was set before the changes that the page looks at.
      </p>`,
  );
}

const byAsset = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : 1;

/** The prices of the assets that have a text in their names; of all without one. */
function pricesTable({ version, prices }: PriceTable, person: Person, asset = ''): Html {
  if (prices.size === 0) return nothing('There are no prices. Rules about value refuse without them.');
  const wanted = asset.toUpperCase();
  const found = [...prices].filter(([name]) => name.toUpperCase().includes(wanted)).sort(byAsset);
  if (found.length === 0) return nothing(`None of the ${prices.size} prices is of ${asset}.`);
  const isOperator = mayUse(person, 'operate');
  return html`${table(
      'Prices in the reference currency',
      ['Asset', numbers('Price of one'), 'As of (UTC)', ...(isOperator ? ['Remove'] : [])],
      found.map(([name, { price, asOfMs }]) => [
        name,
        formatAmount(price),
        instant(asOfMs),
        ...(isOperator ? [removeLink(name)] : []),
      ]),
    )}
    <p class="hint">Version ${version}</p>`;
}

/** Leads to the page that asks whether to remove. */
const removeLink = (asset: string): Html =>
  html`<a
    class="button quiet"
    href="${withQuery(link`/prices/remove`, { asset })}"
    aria-label="Remove the price of ${asset}"
    >Remove</a
  >`;

/** Shows a price, and asks whether to remove it. */
async function confirmRemoval(parts: PricesParts, { query, person }: PageRequest): Promise<View> {
  const asset = written(query, 'asset') ?? '';
  const { prices, version } = await parts.store.prices();
  const found = prices.get(asset);
  if (found === undefined || !mayUse(person, 'operate')) return show(parts, { query, person });
  return {
    title: 'Remove this price?',
    up: { to: link`/prices`, label: 'Prices' },
    content: html`<p>Rules about value then refuse whatever moves ${asset}, until it has a price again.</p>
      <form class="card" method="post" action="${link`/prices/remove`}">
        ${facts([
          ['Asset', asset],
          ['Price of one', formatAmount(found.price)],
          ['As of (UTC)', instant(found.asOfMs)],
        ])}
        ${hiddenFields({ asset, version })} ${yesOrNo('remove it', 'keep it', link`/prices`)}
      </form>`,
  };
}

const setForm = (text: string): Html =>
  html`<form class="card" method="post" action="${link`/prices`}">
    <h2>Set prices</h2>
    <div class="fields">
      <label hidden>Choose a file <input type="file" accept=".txt,.csv" data-file-into="prices" /></label>
      <label class="wide"
        >A price on each line: ASSET PRICE, and after it the time of the price if it isn't now
        <textarea id="prices" name="prices" rows="5" spellcheck="false" autocapitalize="none">
${verbatim(text)}</textarea>
      </label>
    </div>
    <div class="actions"><button name="do" value="preview">Show what would change</button></div>
  </form>`;

async function preview({ store, clock }: PricesParts, { form, person }: FormRequest): Promise<View> {
  const text = form.get('prices') ?? '';
  const before = await store.prices();
  return view(before, person, text, {
    above: previewCard(before, readPrices(pricesIn(text), clock()), text),
  });
}

/** Blanks, commas or tabs between the parts. Throws USAGE. */
function pricesIn(text: string): readonly WrittenPrice[] {
  const lineCount = countLines(text);
  if (lineCount > SET_MAX) {
    throw usageError(`There are ${lineCount} lines. Give at most ${SET_MAX} at once`);
  }
  const lines = text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '');
  if (lines.length === 0) throw usageError('There are no prices. Write BTC 97000');
  return lines.map((line) => {
    const [asset = '', price = '', asOf, ...more] = line.split(/[\s,]+/);
    if (more.length === 0) return { asset, price, asOf };
    throw usageError(`${line} is not a price. Write ASSET PRICE, or ASSET PRICE TIME`);
  });
}

function previewCard({ version, prices }: PriceTable, set: PriceChange['set'], text: string): Html {
  return html`<form class="card" method="post" action="${link`/prices`}">
    <h2>What would change</h2>
    ${table(
      'The prices that would be set',
      ['Asset', numbers('Price now'), numbers('New price'), numbers('Change'), 'As of (UTC)'],
      set.map(({ asset, price, asOfMs }) => {
        const before = prices.get(asset)?.price;
        return [
          asset,
          before === undefined ? 'none' : formatAmount(before),
          formatAmount(price),
          before === undefined ? '' : changeText(before, price),
          instant(asOfMs),
        ];
      }),
    )}
    ${hiddenFields({ prices: text, version })}
    <div class="actions"><button name="do" value="${CONFIRM}">Set these prices</button></div>
  </form>`;
}

/** How the price changes, in tenths of a percent, rounded towards zero. */
function changeText(before: Amount, after: Amount): string {
  const tenths = ((after - before) * 1000n) / before;
  const size = tenths < 0n ? -tenths : tenths;
  return `${after < before ? '−' : '+'}${size / 10n}.${size % 10n} %`;
}
