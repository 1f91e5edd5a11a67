import { z } from 'zod';
import { usageError } from '../errors.ts';
import { type ClosingParts, type ClosingResult, closeException as close } from '../reconcile/close.ts';
import { counted } from '../values/text.ts';
import type { Act } from './act.ts';

const input = z.strictObject({
  directory: z.string(),
  run: z.number(),
  item: z.number(),
  message: z.string(),
});

export const closeException: Act<Pick<ClosingParts, 'store' | 'clock'>, typeof input, ClosingResult> = {
  name: 'reconcile close',
  summary: 'Close an exception of a reconciliation with a note, which the journal keeps.',
  role: 'operate',
  input,
  perform: ({ store, clock }, given, by) => close({ ...given, by, store, clock }),
  text: ({ closing, open }) =>
    `Closed ${closing.run}/${closing.item} (${closing.class} ${closing.source}/${closing.id}) as entry ` +
    `${closing.entry}. ${counted(open, 'exception')} left open in run ${closing.run}.`,
  notice: ({ closing, open }) =>
    `Closed ${closing.run}/${closing.item} as entry ${closing.entry}. ${counted(open, 'exception')} left open.`,
  json({ closing: { at: _at, record: _record, previous: _previous, ...closing }, open }) {
    return { ...closing, open };
  },
};

/** A number that a person wrote. Throws USAGE. */
export function readNumber(what: 'a run' | 'an item', text = ''): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw usageError(`${JSON.stringify(text)} is not the number of ${what}. Write run and item as in 3 17`);
}
