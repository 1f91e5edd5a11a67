import { type FoundFault, type SettingPath, valueAt } from './faults.ts';
import { type SettingKey, VARIABLE_PREFIX, settingKeys, variableOf } from './keys.ts';
import { closestMatch } from '../values/closest-match.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting with the value of an environment variable. */
export interface Override {
  readonly variable: string;
  readonly path: SettingPath;
  readonly value: string;
}

export interface EnvironmentSettings {
  /** In the order of their paths; list indices in numeric order. */
  readonly overrides: readonly Override[];
  /** Variables that don't name a setting. */
  readonly unknown: readonly { readonly variable: string; readonly fix: string }[];
}

/**
 * Reads the settings among the variables that begin with COUNTERSIGN_. It skips COUNTERSIGN_CONFIG, the
 * variables in `secrets`, which hold secrets, and those that Kubernetes sets for a service called
 * countersign.
 */
export function settingsFromEnvironment(env: Environment, secrets: ReadonlySet<string>): EnvironmentSettings {
  const overrides: Override[] = [];
  const unknown: { variable: string; fix: string }[] = [];
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith(VARIABLE_PREFIX) || value === undefined) continue;
    if (variable === 'COUNTERSIGN_CONFIG' || secrets.has(variable) || isServiceLink(variable, value))
      continue;
    const keys = settableKeys();
    const path = firstPath(keys, variable);
    if (path === undefined) unknown.push({ variable, fix: fixOf(keys, variable) });
    else overrides.push({ variable, path: path.join('.') === 'store' ? ['store', 'url'] : path, value });
  }
  overrides.sort((a, b) => comparePaths(a.path, b.path));
  return { overrides, unknown };
}

/** Writes the overrides into the tree, over the values of the file. */
export function applyOverrides(
  tree: Record<string, unknown>,
  overrides: readonly Override[],
): readonly FoundFault[] {
  const faults: FoundFault[] = [];
  const seen = new Map<string, string>();
  for (const { path, value, variable } of overrides) {
    const duplicate = seen.get(path.join('.'));
    if (duplicate !== undefined)
      faults.push({ path, problem: `is also set by ${duplicate}`, fix: 'unset one of the two' });
    seen.set(path.join('.'), variable);
    const gap = put(tree, path, value);
    if (gap !== undefined) {
      faults.push({
        path,
        problem: `skips elements of a list of ${gap}`,
        fix: `number elements from 0; the next is ${gap}`,
      });
    }
  }
  // A secret reference is either a `file` or an `env`. If a variable sets one, the other one from the file is
  // deleted.
  for (const { path } of overrides) {
    const form = path.at(-1);
    const other = form === 'file' ? 'env' : 'file';
    if ((form !== 'file' && form !== 'env') || seen.has([...path.slice(0, -1), other].join('.'))) continue;
    const parent = valueAt(tree, path.slice(0, -1));
    if (isContainer(parent)) delete parent[other];
  }
  return faults;
}

/** Sets a value. If the path skips elements of a list, returns the length of that list instead. */
function put(tree: Record<string, unknown>, path: SettingPath, value: string): number | undefined {
  let node: Record<string | number, unknown> = tree;
  for (const [index, step] of path.entries()) {
    if (Array.isArray(node) && typeof step === 'number' && step > node.length) return node.length;
    const next = path[index + 1];
    if (next === undefined) node[step] = value;
    else {
      const child = valueAt(node, [step]);
      const isSameKind = isContainer(child) && Array.isArray(child) === (typeof next === 'number');
      const below: unknown = isSameKind ? child : typeof next === 'number' ? [] : {};
      node[step] = below;
      if (isContainer(below)) node = below;
    }
  }
  return undefined;
}

function isContainer(value: unknown): value is Record<string | number, unknown> {
  return typeof value === 'object' && value !== null;
}

const settableKeys = (): readonly SettingKey[] => settingKeys().filter((key) => key.variable !== undefined);

function firstPath(keys: readonly SettingKey[], variable: string): SettingPath | undefined {
  for (const { path } of keys) {
    const pattern = variableOf(path).replaceAll('<n>', '(0|[1-9]\\d{0,2})');
    const numbers = new RegExp(`^${pattern}$`).exec(variable)?.slice(1).map(Number);
    if (numbers !== undefined) return path.map((step) => (step === '*' ? (numbers.shift() ?? 0) : step));
  }
  return undefined;
}

function fixOf(keys: readonly SettingKey[], variable: string): string {
  const numbers = variable.match(/(?<=_)\d+(?=_|$)/g) ?? [];
  const withoutPrefix = (name: string): string => name.slice(VARIABLE_PREFIX.length);
  const suggestion = closestMatch(
    withoutPrefix(variable).replaceAll(/(?<=_)\d+(?=_|$)/g, '<n>'),
    keys.map((key) => withoutPrefix(key.variable ?? '')),
  )?.replaceAll('<n>', () => numbers.shift() ?? '0');
  return suggestion === undefined
    ? 'unset it, or see docs/settings.md for the variables'
    : `did you mean ${VARIABLE_PREFIX}${suggestion}? Otherwise unset it`;
}

/**
 * Kubernetes sets variables for each service of a namespace, such as COUNTERSIGN_PORT=tcp://10.0.0.1:8080.
 */
function isServiceLink(variable: string, value: string): boolean {
  return (
    /_SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)$/.test(variable) ||
    /_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(variable) ||
    (variable.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(value))
  );
}

function comparePaths(a: SettingPath, b: SettingPath): number {
  const different = a.findIndex((step, index) => step !== b[index]);
  const [left, right] = [a[different], b[different]];
  if (left === undefined || right === undefined) return a.length - b.length;
  return typeof left === 'number' && typeof right === 'number'
    ? left - right
    : String(left).localeCompare(String(right));
}
