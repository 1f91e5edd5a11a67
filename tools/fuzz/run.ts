import { RequestsModel } from '../../test/reference/requests.ts';
import { type Shot, createGenerator } from './generate.ts';
import { type Finding, createJudge } from './judge.ts';
import { type Found, type Tally, add, emptyTally, note } from './tally.ts';
import type { OverHttp } from './over-http.ts';
import { type Random, anyOf, randomOf } from './random.ts';
import { type PeopleParts, WITHIN_MS, actOn } from './people.ts';
import { type Reading, read } from './reference/reading.ts';
import { type Observed, type Subject, openSubject } from './subject.ts';

/*
 * Rounds of callbacks. Each has a store and chance of its own, which seed and number give again, so that a
 * finding can be repeated without what went before its round.
 */

export interface RunOptions {
  readonly seed: number;
  readonly firstRound: number;
  readonly count: number;
  /** Ends before `count` at this instant of `performance.now()`. */
  readonly untilMs: number;
  /** Called after each batch with how many callbacks were answered. */
  readonly onProgress: (answered: number, tally: Tally) => void;
  /** What opens the pipeline of a round. */
  readonly open?: () => Promise<Subject>;
  /** Where one callback of each batch is sent as well. */
  readonly http?: OverHttp | undefined;
}

const ROUND = 10_000;
const BATCH = 32;
/** How long one callback may keep the process busy. */
const SLOW_MS = 50;
/** What is slow each of so many times is slow, and not the machine. */
const TIMES = 5;
/** What people do after each batch, and about how many of the latest requests. */
const DEEDS = 16;
const ASKED_MAX = 48;
/** Time passes between two batches. */
const ADVANCE_MAX_MS = 10 * 60_000;

export async function run(options: RunOptions): Promise<Tally> {
  const tally = emptyTally();
  const unhandled = (thrown: unknown): void =>
    note(tally.wrong, `an unhandled rejection: ${String(thrown)}`, undefined);
  process.on('unhandledRejection', unhandled);
  try {
    for (let round = options.firstRound; tally.answered < options.count; round++) {
      if (performance.now() >= options.untilMs) break;
      await runRound(options, round, tally);
    }
  } finally {
    process.off('unhandledRejection', unhandled);
  }
  return tally;
}

async function runRound(options: RunOptions, round: number, tally: Tally): Promise<void> {
  const { seed, count, untilMs, onProgress, open = openSubject } = options;
  const random = randomOf(Math.imul(seed, 65_537) + round);
  const generator = createGenerator(random, `r${round}`);
  const subject = await open();
  const requests = new RequestsModel(WITHIN_MS);
  const { judge } = createJudge({ requests, clock: subject.clock });
  const asked: Asked[] = [];
  try {
    for (let left = Math.min(ROUND, count - tally.answered); left > 0; left -= BATCH) {
      if (performance.now() >= untilMs) break;
      const next = (): Shot => (random.oneIn(8) ? anyOf(random, asked)?.shot : undefined) ?? generator.next();
      const shots = Array.from({ length: Math.min(BATCH, left) }, next);
      const observed = await answered(subject, shots, tally, round);
      for (const [at, shot] of shots.entries()) {
        const outcome = observed[at];
        if (outcome === undefined) continue;
        counted(tally, { shot, observed: outcome, round }, judge);
        const again = asked.some((each) => each.shot === shot);
        if (outcome.reports[0]?.code === 'AWAITING_APPROVAL' && outcome.settled !== undefined && !again)
          asked.push({ source: outcome.settled.source, id: outcome.settled.subject, shot });
      }
      asked.splice(0, asked.length - ASKED_MAX);
      subject.advance(random.below(ADVANCE_MAX_MS));
      for (let deed = 0; deed < DEEDS; deed++) {
        await people({ random, requests, ...subject }, { asked, tally, round });
      }
      if (options.http !== undefined) await sentOver(options.http, random, { shots, tally, round });
      onProgress(shots.length, tally);
    }
  } finally {
    await subject.close();
  }
}

