import { type Hash, createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FIRST_PREVIOUS, chainLine, unchainLine } from '../archive/line.ts';
import { messageOf, usageError } from '../errors.ts';
import { sha256Hex } from '../values/canonical.ts';

/** A directory with what an auditor needs. Files of lines are chained like an archive: see src/archive/line.ts. */
export interface Bundle {
  readonly directory: string;
  /** Begins a file, with this text. */
  begin(name: string, text?: string): void;
  /** Adds a line to a file, with the hash of the line before. */
  add(name: string, members: object): void;
  /** Adds a line of an archive as it is. */
  keep(name: string, line: string): void;
  /** Writes the manifest: the members, and the SHA-256 of each file. Returns its own SHA-256. */
  finish(members: object): string;
}

/** The bodies of callbacks are confidential. */
const [FILE_MODE, FOLDER_MODE] = [0o600, 0o700];

/** Begins a bundle in a directory that is empty or missing. Its calls throw USAGE if it can't be written. */
export function beginBundle(directory: string): Bundle {
  const files = new Map<string, { readonly sha256: Hash; previous: string }>();

  function write(name: string, text: string, hash: string): void {
    const path = join(directory, name);
    const file = files.get(name) ?? { sha256: createHash('sha256'), previous: FIRST_PREVIOUS };
    try {
      if (files.has(name)) appendFileSync(path, text);
      else {
        mkdirSync(dirname(path), { recursive: true, mode: FOLDER_MODE });
        writeFileSync(path, text, { flag: 'wx', mode: FILE_MODE });
      }
    } catch (thrown) {
      throw usageError(
        `the bundle in ${directory} can't be written: ${messageOf(thrown)}. Make room or repair the disk, ` +
          'remove the directory, and run the command again',
        { directory },
      );
    }
    file.sha256.update(text);
    file.previous = hash;
    files.set(name, file);
  }

  return {
    directory,
    begin: (name, text = '') => write(name, text, FIRST_PREVIOUS),
    keep: (name, line) => write(name, `${line}\n`, unchainLine(line)?.hash ?? ''),
    add(name, members) {
      const { line, hash } = chainLine(members, files.get(name)?.previous ?? FIRST_PREVIOUS);
      write(name, `${line}\n`, hash);
    },
    finish(members) {
      const hashes = Array.from(files, ([name, { sha256 }]) => [name, sha256.digest('hex')] as const);
      const manifest = { ...members, files: Object.fromEntries(hashes) };
      const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
      write('manifest.json', text, '');
      return sha256Hex(text);
    },
  };
}
