import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { CountersignError, messageOf } from '../errors.ts';
import { sha256Hex } from '../values/canonical.ts';
import type { ModuleConfig } from './config.ts';

const MAX_BYTES = 1024 * 1024;

/**
 * The bytes of a module's file, at most 1 MiB. Throws SETTINGS_INVALID unless they are those that the
 * settings name.
 */
export function readModuleFile({
  name,
  file,
  sha256,
}: Pick<ModuleConfig, 'name' | 'file' | 'sha256'>): Uint8Array {
  const bytes = readSmallFile(name, file);
  const found = sha256Hex(bytes);
  if (found !== sha256) {
    throw invalid(
      name,
      `${file} has the SHA-256 ${found}, and the settings say ${sha256}`,
      'if the file is as it should be, write the SHA-256 found into the settings; else put the right file in its place',
    );
  }
  return bytes;
}

export function invalid(name: string, problem: string, cure: string): CountersignError {
  return new CountersignError('SETTINGS_INVALID', `module ${name}: ${problem}: ${cure}`, { name });
}

function readSmallFile(name: string, file: string): Uint8Array {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, 'r');
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.alloc(Math.min(size, MAX_BYTES) + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    }
    if (length <= MAX_BYTES && length < bytes.length) return bytes.subarray(0, length);
  } catch (thrown) {
    const cure =
      'give an existing file, readable for this user; a relative path of the settings begins in the folder of their file';
    throw invalid(name, `can't read its file: ${messageOf(thrown)}`, cure);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
  throw invalid(name, `${file} is larger than 1 MiB`, 'bundle less into it');
}
