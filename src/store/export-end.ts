import { z } from 'zod';

const BEGINNING = '{"end":';

const shape = z.strictObject({
  end: z.literal('countersign-export'),
  /** For each source: every entry before this instant is above the line, unless the export left it out. */
  untilMs: z.record(z.string(), z.int()),
});

/** The line of an export that says up to when it is complete, so that a cut is noticed. */
export type ExportEnd = Readonly<z.output<typeof shape>>;

export const exportEnd = (untilMs: ReadonlyMap<string, number>): ExportEnd => ({
  end: 'countersign-export',
  untilMs: Object.fromEntries(untilMs),
});

/** Whether a line is an end line, which has no entry. It need not be the last one: exports are continued. */
export const isExportEnd = (line: string): boolean => line.startsWith(BEGINNING);

/** Whether a text that was cut off can be the beginning of an end line. */
export const beginsExportEnd = (text: string): boolean => isExportEnd(text) || BEGINNING.startsWith(text);

/** Undefined if the line has another form. */
export const readExportEnd = (json: unknown): ExportEnd | undefined => shape.safeParse(json).data;
