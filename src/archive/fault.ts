import { CountersignError } from '../errors.ts';

/** What is wrong with the archive, and where: line 0 is the file as a whole. */
export interface ArchiveFault {
  readonly file: string;
  readonly line: number;
  readonly because: string;
}

export function archiveFault(fault: ArchiveFault): CountersignError {
  return new CountersignError(
    'STORE_CORRUPT',
    `the archive is damaged: ${where(fault)}: ${fault.because}. Restore the file from a copy; \`countersign journal verify\` finds all that is wrong`,
    { ...fault },
  );
}

export const where = ({ file, line }: Pick<ArchiveFault, 'file' | 'line'>): string =>
  line === 0 ? file : `${file}, line ${line}`;

/** What {@link archiveFault} was made of; undefined for any other error. */
export function faultOf(thrown: unknown): ArchiveFault | undefined {
  if (!(thrown instanceof CountersignError) || thrown.code !== 'STORE_CORRUPT') return undefined;
  const { file, line, because } = thrown.data;
  return typeof file === 'string' && typeof line === 'number' && typeof because === 'string'
    ? { file, line, because }
    : undefined;
}
