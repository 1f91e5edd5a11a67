import { parser } from '@prometheus-io/lezer-promql';

/*
 * What an expression comes to, over series that a test gives: the part of PromQL that
 * deploy/prometheus/alerts.yaml uses. What it does not know throws. test/deploy/alerts.test.ts compares it
 * with promtool where there is one.
 */

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** One series, with its points in ascending order of time. */
export interface Series {
  readonly labels: Labels;
  readonly points: readonly Point[];
}

type Point = readonly [atMs: number, value: number];
type Value = number | readonly Sample[];
type Node = ReturnType<typeof parser.parse>['topNode'];

/** For how long the last point of a series counts. */
const LOOKBACK_MS = 300_000;
const NAME = '__name__';
const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** The samples of an expression at one instant. A scalar is a sample without labels. */
export function evaluate(expression: string, series: readonly Series[], atMs: number): readonly Sample[] {
  const value = valueOf(parser.parse(expression).topNode, { expression, series, atMs });
  return typeof value === 'number' ? [{ labels: {}, value }] : value;
}

/** Series in the notation of promtool: `up{job="a"}` with `0x10 1+1x5 _x3`. */
export function readSeries(name: string, values: string, stepMs: number): Series {
  const [selector] = find(parser.parse(name).topNode, 'VectorSelector');
  if (selector === undefined) throw new Error(`no series: ${name}`);
  const labels: Record<string, string> = {};
  for (const { label, operator, value } of matchersOf(selector, name)) {
    if (operator !== '=') throw new Error(`a series has labels, not conditions: ${name}`);
    labels[label] = value;
  }
  const written = values.split(' ').flatMap((each) => expanded(each));
  const points = written.flatMap((value, at): Point[] => (value === undefined ? [] : [[at * stepMs, value]]));
  return { labels, points };
}

export function durationMs(text: string): number {
  const [, number = '', unit = ''] = /^(\d+)(ms|[smhdw])$/.exec(text) ?? [];
  const factor = UNIT_MS[unit];
  if (factor === undefined) throw new Error(`no duration: ${text}`);
  return Number(number) * factor;
}

/** `3x2` is 3 3 3, `1+2x2` is 1 3 5, `_x2` are two that are missing. */
function expanded(written: string): readonly (number | undefined)[] {
  const missing = /^_(?:x(\d+))?$/.exec(written);
  if (missing !== null) return Array.from({ length: Number(missing[1] ?? 1) }, () => undefined);
  const [, first = '', step = '0', times = '0'] =
    /^(-?[\d.e]+)([+-][\d.e]+)?(?:x(\d+))?$/.exec(written) ?? [];
  if (first === '') throw new Error(`no values: ${written}`);
  return Array.from({ length: Number(times) + 1 }, (_, at) => Number(first) + at * Number(step));
}

interface Context {
  readonly expression: string;
  readonly series: readonly Series[];
  readonly atMs: number;
}

const childrenOf = (node: Node): readonly Node[] => {
  const found: Node[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) found.push(child);
  return found;
};
const find = (node: Node, name: string): readonly Node[] =>
  childrenOf(node).flatMap((child) => (child.name === name ? [child] : find(child, name)));
const textOf = (node: Node, expression: string): string => expression.slice(node.from, node.to);

/**
 * The grammar of the editor lets `a unless b offset 5m` shift both; Prometheus shifts `b` alone, the last
 * that stands before it. So the last operand may have a context of its own.
 */
function valueOf(node: Node, context: Context, last = context): Value {
  const children = childrenOf(node);
  const [first] = children;
  switch (node.name) {
    case 'PromQL':
    case 'ParenExpr':
      return valueOf(expected(first), last);
    case 'NumberDurationLiteral':
      return numberOf(textOf(node, context.expression));
    case 'UnaryExpr':
      return mapped(valueOf(expected(children[1]), last), (value) => -value);
    case 'VectorSelector':
      return instantOf(node, last);
    case 'OffsetExpr':
      return valueOf(expected(first), context, earlier(node, last));
    case 'FunctionCall':
      return calledOf(node, last);
    case 'AggregateExpr':
      return aggregated(node, last);
    case 'BinaryExpr':
      return combined(node, context, last);
  }
  throw new Error(`the evaluator of the tests does not know ${node.name}: ${context.expression}`);
}

