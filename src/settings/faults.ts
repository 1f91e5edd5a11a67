import { CountersignError } from '../errors.ts';

/** Names and list numbers from the top of the settings. */
export type SettingPath = readonly (string | number)[];

/** What is wrong with the settings at one place. It never holds a value, for that may be a secret. */
export interface SettingsFault {
  /** `sources[0].appKey`; the empty text for the settings as a whole. */
  readonly setting: string;
  /** `config/countersign.yaml:12:5`, or `variable COUNTERSIGN_PUBLIC_PORT`. */
  readonly place: string;
  readonly problem: string;
  readonly cure: string;
}

/** A fault whose place is still to be found. */
export interface FoundFault {
  readonly path: SettingPath;
  readonly problem: string;
  readonly cure: string;
}

export function settingName(path: SettingPath): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`))
    .join('');
}

/** SETTINGS_INVALID: the message lists all faults, a line each; `data.faults` holds them. */
export function settingsInvalid(faults: readonly SettingsFault[]): CountersignError {
  const lines = faults.map(
    ({ place, setting, problem, cure }) =>
      `  ${place}: ${setting === '' ? '' : `${setting} `}${problem}: ${cure}`,
  );
  const many = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
  return new CountersignError('SETTINGS_INVALID', [`The settings have ${many}.`, ...lines].join('\n'), {
    faults,
  });
}
