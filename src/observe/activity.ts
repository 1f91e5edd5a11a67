import type { Clock } from '../values/clock.ts';
import type { CallbackReport } from './report.ts';

const MINUTE_MS = 60_000;

/** The periods that are kept, each in slots of the same length. */
const PERIODS = {
  hour: { slotMs: MINUTE_MS, slots: 60 },
  day: { slotMs: 15 * MINUTE_MS, slots: 96 },
  week: { slotMs: 120 * MINUTE_MS, slots: 84 },
} as const;
export type Period = keyof typeof PERIODS;

/** What was answered in a slot. */
export interface ActivitySlot {
  readonly fromMs: number;
  readonly success: number;
  readonly failure: number;
}

export interface ActivityOver {
  readonly slotMs: number;
  /** Oldest first; the last one is not over yet. */
  readonly slots: readonly ActivitySlot[];
  /** How many callbacks each rule refused, or each code without a rule, the most first. */
  readonly refusals: readonly (readonly [cause: string, count: number])[];
}

/** A report with `alarm`. */
export type Alarm = Pick<CallbackReport, 'source' | 'subject' | 'code' | 'because' | 'decision'> & {
  readonly atMs: number;
};

/** What this process has answered since its start, for people. Metrics are for programs. */
export interface Activity {
  note(report: CallbackReport): void;
  readonly state: () => {
    readonly sinceMs: number;
    readonly over: Readonly<Record<Period, ActivityOver>>;
    /** Newest first, at most {@link ALARMS_MAX}. */
    readonly alarms: readonly Alarm[];
  };
}

/** More rules than this in one slot count as `others`. */
const CAUSES_MAX = 100;
const ALARMS_MAX = 20;

interface Slot {
  index: number;
  success: number;
  failure: number;
  readonly refusals: Map<string, number>;
}

export function createActivity(clock: Clock): Activity {
  const rings = {
    hour: createRing(PERIODS.hour),
    day: createRing(PERIODS.day),
    week: createRing(PERIODS.week),
  };
  const sinceMs = clock();
  const alarms: Alarm[] = [];
  return {
    note(report) {
      // A late answer was counted when it was decided.
      if (report.outcome === 'late') return;
      const atMs = clock();
      for (const ring of Object.values(rings)) ring.note(report, atMs);
      if (!report.alarm) return;
      const { source, subject, code, because, decision } = report;
      alarms.unshift({ atMs, source, subject, code, because, decision });
      alarms.length = Math.min(alarms.length, ALARMS_MAX);
    },
    state() {
      const { hour, day, week } = rings;
      const nowMs = clock();
      return {
        sinceMs,
        over: { hour: hour.over(nowMs), day: day.over(nowMs), week: week.over(nowMs) },
        alarms: alarms.slice(),
      };
    },
  };
}

function createRing({ slotMs, slots: count }: (typeof PERIODS)[Period]) {
  const ring = Array.from({ length: count }, (): Slot => ({
    index: -1,
    success: 0,
    failure: 0,
    refusals: new Map(),
  }));
  const slotAt = (index: number): Slot | undefined => ring[index % count];
  return {
    note({ verdict, rule, code }: CallbackReport, atMs: number): void {
      const index = Math.floor(atMs / slotMs);
      const slot = slotAt(index);
      if (slot === undefined) return;
      if (slot.index !== index) {
        [slot.index, slot.success, slot.failure] = [index, 0, 0];
        slot.refusals.clear();
      }
      if (verdict === 'SUCCESS') {
        slot.success += 1;
        return;
      }
      slot.failure += 1;
      const wanted = rule ?? code;
      const isKept = slot.refusals.has(wanted) || slot.refusals.size < CAUSES_MAX;
      const cause = isKept ? wanted : 'others';
      slot.refusals.set(cause, (slot.refusals.get(cause) ?? 0) + 1);
    },
    over(nowMs: number): ActivityOver {
      const last = Math.floor(nowMs / slotMs);
      const indexes = Array.from({ length: count }, (_, at) => last - count + 1 + at);
      const found = indexes.map((index) => {
        const slot = slotAt(index);
        return slot?.index === index ? slot : undefined;
      });
      const refusals = new Map<string, number>();
      for (const slot of found) {
        for (const [cause, times] of slot?.refusals ?? []) {
          refusals.set(cause, (refusals.get(cause) ?? 0) + times);
        }
      }
      return {
        slotMs,
        slots: found.map((slot, at) => ({
          fromMs: (indexes[at] ?? 0) * slotMs,
          success: slot?.success ?? 0,
          failure: slot?.failure ?? 0,
        })),
        refusals: [...refusals].sort(([, a], [, b]) => b - a),
      };
    },
  };
}
