import { CountersignError } from '../errors.ts';

export const missingList = (source: string, list: string): CountersignError =>
  new CountersignError(
    'NOT_FOUND',
    `the source ${source} has no list ${list}; create it with \`countersign list add\``,
    { source, list },
  );

export const missingLockout = (source: string, id: string): CountersignError =>
  new CountersignError(
    'NOT_FOUND',
    `the source ${source} has no lock-out ${id}; \`countersign lockout list\` lists those that stand`,
    { source, id },
  );

export const missingOrder = (source: string, subject: string): CountersignError =>
  new CountersignError(
    'NOT_FOUND',
    `the source ${source} has no order for ${subject}; \`countersign orders expect\` announces one`,
    { source, subject },
  );
