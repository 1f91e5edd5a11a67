import { readFileSync, statSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { CountersignError, messageOf } from '../../errors.ts';
import { MAPPED_MEMBERS, MAPPED_SOURCES } from '../../replay/mapping.ts';
import { closestMatch } from '../../values/closest-match.ts';

const MAX_BYTES = 16 * 1024 * 1024;
const mapShape = z.record(z.string(), z.record(z.string(), z.string().min(1)));

/**
 * What `--map` names: by member, new texts by old. Throws USAGE for a file that is none, or a member that is
 * not mapped.
 */
export function readMap(file: string | undefined): ReadonlyMap<string, ReadonlyMap<string, string>> {
  if (file === undefined) return new Map();
  const read = mapShape.safeParse(treeOf(file));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw wrong(
      file,
      `${issue?.path.join('.') || 'it'} will not do; write members, and new texts by old, as --help shows`,
    );
  }
  const known = [MAPPED_SOURCES, ...MAPPED_MEMBERS];
  const stranger = Object.keys(read.data).find((name) => !known.includes(name));
  if (stranger !== undefined) {
    const meant = closestMatch(stranger, known);
    throw wrong(
      file,
      `${stranger} is not mapped; ${meant === undefined ? '' : `did you mean ${meant}? `}There are: ${known.join(', ')}`,
    );
  }
  return new Map(Object.entries(read.data).map(([name, table]) => [name, new Map(Object.entries(table))]));
}

function treeOf(file: string): unknown {
  let text: string;
  try {
    if (statSync(file).size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
    text = readFileSync(file, 'utf8');
  } catch (thrown) {
    throw wrong(file, messageOf(thrown));
  }
  const document = parseDocument(text, { schema: 'failsafe' });
  const [fault] = [...document.errors, ...document.warnings];
  if (fault !== undefined) throw wrong(file, fault.message);
  return document.toJS({ maxAliasCount: 0 });
}

function wrong(file: string, what: string): CountersignError {
  return new CountersignError('USAGE', `--map ${file}: ${what}`, { file });
}
