import type { z } from 'zod';
import { brokenConditions } from './conditions.ts';
import { type SettingsDocument, readSettingsDocument } from './document.ts';
import { type Environment, type Override, applyOverrides, settingsFromEnvironment } from './environment.ts';
import {
  type FoundFault,
  type SettingPath,
  type SettingsFault,
  settingName,
  settingsInvalid,
} from './faults.ts';
import { settingKeys, variableOf } from './keys.ts';
import { closestMatch } from '../values/closest-match.ts';
import { baseFolder, movedStore, resolvePaths } from './paths.ts';
import { type Settings, settingsSchema } from './schema.ts';

export type { Settings } from './schema.ts';

export const DEFAULT_SETTINGS_FILE = 'config/countersign.yaml';

/**
 * The settings: the file (else the one that COUNTERSIGN_CONFIG names, else config/countersign.yaml), with the
 * variables of the environment over it. A relative path of the file begins at the working directory; those
 * within, and those of variables, begin in the folder of the file and come out absolute. Throws
 * SETTINGS_INVALID with every fault at once.
 */
export function loadSettings(from: {
  readonly file?: string | undefined;
  readonly env: Environment;
}): Settings {
  const file = from.file ?? from.env['COUNTERSIGN_CONFIG'] ?? DEFAULT_SETTINGS_FILE;
  const document = readSettingsDocument(file);
  const { tree } = document;
  if (typeof tree['store'] === 'string') tree['store'] = { url: tree['store'] };
  const { overrides, unknown } = settingsFromEnvironment(from.env, namedVariables(tree, from.env));
  const gaps = applyOverrides(tree, overrides);
  const parsed = settingsSchema.safeParse(tree);
  const faults: SettingsFault[] = [...document.faults];
  // Of a file that could not be read nothing else can be said.
  if (document.faults.length === 0) {
    const found = [
      ...gaps,
      ...(parsed.error?.issues ?? []).flatMap((issue) => faultsOf(issue, tree)),
      ...brokenConditions(tree),
      ...(parsed.success ? movedStore(parsed.data, baseFolder(file)) : []),
    ];
    faults.push(...found.map((fault) => placed(fault, document, overrides)));
    for (const { variable, cure } of unknown) {
      faults.push({ setting: '', place: `variable ${variable}`, problem: 'names no setting', cure });
    }
  }
  if (faults.length > 0 || !parsed.success) throw settingsInvalid(faults);
  resolvePaths(parsed.data, baseFolder(file));
  return parsed.data;
}

/** Variables that hold secrets: those that a reference in the file or in a variable names. */
function namedVariables(tree: unknown, env: Environment): ReadonlySet<string> {
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

type Issue = z.core.$ZodIssue;

function faultsOf(issue: Issue, tree: unknown): readonly FoundFault[] {
  const path = issue.path.filter((step) => typeof step !== 'symbol');
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownSetting([...path, key]));
  if (issue.code === 'invalid_union') {
    // Of several forms, the one that was begun: with names that it knows.
    const begun = issue.errors.filter((errors) => errors.every((error) => error.path.length > 0));
    const [form, ...others] = begun;
    if (form !== undefined && others.length === 0) {
      return form.flatMap((error) => faultsOf({ ...error, path: [...path, ...error.path] }, tree));
    }
  }
  const value = valueAt(tree, path);
  const problem =
    issue.code === 'custom' && typeof issue.params?.['problem'] === 'string'
      ? issue.params['problem']
      : value === undefined
        ? 'is missing'
        : value === ''
          ? 'has no value'
          : 'cannot have this value';
  return [{ path, problem, cure: issue.message }];
}

function unknownSetting(path: SettingPath): FoundFault {
  const pattern = path.map((step) => (typeof step === 'number' ? '*' : step));
  const siblings = settingKeys()
    .filter(
      (key) =>
        key.path.length === path.length &&
        pattern.slice(0, -1).every((step, index) => key.path[index] === step),
    )
    .map((key) => key.path.at(-1) ?? '');
  const last = String(path.at(-1));
  if (siblings.includes(last)) return { path, problem: 'does not belong to this form', cure: 'delete it' };
  const meant = closestMatch(last, siblings);
  return {
    path,
    problem: 'is no setting',
    cure: meant === undefined ? 'delete it, or see the reference of the settings' : `did you mean ${meant}?`,
  };
}

function placed(
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
    cure: settable ? `${fault.cure}, or set ${variable}` : fault.cure,
  };
}

/** Where the setting is written, else where what it belongs to is. */
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

function valueAt(tree: unknown, path: SettingPath): unknown {
  return path.reduce<unknown>(
    (node, step) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, step)
        ? Reflect.get(node, step)
        : undefined,
    tree,
  );
}