function expected(node: Node | undefined): Node {
  if (node === undefined) throw new Error('an expression ends too early');
  return node;
}

function numberOf(text: string): number {
  const number = Number(text);
  return Number.isNaN(number) ? durationMs(text) / 1000 : number;
}

function earlier(node: Node, context: Context): Context {
  const text = textOf(expected(childrenOf(node).at(-1)), context.expression);
  return { ...context, atMs: context.atMs - durationMs(text) };
}

// ---- selectors ----

interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

function matchersOf(selector: Node, expression: string): readonly Matcher[] {
  const name = childrenOf(selector).find((child) => child.name === 'Identifier');
  const named = name === undefined ? [] : [{ label: NAME, operator: '=', value: textOf(name, expression) }];
  const matchers = find(selector, 'UnquotedLabelMatcher').map((matcher) => {
    const [label = '', operator = '', value = ''] = childrenOf(matcher).map((each) =>
      textOf(each, expression),
    );
    return { label, operator, value: unquoted(value) };
  });
  return [...named, ...matchers];
}

function unquoted(text: string): string {
  const value: unknown = JSON.parse(text.startsWith("'") ? `"${text.slice(1, -1)}"` : text);
  return String(value);
}

function selected(selector: Node, { expression, series }: Context): readonly Series[] {
  const matchers = matchersOf(selector, expression);
  return series.filter(({ labels }) =>
    matchers.every(({ label, operator, value }) => {
      const own = labels[label] ?? '';
      if (operator === '=') return own === value;
      if (operator === '!=') return own !== value;
      return new RegExp(`^(?:${value})$`).test(own) === (operator === '=~');
    }),
  );
}

function instantOf(selector: Node, context: Context): readonly Sample[] {
  return selected(selector, context).flatMap(({ labels, points }) => {
    const last = points.findLast(([atMs]) => atMs <= context.atMs);
    return last === undefined || last[0] <= context.atMs - LOOKBACK_MS ? [] : [{ labels, value: last[1] }];
  });
}

interface Range {
  readonly series: readonly Series[];
  readonly fromMs: number;
  readonly untilMs: number;
}

function rangeOf(node: Node, context: Context): Range {
  if (node.name === 'OffsetExpr') return rangeOf(expected(childrenOf(node)[0]), earlier(node, context));
  const [selector, duration] = childrenOf(node);
  const untilMs = context.atMs;
  const fromMs = untilMs - durationMs(textOf(expected(duration), context.expression));
  const series = selected(expected(selector), context).map(({ labels, points }) => ({
    labels,
    points: points.filter(([atMs]) => atMs > fromMs && atMs <= untilMs),
  }));
  return { series: series.filter(({ points }) => points.length > 0), fromMs, untilMs };
}

// ---- functions ----

function calledOf(node: Node, context: Context): Value {
  const [called, body] = childrenOf(node);
  const name = textOf(expected(called), context.expression);
  const args = body === undefined ? [] : childrenOf(body);
  const argument = (at: number): Node => expected(args[at]);
  const overRange = (
    of: (points: readonly Point[], range: Range) => number | undefined,
  ): readonly Sample[] => {
    const range = rangeOf(argument(0), context);
    return range.series.flatMap(({ labels, points }) => {
      const value = of(points, range);
      return value === undefined ? [] : [{ labels: nameless(labels), value }];
    });
  };
  switch (name) {
    case 'time':
      return context.atMs / 1000;
    case 'vector':
      return [{ labels: {}, value: scalarOf(valueOf(argument(0), context)) }];
    case 'absent':
      return vectorOf(valueOf(argument(0), context)).length === 0 ? [{ labels: {}, value: 1 }] : [];
    case 'increase':
      return overRange((points, range) => extrapolated(points, range));
    case 'rate':
      return overRange((points, range) => {
        const increase = extrapolated(points, range);
        return increase && (increase * 1000) / (range.untilMs - range.fromMs);
      });
    case 'changes':
      return overRange(
        (points) => points.filter(([, value], at) => at > 0 && value !== points[at - 1]?.[1]).length,
      );
    case 'max_over_time':
      return overRange((points) => Math.max(...points.map(([, value]) => value)));
    case 'histogram_quantile':
      return quantiles(scalarOf(valueOf(argument(0), context)), vectorOf(valueOf(argument(1), context)));
  }
  throw new Error(`the evaluator of the tests does not know ${name}(): ${context.expression}`);
}

