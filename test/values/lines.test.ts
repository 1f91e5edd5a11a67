import { closeSync, openSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  LINE_MAX_BYTES,
  type Line,
  type LineFault,
  linesInChunks,
  linesOf,
  readLines,
  textOf,
} from '../../src/values/lines.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const fault: LineFault = (line, because) => new Error(`${line}: ${because}`);

function fileOf(content: string | Buffer): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'lines'), content);
  return join(folder, 'lines');
}

const read = (content: string | Buffer): readonly string[] =>
  Array.from(readLines(fileOf(content), fault), ({ text }) => text);

const shown = (line: Line) => [textOf(line, fault), line.number, line.size, line.isComplete];

async function shownOf(lines: AsyncIterable<Line> | Iterable<Line>) {
  const all = [];
  for await (const line of lines) all.push(shown(line));
  return all;
}

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe('the lines of a file', () => {
  it('are numbered, with their sizes, and say whether they end in a line break', async () => {
    const expected = [
      ['é', 1, 3, true],
      ['', 2, 1, true],
      ['b', 3, 1, false],
    ];
    const bytes = Buffer.from('é\n\nb');
    const file = openSync(fileOf(bytes), 'r');
    expect(await shownOf(linesOf(file, fault))).toEqual(expected);
    expect(await shownOf(linesOf(file, fault, { start: 3, end: 4, firstLine: 2 }))).toEqual([
      ['', 2, 1, true],
    ]);
    closeSync(file);
    for (const size of [1, 2, 3, 100]) {
      expect(await shownOf(linesInChunks(chunksOf(bytes, size), fault))).toEqual(expected);
    }
  });

  it('are the same wherever the chunks end', async () => {
    const texts = fc.array(fc.string({ maxLength: 40 }).map((text) => text.replaceAll('\n', '')));
    const property = fc.asyncProperty(texts, fc.integer({ min: 1, max: 50 }), async (lines, size) => {
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      const found = await shownOf(linesInChunks(chunksOf(bytes, size), fault));
      expect(found.map(([text]) => text)).toEqual(lines.map((line) => Buffer.from(line).toString()));
    });
    await fc.assert(property, { numRuns: 50 });
  });

  it('may be longer than the buffer', () => {
    const texts = Array.from({ length: 8 }, (_, index) => 'é'.repeat(index * 30_011));
    expect(read(texts.map((text) => `${text}\n`).join(''))).toEqual(texts);
    expect(read('')).toEqual([]);
  });

  it.each<[string, string | Buffer, string]>([
    ['a line that was cut off', 'a\nb', '2: it has no line break: the file was cut off here'],
    ['a line that is not UTF-8', Buffer.from([97, 10, 0xff, 10]), '2: it is not UTF-8'],
    ['half a character', Buffer.from([0xc3, 10]), '1: it is not UTF-8'],
    ['a line that is too long', Buffer.alloc(LINE_MAX_BYTES + 1, 97), '1: it has more than 33554432 bytes'],
  ])('are refused with %s', (_, content, message) => {
    expect(() => read(content)).toThrow(message);
  });

  it('are refused of what is no file', () => {
    expect(() => [...readLines('/nowhere/lines', fault)]).toThrow(/^0: it can't be read: ENOENT/);
    expect(() => [...readLines(tmpdir(), fault)]).toThrow(/^0: it can't be read: EISDIR/);
  });
});
