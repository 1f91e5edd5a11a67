import { CountersignError } from '../../errors.ts';
import { type WrittenPrice, readPrices, setPrices } from '../../orders/prices.ts';
import type { PriceTable } from '../../policy/facts.ts';
import type { PriceChange, Store } from '../../store/store.ts';
import { type Amount, formatAmount } from '../../values/amount.ts';
import type { Clock } from '../../values/clock.ts';
import { countLines } from '../../values/text.ts';
import { written } from '../fields.ts';
import { type Html, html, link, verbatim } from '../html.ts';
import { fault, instant, nothing, table } from '../layout.ts';
import {
  type ActRequest,
  type Pages,
  type Person,
  type Redirect,
  type View,
  authorOf,
  mayUse,
} from '../page.ts';

export interface PricesParts {
  readonly store: Pick<Store, 'changePrices' | 'prices'>;
  readonly clock: Clock;
}

const SET_MAX = 1000;

/** The prices for the rule value-limit: look, set several with a preview, remove. */
export function pricesPages(parts: PricesParts): Pages {
  return {
    pages: [
      {
        path: '/prices',
        navigation: 'Prices',
        show: async ({ person }) => view(await parts.store.prices(), person, ''),
      },
    ],
    acts: [
      { path: '/prices', role: 'operate', perform: (request) => changePrices(parts, request) },
      { path: '/prices/remove', role: 'operate', perform: (request) => removePrice(parts, request) },
    ],
  };
}

function view(prices: PriceTable, person: Person, text: string, above: Html | false = false): View {
  return {
    title: 'Prices',
    content: html`${above}${pricesTable(prices, person)}${mayUse(person, 'operate') && setForm(text)}`,
  };
}

const byAsset = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : 1;

function pricesTable({ version, prices }: PriceTable, person: Person): Html {
  if (prices.size === 0) return nothing('There are no prices. Rules about value refuse without them.');
  const isOperator = mayUse(person, 'operate');
  return html`${table(
      'Prices in the reference currency',
      ['Asset', 'Price of one', 'As of (UTC)', ...(isOperator ? ['Remove'] : [])],
      [...prices]
        .sort(byAsset)
        .map(([asset, { price, asOfMs }]) => [
          asset,
          formatAmount(price),
          instant(asOfMs),
          ...(isOperator ? [removeForm(asset)] : []),
        ]),
    )}
    <p class="hint">Version ${version}</p>`;
}

const removeForm = (asset: string): Html =>
  html`<form method="post" action="${link`/prices/remove`}">
    <input type="hidden" name="asset" value="${asset}" />
    <button class="quiet" aria-label="Remove the price of ${asset}">Remove</button>
  </form>`;

const setForm = (text: string): Html =>
  html`<form class="card" method="post" action="${link`/prices`}">
    <h2>Set prices</h2>
    <div class="fields">
      <label>Choose a file <input type="file" accept=".txt,.csv" data-file-into="prices" /></label>
      <label class="wide"
        >A price on each line: ASSET PRICE, and after it the time of the price if it isn't now
        <textarea id="prices" name="prices" rows="5" spellcheck="false" autocapitalize="none">
${verbatim(text)}</textarea>
      </label>
    </div>
    <div class="actions"><button name="do" value="preview">Show what would change</button></div>
  </form>`;

async function changePrices(
  { store, clock }: PricesParts,
  { form, person }: ActRequest,
): Promise<Redirect | View> {
  const text = form.get('prices') ?? '';
  const before = await store.prices();
  try {
    const prices = pricesIn(text);
    const read = readPrices(prices, clock());
    if (form.get('do') !== 'set') return view(before, person, text, previewCard(before, read, text));
    if (written(form, 'version') !== String(before.version)) {
      throw new CountersignError('USAGE', 'The prices were changed meanwhile. Look at the preview again');
    }
    const after = await setPrices(store, prices, { by: authorOf(person), nowMs: clock() });
    return { to: link`/prices`, notice: `${prices.length} prices set. Version ${after.version}.` };
  } catch (thrown) {
    // What was typed stays in the form.
    if (!(thrown instanceof CountersignError) || thrown.code.startsWith('STORE_')) throw thrown;
    return { ...view(before, person, text, fault(`${thrown.message}.`)), status: 422 };
  }
}

/** Blanks, commas or tabs between the parts. Throws USAGE. */
function pricesIn(text: string): readonly WrittenPrice[] {
  const lineCount = countLines(text);
  if (lineCount > SET_MAX) {
    throw new CountersignError('USAGE', `There are ${lineCount} lines. Give at most ${SET_MAX} at once`);
  }
  const lines = text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '');
  if (lines.length === 0) throw new CountersignError('USAGE', 'There are no prices. Write BTC 97000');
  return lines.map((line) => {
    const [asset = '', price = '', asOf, ...more] = line.split(/[\s,]+/);
    if (more.length === 0) return { asset, price, asOf };
    throw new CountersignError('USAGE', `${line} is not a price. Write ASSET PRICE, or ASSET PRICE TIME`);
  });
}

function previewCard({ version, prices }: PriceTable, set: PriceChange['set'], text: string): Html {
  return html`<form class="card" method="post" action="${link`/prices`}">
    <h2>What would change</h2>
    ${table(
      'The prices that would be set',
      ['Asset', 'Price now', 'New price', 'Change', 'As of (UTC)'],
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
    <input type="hidden" name="prices" value="${verbatim(text)}" />
    <input type="hidden" name="version" value="${version}" />
    <div class="actions"><button name="do" value="set">Set these prices</button></div>
  </form>`;
}

/** How the price changes, in tenths of a percent, rounded towards zero. */
function changeText(before: Amount, after: Amount): string {
  const tenths = ((after - before) * 1000n) / before;
  const size = tenths < 0n ? -tenths : tenths;
  return `${after < before ? '−' : '+'}${size / 10n}.${size % 10n} %`;
}

async function removePrice({ store }: PricesParts, { form, person }: ActRequest): Promise<Redirect> {
  const asset = form.get('asset') ?? '';
  const { prices } = await store.prices();
  if (!prices.has(asset)) throw new CountersignError('NOT_FOUND', `There is no price of ${asset}`);
  const { version } = await store.changePrices({ set: [], remove: [asset], by: authorOf(person) });
  return { to: link`/prices`, notice: `Removed the price of ${asset}. Version ${version}.` };
}
