import { columns, counted } from '../../src/cli/print.ts';
import type { Fault } from '../../packages/sandbox/faults.ts';
import { formatAmount } from '../../src/values/amount.ts';
import type { Expected } from './discrepancies.ts';
import type { Plan, Planned, Sent } from './plan.ts';
import { type Ended, type Outcome, type Sums, sumsOf } from './run.ts';

/** Something that must hold, and what speaks against it. */
export interface Check {
  readonly promise: string;
  readonly faults: readonly string[];
}

const FLOWS = ['payment', 'transfer', 'web3'] as const;
const NAMES = { payment: 'payments', transfer: 'withdrawals', web3: 'transactions' } as const;

const allOf = ({ orders, signings }: Plan): readonly Sent[] => [...orders, ...signings];

const faultsAt = (made: readonly Planned[], id: string): readonly Fault[] =>
  made.filter((each) => each.id === id).map(({ fault }) => fault);

/** How it must end: as the policies say, unless something goes wrong on purpose. */
function mustEnd(sent: Sent, { made, debited }: Outcome): readonly Ended[] {
  const faults = faultsAt(made, sent.id);
  const has = (start: string): boolean => faults.some((fault) => fault.startsWith(start));
  if (sent.flow === 'payment') {
    if (has('answer-')) return [debited.has(sent.id) ? 'paid' : 'refused', 'unknown', 'refused'];
    return [mustBeDebited(sent, faults) ? 'paid' : 'refused'];
  }
  const isSigned = sent.verdict === 'SUCCESS' || has('sign-refused') || has('sign-unasked');
  return [isSigned ? `signed ${1 + sent.speedUps}` : 'not signed'];
}

const mustBeDebited = ({ verdict }: Sent, faults: readonly Fault[]): boolean =>
  faults.includes('bill-refused') ||
  (verdict === 'SUCCESS' && !faults.some((fault) => fault.startsWith('tamper-')));

/** What must hold at the end. `planned` must have gone wrong. */
export function checksOf(plan: Plan, planned: readonly Planned[], outcome: Outcome): readonly Check[] {
  const { made, debited, log, expected, found, sums, ended } = outcome;
  const all = allOf(plan);
  const tampered = log.filter(({ faults }) => faults.some((fault) => fault.startsWith('tamper-')));
  const afterRefusal = plan.orders.filter(({ id }) => faultsAt(made, id).includes('bill-refused'));
  const endsAndDebits = [
    {
      promise: `Each of ${all.length} ended as the policies say, or as its fault demands`,
      faults: all
        .filter((sent) => !mustEnd(sent, outcome).includes(ended.get(sent.id) ?? 'unknown'))
        .map(({ id }) => `${id} ended as ${ended.get(id) ?? 'nothing'}`),
    },
    {
      promise: 'The platform debited what the receiver approved',
      faults: plan.orders
        .filter((order) => debited.has(order.id) !== mustBeDebited(order, faultsAt(made, order.id)))
        .map(({ id }) => `${id} was ${debited.has(id) ? '' : 'not '}debited`),
    },
  ];
  const agreements = [
    agreement(
      'The balances went down by these orders, each once',
      sums.balances,
      sumsOf(plan.orders.filter(({ id }) => debited.has(id))),
    ),
    agreement(
      'The balances went down by what the journal approved, and by what was debited after a refusal',
      sums.balances,
      plus(sums.journal.payment, sumsOf(afterRefusal)),
    ),
    agreement('The reconciliation read the whole bill', sums.bill, sums.settled.payment),
    ...FLOWS.map((flow) =>
      agreement(
        `The reconciliation read all approvals of ${NAMES[flow]}`,
        sums.journal[flow],
        sums.approved[flow],
      ),
    ),
  ];
  const named = {
    promise:
      expected.length === 0
        ? 'The reconciliation has no exception'
        : `The reconciliation has ${expected.length} exceptions: what went wrong on purpose, and nothing else`,
    faults: [
      ...without(expected, found).map((item) => `${nameOf(item)} is not named`),
      ...without(found, expected).map((item) => `${nameOf(item)} is a false alarm`),
    ],
  };
  const refused = {
    promise: `Each of ${tampered.length} calls that were tampered with was answered FAILURE`,
    faults: tampered
      .filter(({ outcome: answer }) => answer !== '"FAILURE"')
      .map(({ about, faults, outcome: answer }) => `${about} (${faults.join(', ')}): ${answer}`),
  };
  const occurred = {
    promise: `Each of ${planned.length} faults at chosen places occurred`,
    faults: planned
      .filter(({ fault, id }) => !faultsAt(made, id).includes(fault))
      .map(({ fault, id }) => `${fault} did not occur at ${id}`),
  };
  const settled = [
    agreement('Bill and journal agree', sums.bill, sums.journal.payment),
    ...FLOWS.map((flow) =>
      agreement(`All approved ${NAMES[flow]} are settled`, sums.approved[flow], sums.settled[flow]),
    ),
  ];
  return [
    ...endsAndDebits,
    ...agreements,
    named,
    ...(tampered.length > 0 ? [refused] : []),
    ...(planned.length > 0 ? [occurred] : []),
    ...(expected.length === 0 ? settled : []),
  ];
}