/** What a counter went up by, carried on to the ends of the range as Prometheus does. */
function extrapolated(points: readonly Point[], { fromMs, untilMs }: Range): number | undefined {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || points.length < 2) return undefined;
  const rise = points.reduce((sum, [, value], at) => {
    const before = points[at - 1]?.[1] ?? value;
    return sum + (value < before ? value : value - before);
  }, 0);
  const sampledMs = last[0] - first[0];
  const betweenMs = sampledMs / (points.length - 1);
  const toZeroMs = rise > 0 && first[1] >= 0 ? sampledMs * (first[1] / rise) : Infinity;
  const carried = (gapMs: number): number => (gapMs < betweenMs * 1.1 ? gapMs : betweenMs / 2);
  const wholeMs = sampledMs + carried(Math.min(first[0] - fromMs, toZeroMs)) + carried(untilMs - last[0]);
  return (rise * wholeMs) / sampledMs;
}

function quantiles(quantile: number, buckets: readonly Sample[]): readonly Sample[] {
  const groups = grouped(buckets, ({ le: _le, ...rest }) => nameless(rest));
  return groups.map(({ labels, samples }) => ({ labels, value: quantileOf(quantile, samples) }));
}

function quantileOf(quantile: number, samples: readonly Sample[]): number {
  const bound = ({ labels }: Sample): number => Number((labels['le'] ?? '').replace('+Inf', 'Infinity'));
  const buckets = [...samples].sort((a, b) => bound(a) - bound(b));
  const total = buckets.at(-1)?.value ?? 0;
  const rank = quantile * total;
  const at = buckets.findIndex(({ value }) => value >= rank);
  const [found, before] = [buckets[at], buckets[at - 1]];
  if (total === 0 || found === undefined) return NaN;
  if (bound(found) === Infinity) return before === undefined ? NaN : bound(before);
  const [from, below] = before === undefined ? [0, 0] : [bound(before), before.value];
  return from + ((bound(found) - from) * (rank - below)) / (found.value - below);
}

// ---- aggregation ----

const AGGREGATIONS: Readonly<Record<string, (values: readonly number[]) => number>> = {
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  count: (values) => values.length,
};

function aggregated(node: Node, context: Context): readonly Sample[] {
  const children = childrenOf(node);
  const operation = AGGREGATIONS[textOf(expected(children[0]), context.expression)];
  const modifier = children.find(({ name }) => name === 'AggregateModifier');
  const body = children.find(({ name }) => name === 'FunctionCallBody');
  if (operation === undefined || (modifier !== undefined && find(modifier, 'By').length === 0)) {
    throw new Error(`the evaluator of the tests does not know this aggregation: ${context.expression}`);
  }
  const by = modifier === undefined ? [] : labelsIn(modifier, context);
  const samples = vectorOf(valueOf(expected(body && childrenOf(body)[0]), context));
  return grouped(samples, (labels) => only(labels, by)).map((group) => ({
    labels: group.labels,
    value: operation(group.samples.map(({ value }) => value)),
  }));
}

function grouped(
  samples: readonly Sample[],
  labelsOf: (labels: Labels) => Labels,
): readonly { readonly labels: Labels; readonly samples: readonly Sample[] }[] {
  const groups = new Map<string, { readonly labels: Labels; readonly samples: Sample[] }>();
  for (const sample of samples) {
    const labels = labelsOf(sample.labels);
    const group = groups.get(keyOf(labels)) ?? { labels, samples: [] };
    group.samples.push(sample);
    groups.set(keyOf(labels), group);
  }
  return [...groups.values()];
}

// ---- operators ----

const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '>': (a, b) => a > b,
  '<': (a, b) => a < b,
  '>=': (a, b) => a >= b,
  '<=': (a, b) => a <= b,
};
const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
};

