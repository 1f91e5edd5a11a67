import { type Html, html } from './html.ts';

/** What was answered in a part of a period. */
export interface Bar {
  readonly fromMs: number;
  readonly success: number;
  readonly failure: number;
}

/** The units of the drawing, which is stretched to the width of the page. A bar with something is seen. */
const STEP = 10;
const BAR = 8;
const HEIGHT = 1000;
const LEAST = 12;
const LABELS_MAX = 6;

/**
 * Bars of approvals and refusals, one on the other. `caption` says for people who don't see them what they show.
 * The drawing has bars only: the text beside it keeps its size on a phone.
 */
export function barChart(caption: string, bars: readonly Bar[]): Html {
  const scale = niceAbove(Math.max(1, ...bars.map(({ success, failure }) => success + failure)));
  const height = (count: number): number =>
    count === 0 ? 0 : Math.max(LEAST, Math.round((count * HEIGHT) / scale));
  const every = labelled(bars.length);
  return html`<div class="chart">
    <div class="scale" aria-hidden="true"><span>${scale}</span><span>0</span></div>
    <svg
      viewBox="0 0 ${Math.max(1, bars.length) * STEP} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-label="${caption}"
    >
      ${bars.map((bar, at) => {
        const [yes, no] = [height(bar.success), height(bar.failure)];
        return (
          yes + no > 0 &&
          html`<g>
            <title>${labelOf(bar.fromMs, bars)} UTC: ${bar.success} SUCCESS, ${bar.failure} FAILURE</title>
            ${rect('yes', at, HEIGHT - yes, yes)}${rect('no', at, HEIGHT - yes - no, no)}
          </g>`
        );
      })}
    </svg>
    <div class="times" aria-hidden="true">
      ${bars
        .filter((_, at) => at % every === 0)
        .map(({ fromMs }) => html`<span>${labelOf(fromMs, bars)}</span>`)}
    </div>
  </div>`;
}

const rect = (tone: 'yes' | 'no', at: number, top: number, height: number): Html | false =>
  height > 0 &&
  html`<rect
    class="${tone}"
    x="${at * STEP + 1}"
    y="${Math.max(0, top)}"
    width="${BAR}"
    height="${height}"
  ></rect>`;

/** Each label stands at the left of as many bars: the least number of bars that divides them into few labels. */
function labelled(bars: number): number {
  let every = Math.max(1, Math.ceil(bars / LABELS_MAX));
  while (every < bars && bars % every !== 0) every += 1;
  return every;
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
