import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { checkedSettings } from './conditions.ts';
import { type SettingsDocument, readSettingsDocument } from './document.ts';
import { type Environment, type Override, applyOverrides, settingsFromEnvironment } from './environment.ts';
import {
  type FoundFault,
  type SettingPath,
  type SettingsFault,
  faultsOf,
  settingName,
  settingsInvalid,
} from './faults.ts';
import { settingKeys, variableOf } from './keys.ts';
import type { Settings } from './schema.ts';
import { storeAddress } from './store.ts';

export type { Settings } from './schema.ts';

export const DEFAULT_SETTINGS_FILE = 'config/countersign.yaml';

/**
 * Loads the settings file: `file`, or the one that COUNTERSIGN_CONFIG names, or config/countersign.yaml.
 * Variables of the environment override it. Relative paths in the result are resolved against the folder of
 * the file. Throws SETTINGS_INVALID with all faults at once.
 */
export function loadSettings(from: {
  readonly file?: string | undefined;
  readonly env: Environment;
}): Settings {
  const file = from.file ?? from.env['COUNTERSIGN_CONFIG'] ?? DEFAULT_SETTINGS_FILE;
  const document = readSettingsDocument(file);
  const { tree } = document;
  if (typeof tree['store'] === 'string') tree['store'] = { url: tree['store'] };
  const { overrides, unknown } = settingsFromEnvironment(from.env, secretVariables(tree, from.env));
  const gaps = applyOverrides(tree, overrides);
  const parsed = checkedSettings.safeParse(tree);
  const faults: SettingsFault[] = [...document.faults];
  // If the file could not be read, all other faults would only follow from that.
  if (document.faults.length === 0) {
    const found = [...gaps, ...(parsed.error?.issues ?? []).flatMap((issue) => faultsOf(issue, tree))];
    faults.push(...found.map((fault) => faultWithPlace(fault, document, overrides)));
    for (const { variable, fix } of unknown) {
      faults.push({ setting: '', place: `variable ${variable}`, problem: 'does not name a setting', fix });
    }
  }
  if (faults.length > 0 || !parsed.success) throw settingsInvalid(faults);
  resolvePaths(parsed.data, baseFolder(file));
  return parsed.data;
}

/** The variables that hold secrets: those that a reference in the file or in a variable names. */
function secretVariables(tree: unknown, env: Environment): ReadonlySet<string> {
  const named = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [name, value] of Object.entries(node)) {
      if (name === 'env' && typeof value === 'string') named.add(value);
      visit(value);
    }
  };
  visit(tree);
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith('COUNTERSIGN_') && name.endsWith('_ENV') && value !== undefined) named.add(value);
  }
  return named;
}

function faultWithPlace(
  fault: FoundFault,
  document: SettingsDocument,
  overrides: readonly Override[],
): SettingsFault {
  const variable = variableOf(fault.path);
  const pattern = variable.replaceAll(/(?<=_)\d+(?=_|$)/g, '<n>');
  const settable = fault.problem === 'is missing' && settingKeys().some((key) => key.variable === pattern);
  return {
    setting: settingName(fault.path),
    place: placeOf(fault.path, document, overrides),
    problem: fault.problem,
    fix: settable ? `${fault.fix}, or set ${variable}` : fault.fix,
  };
}

/** The place of the setting, or of the nearest section or list around it. */
function placeOf(path: SettingPath, document: SettingsDocument, overrides: readonly Override[]): string {
  for (let length = path.length; length > 0; length -= 1) {
    const above = path.slice(0, length);
    const begins = (override: Override): boolean =>
      above.every((step, index) => override.path[index] === step);
    const exact = overrides.find((override) => override.path.length === length && begins(override));
    const within = document.placeOf(above);
    const below = overrides.find(begins);
    if (exact !== undefined) return `variable ${exact.variable}`;
    if (within !== undefined) return within;
    if (below !== undefined) return `variable ${below.variable}`;
  }
  return document.start;
}

/** Settings whose text is the path of a file or folder, in any section. */
const PATH_NAMES: ReadonlySet<string> = new Set([
  'file',
  'directory',
  'certificate',
  'clientCa',
  'ca',
  'state',
]);
const EMBEDDED = 'embedded:';

/**
 * The folder against which relative paths are resolved: that of the settings file, so that a command finds
 * the same files from any working directory. Without a regular file, such as for /dev/null, it is the working
 * directory.
 */
function baseFolder(file: string): string {
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() ?? true;
  return isFile ? dirname(resolve(file)) : process.cwd();
}

/** Makes all paths of the settings absolute, in place. */
function resolvePaths(settings: Settings, folder: string): void {
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [name, value] of Object.entries(node)) {
      if (PATH_NAMES.has(name) && typeof value === 'string') Reflect.set(node, name, resolve(folder, value));
      else visit(value);
    }
  };
  visit(settings);
  const path = embeddedPath(settings.store.url);
  if (path !== undefined) settings.store.url = `${EMBEDDED}${resolve(folder, path)}`;
}

/** Undefined for Redis, and for an in-memory database, which is refused when it is opened. */
function embeddedPath(url: string): string | undefined {
  const address = storeAddress(url);
  return address?.kind === 'embedded' && !address.path.startsWith(':memory:') ? address.path : undefined;
}
