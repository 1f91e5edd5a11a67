import { readFileSync, statSync } from 'node:fs';
import { type Document, LineCounter, isMap, isNode, isScalar, parseDocument } from 'yaml';
import { z } from 'zod';
import { messageOf } from '../errors.ts';
import type { SettingPath, SettingsFault } from './faults.ts';

/** A settings file as a tree whose scalars are the text as written. */
export interface SettingsDocument {
  readonly tree: Record<string, unknown>;
  readonly start: string;
  /** `FILE:LINE:COLUMN` of a setting; undefined if the file doesn't contain it. */
  readonly placeOf: (path: SettingPath) => string | undefined;
  readonly faults: readonly SettingsFault[];
}

const MAX_BYTES = 1024 * 1024;

/** Reads a YAML file of at most 1 MiB. Never throws: all that is wrong with the file is in `faults`. */
export function readSettingsDocument(file: string): SettingsDocument {
  let content: string;
  try {
    if (statSync(file).size > MAX_BYTES)
      return unusable(file, 'is larger than 1 MiB', 'name a settings file with --config');
    content = readFileSync(file, 'utf8');
  } catch (thrown) {
    const cause = /^E[A-Z]+/.exec(messageOf(thrown))?.[0] ?? 'no reason given';
    return unusable(
      file,
      `cannot be read (${cause})`,
      'name an existing file with --config or COUNTERSIGN_CONFIG; ' +
        `a relative path is resolved against the working directory, ${process.cwd()}`,
    );
  }
  const lines = new LineCounter();
  const document = parseDocument(content, { schema: 'failsafe', lineCounter: lines, prettyErrors: false });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const faults = [...document.errors, ...document.warnings].map(({ message, pos }) => ({
    setting: '',
    place: at(pos[0]),
    problem: 'is not valid YAML',
    // The text after a colon quotes the file.
    cure: message.split(': ')[0] ?? message,
  }));
  if (faults.length > 0 || document.contents === null)
    return { tree: {}, start: at(0), placeOf: () => undefined, faults };
  if (!isMap(document.contents))
    return unusable(at(0), 'is not a mapping', 'write settings such as `public:` on lines of their own');
  const tree = treeOf(document);
  if (tree === undefined)
    return unusable(at(0), 'has an alias (*) of a missing part or of itself', 'write the part out');
  return {
    tree,
    start: at(0),
    placeOf: (path) => {
      const offset = offsetOf(document, path);
      return offset === undefined ? undefined : at(offset);
    },
    faults,
  };
}

/** Each use of an alias becomes a copy, so that a variable can override one without the others. */
function treeOf(document: Document): Record<string, unknown> | undefined {
  try {
    return asTree.parse(JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: 100 }))));
  } catch {
    return undefined;
  }
}

/** Without a copy, which would lose a `__proto__` that must be refused. */
const asTree = z.custom<Record<string, unknown>>((value) => typeof value === 'object' && value !== null);

function unusable(place: string, problem: string, cure: string): SettingsDocument {
  return {
    tree: {},
    start: place,
    placeOf: () => undefined,
    faults: [{ setting: '', place, problem, cure }],
  };
}

/** The offset of the name in a mapping, or of the element in a list. */
function offsetOf(document: Document, path: SettingPath): number | undefined {
  const last = path.at(-1);
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (isMap(parent)) {
    const key = parent.items.find((pair) => isScalar(pair.key) && pair.key.value === last)?.key;
    return isScalar(key) ? key.range?.[0] : undefined;
  }
  const node = document.getIn(path, true);
  return isNode(node) ? node.range?.[0] : undefined;
}
