import { parser } from '@prometheus-io/lezer-promql';

/** What a PromQL expression names. */
export interface Named {
  readonly metrics: ReadonlySet<string>;
  /** In matchers and in groupings. */
  readonly labels: ReadonlySet<string>;
}

/**
 * Reads an expression with the grammar of Prometheus' own editor. Throws where it is none, with the place.
 */
export function namedIn(expression: string): Named {
  const metrics = new Set<string>();
  const labels = new Set<string>();
  parser.parse(expression).iterate({
    enter(node) {
      const text = expression.slice(node.from, node.to);
      if (node.type.isError)
        throw new Error(`no PromQL at ${node.from}, ${JSON.stringify(text)}: ${expression}`);
      if (node.name === 'Identifier') metrics.add(text);
      if (node.name === 'LabelName') labels.add(text);
    },
  });
  return { metrics, labels };
}
