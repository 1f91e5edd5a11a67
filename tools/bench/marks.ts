import {
  BAD_SIGNATURES,
  EMBEDDED,
  EMBEDDED_MANY,
  FIVE_RULES,
  GROWTHS,
  OVERSIZED,
  type Program,
  TWENTY_RULES,
} from './programs.ts';
import type { StartTimes } from './start.ts';
import type { Row } from './table.ts';

/** What is aimed at, and what was measured. */
export interface Mark {
  readonly mark: string;
  readonly measured: number;
  readonly met: boolean;
}

/** Of the first row's throughput and CPU, either way. */
const FLAT = 0.1;

/** The marks of which the rows were measured. */
export function marksOf(
  rows: readonly Row[],
  growth: readonly Row[],
  starts: readonly StartTimes[],
): readonly Mark[] {
  const row = ({ name }: Program, connections: number): Row | undefined =>
    rows.find((each) => each.program === name && each.connections === connections);
  const [many1, many32] = [row(TWENTY_RULES, 1), row(TWENTY_RULES, 32)];
  const good = row(FIVE_RULES, 32);
  const least = (mark: string, measured: number | undefined, bound: number): readonly Mark[] =>
    measured === undefined ? [] : [{ mark: `${mark}: at least ${bound}`, measured, met: measured >= bound }];
  const most = (mark: string, measured: number | undefined, bound: number): readonly Mark[] =>
    measured === undefined ? [] : [{ mark: `${mark}: at most ${bound}`, measured, met: measured <= bound }];
  const costs = (program: Program): number | undefined => {
    const bad = row(program, 32);
    return bad && good && bad.cpuMicros / good.cpuMicros;
  };
  return [
    ...least('RSA, 20 rules, Redis, c=32: of the floor, throughput', many32?.ofFirst.perSecond, 0.85),
    ...most('RSA, 20 rules, Redis, c=1: of the floor, p50', many1?.ofFirst.p50, 1.3),
    ...most('RSA, 20 rules, Redis, c=32: of the floor, CPU', many32?.ofFirst.cpu, 1.25),
    ...least('embedded, 5 rules, c=32: of the floor, throughput', row(EMBEDDED, 32)?.ofFirst.perSecond, 0.85),
    ...least(
      'embedded, 20 rules, c=32: of the floor, throughput',
      row(EMBEDDED_MANY, 32)?.ofFirst.perSecond,
      0.85,
    ),
    ...most('bad signatures: of a good callback, CPU', costs(BAD_SIGNATURES), 1),
    ...most('oversized bodies: of a good callback, CPU', costs(OVERSIZED), 1),
    ...GROWTHS.flatMap(({ of, programs }) => {
      const grown = growth.find((each) => each.program === programs.at(-1)?.name);
      return [
        ...least(`${of}: of the first row, throughput`, grown?.ofFirst.perSecond, 1 - FLAT),
        ...most(`${of}: of the first row, CPU`, grown?.ofFirst.cpu, 1 + FLAT),
      ];
    }),
    ...starts.flatMap(({ store, medianMs }) =>
      most(`ready after start, ${store}, seconds`, medianMs / 1000, 1),
    ),
  ];
}