function combined(node: Node, context: Context, last: Context): Value {
  const children = childrenOf(node);
  const operator = textOf(expected(children[1]), context.expression);
  const matching = matchingOf(
    children.find(({ name }) => name === 'MatchingModifierClause'),
    context,
  );
  const left = valueOf(expected(children[0]), context);
  const right = valueOf(expected(children.at(-1)), context, last);
  if (['and', 'or', 'unless'].includes(operator)) {
    return setOf(operator, vectorOf(left), vectorOf(right), matching);
  }
  const compute = ARITHMETIC[operator];
  if (compute !== undefined) return computed(compute, left, right, matching);
  const holds = COMPARISONS[operator];
  if (holds === undefined) throw new Error(`the evaluator of the tests does not know ${operator}`);
  return compared(holds, left, right, matching);
}

/** The labels by which samples of both sides belong together, and those that the result has. */
interface Matching {
  readonly labels: (labels: Labels) => Labels;
}

function matchingOf(clause: Node | undefined, context: Context): Matching {
  if (clause === undefined) return { labels: nameless };
  if (childrenOf(clause).some(({ name }) => name !== 'On' && name !== 'GroupingLabels')) {
    throw new Error(`the evaluator of the tests does not know this matching: ${context.expression}`);
  }
  const on = labelsIn(clause, context);
  return { labels: (labels) => only(labels, on) };
}

function setOf(
  operator: string,
  left: readonly Sample[],
  right: readonly Sample[],
  { labels }: Matching,
): readonly Sample[] {
  const keys = (samples: readonly Sample[]): ReadonlySet<string> =>
    new Set(samples.map((sample) => keyOf(labels(sample.labels))));
  const [ofLeft, ofRight] = [keys(left), keys(right)];
  if (operator === 'or') return [...left, ...right.filter((each) => !ofLeft.has(keyOf(labels(each.labels))))];
  return left.filter((each) => ofRight.has(keyOf(labels(each.labels))) === (operator === 'and'));
}

function computed(
  compute: (a: number, b: number) => number,
  left: Value,
  right: Value,
  matching: Matching,
): Value {
  if (typeof right === 'number') return mapped(left, (value) => compute(value, right));
  if (typeof left === 'number') return mapped(right, (value) => compute(left, value));
  return paired(left, right, matching).map(({ labels, a, b }) => ({
    labels,
    value: compute(a.value, b.value),
  }));
}

function compared(
  holds: (a: number, b: number) => boolean,
  left: Value,
  right: Value,
  matching: Matching,
): Value {
  if (typeof left === 'number' && typeof right === 'number') {
    throw new Error('two scalars are compared by bool alone');
  }
  if (typeof right === 'number') return vectorOf(left).filter(({ value }) => holds(value, right));
  if (typeof left === 'number') return right.filter(({ value }) => holds(left, value));
  return paired(left, right, matching).flatMap(({ labels, a, b }) =>
    holds(a.value, b.value) ? [{ labels, value: a.value }] : [],
  );
}

function paired(left: readonly Sample[], right: readonly Sample[], { labels: labelsOf }: Matching) {
  const others = new Map<string, Sample>();
  for (const sample of right) {
    const key = keyOf(labelsOf(sample.labels));
    if (others.has(key)) throw new Error(`many-to-one without group_left: ${key}`);
    others.set(key, sample);
  }
  return left.flatMap((a) => {
    const labels = labelsOf(a.labels);
    const b = others.get(keyOf(labels));
    return b === undefined ? [] : [{ labels, a, b }];
  });
}

// ---- labels ----

function labelsIn(node: Node, { expression }: Context): readonly string[] {
  return find(node, 'LabelName').map((label) => textOf(label, expression));
}

function nameless({ [NAME]: _name, ...rest }: Labels): Labels {
  return rest;
}

function only(labels: Labels, names: readonly string[]): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => names.includes(name)));
}

export function keyOf(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function mapped(value: Value, change: (value: number) => number): Value {
  if (typeof value === 'number') return change(value);
  return value.map((sample) => ({ labels: nameless(sample.labels), value: change(sample.value) }));
}

function vectorOf(value: Value): readonly Sample[] {
  if (typeof value === 'number') throw new Error('a vector is wanted where a scalar is');
  return value;
}

function scalarOf(value: Value): number {
  if (typeof value !== 'number') throw new Error('a scalar is wanted where a vector is');
  return value;
}