/**
 * All of a batch at once, as they would come; one that takes too long is sent again, one callback at a time.
 */
async function answered(
  subject: Subject,
  shots: readonly Shot[],
  tally: Tally,
  round: number,
): Promise<readonly (Observed | undefined)[]> {
  const before = process.threadCpuUsage();
  const observed = await Promise.all(
    shots.map((shot) =>
      subject.send(shot.sent).catch((thrown: unknown) => {
        note(tally.wrong, `a rejection: ${String(thrown)}`, foundOf(shot, round, 'none'));
        return undefined;
      }),
    ),
  );
  if (busyMs(before) <= SLOW_MS) return observed;
  tally.slowBatches += 1;
  for (const shot of shots) {
    const tookMs = await quickest(subject, shot);
    if (tookMs > SLOW_MS) note(tally.wrong, `busy for more than ${SLOW_MS} ms`, foundOf(shot, round, 'none'));
  }
  return observed;
}

/** A callback that people were asked about. */
interface Asked {
  readonly source: string;
  readonly id: string;
  readonly shot: Shot;
}

async function people(
  parts: PeopleParts,
  {
    asked,
    tally,
    round,
  }: { readonly asked: readonly Asked[]; readonly tally: Tally; readonly round: number },
): Promise<void> {
  const about = anyOf(parts.random, asked);
  const deed = about && (await actOn(parts, about));
  if (about === undefined || deed === undefined) return;
  add(tally.mutations, deed.label);
  if (deed.wrong !== undefined) note(tally.wrong, deed.wrong, foundOf(about.shot, round, 'none'));
}

async function sentOver(
  http: OverHttp,
  random: Random,
  { shots, tally, round }: { readonly shots: readonly Shot[]; readonly tally: Tally; readonly round: number },
): Promise<void> {
  const shot = anyOf(random, shots);
  if (shot === undefined) return;
  const { label, findings } = await http.send(random, shot).catch((thrown: unknown) => ({
    label: 'http: no answer',
    findings: [{ severity: 'wrong' as const, what: String(thrown).slice(0, 120) }],
  }));
  tally.overHttp += 1;
  add(tally.mutations, label);
  for (const { severity, what } of findings) {
    const found = foundOf({ ...shot, labels: [...shot.labels, label] }, round, 'none');
    note(severity === 'wrong' ? tally.wrong : tally.refused, what, { ...found, severity, what });
  }
}

async function quickest(subject: Subject, { sent }: Shot): Promise<number> {
  let least = Infinity;
  for (let time = 0; time < TIMES && least > SLOW_MS; time++) {
    const before = process.threadCpuUsage();
    await subject.send(sent).catch(() => undefined);
    least = Math.min(least, busyMs(before));
  }
  return least;
}

/** CPU time of this thread since then: neither other processes nor the disk count. */
function busyMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

interface Judged {
  readonly shot: Shot;
  readonly observed: Observed;
  readonly round: number;
}

function counted(
  tally: Tally,
  { shot, observed, round }: Judged,
  judge: (reading: Reading, observed: Observed) => readonly Finding[],
): void {
  tally.answered += 1;
  const code = observed.reports[0]?.code ?? 'none';
  for (const label of shot.labels) add(tally.mutations, label);
  add(tally.codes, code);
  add(tally.answers, observed.body.startsWith('{') ? 'a self-check' : observed.body);
  const reading = read(shot.sent);
  if (observed.body === 'SUCCESS' && reading.may === true && reading.needsPeople)
    add(tally.mutations, 'people: a SUCCESS by their approval');
  for (const { severity, what } of judge(reading, observed)) {
    const found = foundOf(shot, round, code);
    note(severity === 'wrong' ? tally.wrong : tally.refused, what, { ...found, severity, what });
  }
}

function foundOf({ labels, path, headers, sent }: Shot, round: number, code: string): Found {
  return { severity: 'wrong', what: '', round, labels, path, headers, body: sent.body, code };
}
