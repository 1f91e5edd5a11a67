import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { CountersignError } from '../../src/errors.ts';
import { loadSettings } from '../../src/settings/load.ts';
import type { Settings } from '../../src/settings/schema.ts';

/** One line, so that what is tested can stand on the lines after it. */
export const SHOP =
  'sources: [{ name: shop, callback: payment, appKey: a1, signatures: [{ scheme: md5, secret: { env: S } }] }]\n';

const directory = mkdtempSync(join(tmpdir(), 'countersign-settings-'));
let files = 0;

/** A file in a directory of the test's own. */
export function fileOf(content: string, name = `${(files += 1)}.yaml`): string {
  const file = join(directory, name);
  writeFileSync(file, content);
  return file;
}

export function settingsOf(yaml: string, env: Record<string, string> = {}): Settings {
  return settingsOfFile(fileOf(yaml), env);
}

/** Without a file, that of COUNTERSIGN_CONFIG. */
export function settingsOfFile(file: string | undefined, env: Record<string, string> = {}): Settings {
  return loadSettings({ file, env });
}

const faultsSchema = z.array(
  z.strictObject({ setting: z.string(), place: z.string(), problem: z.string(), cure: z.string() }),
);

export interface Refusal {
  readonly message: string;
  readonly faults: z.output<typeof faultsSchema>;
}

/** How the settings are refused, the file called `FILE`. */
export function refusalOf(yaml: string, env: Record<string, string> = {}): Refusal {
  return refusalOfFile(fileOf(yaml), env);
}

export function refusalOfFile(file: string, env: Record<string, string> = {}): Refusal {
  try {
    settingsOfFile(file, env);
  } catch (thrown) {
    if (!(thrown instanceof CountersignError) || thrown.code !== 'SETTINGS_INVALID') throw thrown;
    const faults = faultsSchema.parse(thrown.data['faults']);
    return {
      message: thrown.message.replaceAll(file, 'FILE'),
      faults: faults.map((fault) => ({ ...fault, place: fault.place.replace(file, 'FILE') })),
    };
  }
  throw new Error('the settings were accepted');
}

/** A line a fault, as the message has them. */
export function linesOf({ faults }: Refusal): readonly string[] {
  return faults.map(
    ({ place, setting, problem, cure }) =>
      `${place}: ${[setting, problem].filter((part) => part !== '').join(' ')}; ${cure}`,
  );
}

/**
 * A test of each case of a text: settings, and after `! ` each line with which they are refused. `whole` makes a
 * file of what a case has.
 */
export function refuses(cases: string, whole: (written: string) => string = (written) => written): void {
  const found = Array.from(
    cases.matchAll(/((?:(?!! ).*\n)+?)((?:! .*\n)+)/g),
    ([, written = '', lines = '']) => ({
      written: written.trim(),
      lines: lines
        .trim()
        .split('\n')
        .map((line) => line.slice(2)),
    }),
  );
  it.each(found)('$written', ({ written, lines }) => {
    expect(linesOf(refusalOf(`${whole(written)}\n`))).toEqual(lines);
  });
}
