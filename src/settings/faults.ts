import type { z } from 'zod';
import { CountersignError } from '../errors.ts';
import { closestMatch } from '../values/closest-match.ts';
import { settingKeys } from './keys.ts';

/** Names and list indices from the top of the settings. */
export type SettingPath = readonly (string | number)[];

/** What is wrong at one place of the settings. It never contains a secret. */
export interface SettingsFault {
  /** `sources[0].appKey`; empty for the settings as a whole. */
  readonly setting: string;
  /** `config/countersign.yaml:12:5`, or `variable COUNTERSIGN_PUBLIC_PORT`. */
  readonly place: string;
  readonly problem: string;
  readonly fix: string;
}

/** A fault whose place in the file isn't known yet. */
export interface FoundFault {
  readonly path: SettingPath;
  readonly problem: string;
  readonly fix: string;
}

/**
 * SETTINGS_INVALID. The message has a line for each fault; `data.faults` holds them. There the fix is still
 * called `cure`, because scripts read that name.
 */
export function settingsInvalid(faults: readonly SettingsFault[]): CountersignError {
  const lines = faults.map(
    ({ place, setting, problem, fix }) =>
      `  ${place}: ${setting === '' ? '' : `${setting} `}${problem}; ${fix}`,
  );
  const many = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
  return new CountersignError('SETTINGS_INVALID', [`The settings have ${many}.`, ...lines].join('\n'), {
    faults: faults.map(({ fix, ...fault }) => ({ ...fault, cure: fix })),
  });
}

export function settingName(path: SettingPath): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`))
    .join('');
}

type Issue = z.core.$ZodIssue;

/** The faults behind an issue of the schema. Only the problem depends on the value; no fault quotes it. */
export function faultsOf(issue: Issue, tree: unknown): readonly FoundFault[] {
  const path = issue.path.filter((step) => typeof step !== 'symbol');
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownSetting([...path, key]));
  if (issue.code === 'invalid_union') {
    // If the names in the value fit only one of several forms, report the faults of that form.
    const matchingForms = issue.errors.filter((errors) => errors.every((error) => error.path.length > 0));
    const [form, ...others] = matchingForms;
    if (form !== undefined && others.length === 0) {
      return form.flatMap((error) => faultsOf({ ...error, path: [...path, ...error.path] }, tree));
    }
  }
  return [{ path, problem: problemOf(issue, valueAt(tree, path)), fix: issue.message }];
}

function problemOf(issue: Issue, value: unknown): string {
  if (issue.code === 'custom' && typeof issue.params?.['problem'] === 'string')
    return issue.params['problem'];
  if (value === undefined) return 'is missing';
  return value === '' ? 'has no value' : 'has an invalid value';
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
  if (siblings.includes(last)) return { path, problem: 'is not allowed in this form', fix: 'delete it' };
  const suggestion = closestMatch(last, siblings);
  return {
    path,
    problem: 'is not a setting',
    fix: suggestion === undefined ? 'delete it, or see docs/settings.md' : `did you mean ${suggestion}?`,
  };
}

/** The value at a path of a tree; undefined if there is none. */
export function valueAt(tree: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (node, step) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, step)
        ? Reflect.get(node, step)
        : undefined,
    tree,
  );
}
