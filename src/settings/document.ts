import { readFileSync, statSync } from 'node:fs';
import { messageOf } from '../errors.ts';
import { isObject } from '../values/canonical.ts';
import { NotUtf8, decodeUtf8 } from '../values/utf8.ts';
import { type Tree, YAML_BOUNDS, jsonOf, positionOf, readYaml } from '../values/yaml.ts';
import type { SettingPath, SettingsFault } from './faults.ts';

/** A settings file as a tree whose scalars are the text as written. */
export interface SettingsDocument {
  readonly tree: Record<string, unknown>;
  readonly start: string;
  /** `FILE:LINE:COLUMN` of a setting; undefined if the file doesn't contain it. */
  readonly placeOf: (path: SettingPath) => string | undefined;
  readonly faults: readonly SettingsFault[];
}

/**
 * Reads a YAML file of at most 1 MiB. Never throws: `faults` lists everything that is wrong with the file.
 */
export function readSettingsDocument(file: string): SettingsDocument {
  let content: string;
  try {
    if (statSync(file).size > YAML_BOUNDS.bytes)
      return unusable(file, 'is larger than 1 MiB', 'name a settings file with --config');
    content = decodeUtf8(readFileSync(file));
  } catch (thrown) {
    if (thrown instanceof NotUtf8) {
      const { at, message, fix } = thrown;
      return unusable(`${file}:${at.line}:${at.column}`, `can't be read: ${message}`, fix);
    }
    const cause = /^E[A-Z]+/.exec(messageOf(thrown))?.[0] ?? 'no reason given';
    return unusable(
      file,
      `can't be read (${cause})`,
      'name an existing file with --config or COUNTERSIGN_CONFIG; ' +
        `a relative path is resolved against the working directory, ${process.cwd()}`,
    );
  }
  const { trees, faults: found } = readYaml(content);
  const [tree, second] = trees;
  const start = `${file}:1:1`;
  const faults = found.map(({ at, unquoted, fix }) => ({
    setting: '',
    place: `${file}:${at.line}:${at.column}`,
    problem: `is not valid YAML: ${unquoted}`,
    fix,
  }));
  if (faults.length > 0 || tree === undefined) return { tree: {}, start, placeOf: () => undefined, faults };
  if (second !== undefined) {
    const place = `${file}:${second.at.line}:${second.at.column}`;
    return unusable(place, 'is a second document', 'write all settings into one, without `---`');
  }
  const plain = jsonOf(tree);
  if (!isObject(plain))
    return unusable(start, 'is not a mapping', 'write settings such as `public:` on lines of their own');
  return {
    tree: { ...plain },
    start,
    placeOf: (path) => {
      if (!hasPath(tree, path)) return undefined;
      const { line, column } = positionOf(tree, path, 'name');
      return `${file}:${line}:${column}`;
    },
    faults,
  };
}

function hasPath(tree: Tree, [step, ...rest]: SettingPath): boolean {
  if (step === undefined) return true;
  const below =
    tree.type === 'list' && typeof step === 'number'
      ? tree.items[step]
      : tree.type === 'map' && typeof step === 'string'
        ? tree.entries.get(step)?.value
        : undefined;
  return below !== undefined && hasPath(below, rest);
}

function unusable(place: string, problem: string, fix: string): SettingsDocument {
  return {
    tree: {},
    start: place,
    placeOf: () => undefined,
    faults: [{ setting: '', place, problem, fix }],
  };
}