const plus = (one: Sums, other: Sums): Sums =>
  new Map([...one, ...[...other].map(([coin, amount]) => [coin, amount + (one.get(coin) ?? 0n)] as const)]);

function agreement(promise: string, one: Sums, other: Sums): Check {
  const differing = [...new Set([...one.keys(), ...other.keys()])].filter(
    (coin) => (one.get(coin) ?? 0n) !== (other.get(coin) ?? 0n),
  );
  return {
    promise,
    faults: differing.map((coin) => `${sumText(one, coin)} and ${sumText(other, coin)} ${coin}`),
  };
}

const sumText = (sums: Sums, coin: string): string => formatAmount(sums.get(coin) ?? 0n);

/** What is in the first list more often than in the other. */
function without(items: readonly Expected[], others: readonly Expected[]): readonly Expected[] {
  const left = others.map(nameOf);
  return items.filter((item) => {
    const at = left.indexOf(nameOf(item));
    if (at === -1) return true;
    left.splice(at, 1);
    return false;
  });
}

const nameOf = ({ class: name, id, day }: Expected): string =>
  `${name} of ${id}${day === 0 ? '' : ' on the next day'}`;

// ---- for people ----

/** A row for each order, withdrawal and transaction. */
export function sentText(plan: Plan, outcome: Outcome): string {
  const rows = allOf(plan).map((sent) => {
    const { id, amount, coin, verdict, because } = sent;
    const how = sent.flow === 'payment' ? sent.scheme : speedUpsText(sent.speedUps);
    const faults = faultsAt(outcome.made, id).filter(
      (fault) => !/^(?:late|repeat|reorder|wire-)/.test(fault),
    );
    const ended = outcome.ended.get(id) ?? '';
    return [id, `${amount} ${coin}`, how, because, verdict, ended, faults.join(', ')];
  });
  return columns([['what', 'amount', 'how', '', 'policies say', 'ended', 'faults'], ...rows]);
}

const speedUpsText = (speedUps: number): string => (speedUps === 0 ? '' : counted(speedUps, 'speed-up'));

/** The sums of all sides beside each other. */
export function sumsText(plan: Plan, { sums, ended }: Outcome): string {
  const coinsOf = (sides: readonly Sums[]): readonly string[] => [
    ...new Set(sides.flatMap((side) => [...side.keys()])),
  ];
  const { balances, bill, journal, approved, settled } = sums;
  const sides = [balances, bill, journal.payment, approved.payment, settled.payment];
  const payments = coinsOf(sides).map((coin) => [coin, ...sides.map((side) => sumText(side, coin))]);
  const rest = FLOWS.filter((flow) => flow !== 'payment').flatMap((flow) => {
    const signed = plan.signings.filter(
      (signing) => signing.flow === flow && ended.get(signing.id) !== 'not signed',
    );
    const own = [sumsOf(signed), journal[flow], approved[flow], settled[flow]];
    return coinsOf(own).map((coin) => [`${NAMES[flow]}, ${coin}`, ...own.map((side) => sumText(side, coin))]);
  });
  return [
    columns([['payments', 'balances', 'bill', 'journal', 'reconciled: approved', 'settled'], ...payments]),
    columns([['', 'co-signer', 'journal', 'reconciled: approved', 'settled'], ...rest]),
  ].join('\n\n');
}

/** What went wrong on purpose, and what came of it. The empty text if nothing did. */
export function faultsText(outcome: Outcome): string {
  const tables = [tamperedRows(outcome), discrepancyRows(outcome)].filter((rows) => rows.length > 1);
  return tables.map(columns).join('\n\n');
}

function tamperedRows({ log, made }: Outcome): readonly (readonly string[])[] {
  const tampered = made.filter(({ fault }) => fault.startsWith('tamper-'));
  const rows = tampered.map(({ fault, id }) => {
    const calls = log.filter(
      ({ about, faults }) => faults.includes(fault) && ` ${about} `.includes(` ${id} `),
    );
    const answers = [...new Set(calls.map(({ outcome }) => outcome))].join(', ');
    return [id, fault, counted(calls.length, 'call'), answers];
  });
  return [['tampered', 'with', '', 'answered'], ...rows];
}

function discrepancyRows({ expected, found }: Outcome): readonly (readonly string[])[] {
  const missing = without(expected, found);
  const rows = new Map<string, [fault: string, names: string[], state: string]>();
  for (const item of expected) {
    const row = rows.get(`${item.fault} ${item.id}`) ?? [item.fault, [], 'named'];
    row[1].push(`${item.class}${item.day === 0 ? '' : ' (next day)'}`);
    if (missing.includes(item)) row[2] = 'NOT NAMED';
    rows.set(`${item.fault} ${item.id}`, row);
  }
  return [
    ['discrepancy', 'of', 'class', 'reconciliation'],
    ...Array.from(rows, ([name, [fault, names, state]]) => [
      name.slice(fault.length + 1),
      fault,
      names.join(', '),
      state,
    ]),
  ];
}

export function checksText(checks: readonly Check[]): string {
  const lines = checks.flatMap(({ promise, faults }) => [
    `${faults.length === 0 ? 'yes' : 'NO '}  ${promise}.`,
    ...faults.map((fault) => `       ${fault}`),
  ]);
  return lines.join('\n');
}
