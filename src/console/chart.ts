import { type Html, html } from './html.ts';

/** What was answered in a part of a period. */
export interface Bar {
  readonly fromMs: number;
  readonly success: number;
  readonly failure: number;
}

const WIDTH = 960;
const HEIGHT = 180;
const LEFT = 44;
const BOTTOM = 22;
const TOP = 10;
const LABELS = 6;

/**
 * Bars of approvals and refusals, one on the other, as SVG. `caption` says for people who don't see it what it
 * shows. All sizes are whole numbers of its own units.
 */
export function barChart(caption: string, bars: readonly Bar[]): Html {
  const most = Math.max(1, ...bars.map(({ success, failure }) => success + failure));
  const scale = niceAbove(most);
  const height = (count: number): number => Math.round((count * (HEIGHT - TOP - BOTTOM)) / scale);
  const step = (WIDTH - LEFT) / Math.max(1, bars.length);
  const base = HEIGHT - BOTTOM;
  const every = Math.max(1, Math.ceil(bars.length / LABELS));
  const left = (at: number): number => Math.round(LEFT + at * step);
  const width = Math.max(1, Math.floor(step) - 2);
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${caption}">
    <line x1="${LEFT}" y1="${TOP}" x2="${WIDTH}" y2="${TOP}"></line>
    <line x1="${LEFT}" y1="${base}" x2="${WIDTH}" y2="${base}"></line>
    <text class="scale" x="${LEFT - 8}" y="${TOP + 4}">${scale}</text>
    <text class="scale" x="${LEFT - 8}" y="${base + 4}">0</text>
    ${bars.map(({ success, failure, fromMs }, at) => {
      const [yes, no] = [height(success), height(failure)];
      return html`${
        yes > 0 &&
        html`<rect class="yes" x="${left(at)}" y="${base - yes}" width="${width}" height="${yes}"></rect>`
      }${
        no > 0 &&
        html`<rect class="no" x="${left(at)}" y="${base - yes - no}" width="${width}" height="${no}"></rect>`
      }${at % every === 0 && html`<text x="${left(at)}" y="${HEIGHT - 4}">${labelOf(fromMs, bars)}</text>`}`;
    })}
  </svg>`;
}

/** The time of a bar; its day as well if the bars are of several days. */
function labelOf(fromMs: number, bars: readonly Bar[]): string {
  const iso = new Date(fromMs).toISOString();
  const isLong = (bars.at(-1)?.fromMs ?? 0) - (bars[0]?.fromMs ?? 0) > 86_400_000;
  return isLong ? `${iso.slice(5, 10)} ${iso.slice(11, 16)}` : iso.slice(11, 16);
}

/** The least of 1, 2, 5, 10, 20, 50 … that is not below. */
function niceAbove(count: number): number {
  for (let power = 1; ; power *= 10) {
    const found = [power, 2 * power, 5 * power].find((each) => each >= count);
    if (found !== undefined) return found;
  }
}
