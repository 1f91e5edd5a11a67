import { randomUUID } from 'node:crypto';
import type { Log } from '../observe/log.ts';
import type { Notify } from './notifications.ts';

export interface Alarms {
  /** A log that also notifies of what it writes at level error. */
  readonly watch: (log: Log) => Log;
  /** Notifies of what was counted since. */
  readonly close: () => void;
}

type Fields = NonNullable<Parameters<Log['error']>[1]>;

interface Alarm {
  /** Of an alarm of a callback its code, otherwise the event of the line. */
  readonly code: string;
  readonly fields: Pick<Fields, (typeof SENT_FIELDS)[number]>;
}

const SENT_FIELDS = ['source', 'subject', 'decision', 'rule', 'revision', 'file', 'day', 'because'] as const;
const CHARACTERS = 1024;
const WINDOW_MS = 60_000;

/**
 * Notifies of each alarm at once. More of one code and source are counted for a minute, and are one
 * notification then. Other replicas notify of theirs.
 */
export function createAlarms({
  notify,
  replica,
  windowMs = WINDOW_MS,
}: {
  readonly notify: Notify;
  /** The name of this replica. */
  readonly replica: string;
  readonly windowMs?: number;
}): Alarms {
  const windows = new Map<string, { times: number; last: Alarm; readonly timer: NodeJS.Timeout }>();

  function send({ code, fields }: Alarm, times: number): void {
    const { source, subject, decision, because = '' } = fields;
    const of = source === undefined ? '' : ` of ${source}`;
    const about = subject === undefined ? '' : ` (${times === 1 ? '' : 'the last: '}${subject})`;
    const more = times === 1 ? '' : `, ${times} times within a minute`;
    const segments = source === undefined || decision === undefined ? [] : ['decisions', source, decision];
    notify({
      event: 'alarm',
      id: randomUUID(),
      isOwn: true,
      text: `Alarm ${code}${of}${more}${about}: ${because}`,
      page: segments.map(encodeURIComponent).join('/'),
      data: { code, times, replica, ...fields },
    });
  }

  function count(alarm: Alarm): void {
    const kind = `${alarm.code} ${alarm.fields.source ?? ''}`;
    const window = windows.get(kind);
    if (window === undefined) {
      send(alarm, 1);
      open(kind, alarm);
    } else {
      window.times += 1;
      window.last = alarm;
    }
  }

  function open(kind: string, last: Alarm): void {
    const timer = setTimeout(() => end(kind), windowMs).unref();
    windows.set(kind, { times: 0, last, timer });
  }

  function end(kind: string): void {
    const { times, last } = windows.get(kind) ?? {};
    windows.delete(kind);
    if (last === undefined || times === undefined || times === 0) return;
    send(last, times);
    open(kind, last);
  }

  return {
    watch: (log) => ({
      ...log,
      error(event, fields = {}) {
        log.error(event, fields);
        try {
          if (isAlarm(event, fields)) count(alarmOf(event, fields));
        } catch {
          // The log has the line.
        }
      },
    }),
    close() {
      for (const { times, last, timer } of windows.values()) {
        clearTimeout(timer);
        if (times > 0) send(last, times);
      }
      windows.clear();
    },
  };
}

/**
 * A callback that failed or came too late is no alarm, unless the program is at fault: metrics count such.
 * All replicas notice that data was lost, and one of them notifies: see runtime.ts.
 */
function isAlarm(event: string, { code }: Fields): boolean {
  return event === 'callback' ? code === 'INTERNAL' : event !== 'data-lost';
}

function alarmOf(event: string, fields: Fields): Alarm {
  const isOfCallback = event === 'alarm' || event === 'callback';
  const sent = SENT_FIELDS.map((name) => [name, fields[name]?.slice(0, CHARACTERS)] as const);
  return { code: (isOfCallback ? fields.code : undefined) ?? event, fields: Object.fromEntries(sent) };
}
