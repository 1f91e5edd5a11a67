import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import { readRecordFile } from '../../src/simulation/record-file.ts';
import { exportedLine } from '../journal/entries.ts';
import { type RecordItem, isPriceChange } from '../../src/journal/record.ts';
import { temporaryFolder } from '../temporary-folder.ts';

function fileOf(content: string): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'record.jsonl'), content);
  return join(folder, 'record.jsonl');
}

const entry = (source: string, id: string, atMs: number, more: object = {}): string =>
  exportedLine({ id, source, atMs, ...more });
const prices = (version: number, atMs: number): string =>
  JSON.stringify({
    id: `v${version}`,
    source: '',
    atMs,
    type: 'prices',
    detail: {
      version,
      set: [{ asset: 'BTC', price: '1.5', asOf: '2026-03-02T10:00:00.000Z' }],
      remove: [],
      by: 'feed',
    },
  });

const nameOf = (item: RecordItem): string =>
  isPriceChange(item) ? `v${item.version}` : `${item.source}/${item.id}`;
const read = (content: string): readonly string[] => [...readRecordFile(fileOf(content))].map(nameOf);
const lines = (...texts: readonly string[]): string => texts.map((text) => `${text}\n`).join('');

function faultOf(path: string): CountersignError {
  try {
    return new CountersignError('NOT_FOUND', `no fault, but ${[...readRecordFile(path)].length} items`);
  } catch (thrown) {
    if (thrown instanceof CountersignError) return thrown;
    throw thrown;
  }
}

describe('a file of a record', () => {
  it('that goes source by source is read by time', () => {
    const content = lines(
      entry('shop', '1', 10),
      entry('shop', '2', 30),
      entry('vault', '1', 5),
      entry('vault', '2', 20),
      entry('vault', '3', 40),
    );
    expect(read(content)).toEqual(['vault/1', 'shop/1', 'vault/2', 'shop/2', 'vault/3']);
  });

  it('has changes of prices before the entries of their millisecond, wherever they stand', () => {
    const content = lines(entry('shop', '1', 10), entry('shop', '2', 10), prices(1, 9), prices(2, 10));
    expect(read(content)).toEqual(['v1', 'v2', 'shop/1', 'shop/2']);
    const [first] = readRecordFile(fileOf(prices(1, 9)));
    expect(first).toEqual({
      version: 1,
      atMs: 9,
      set: [{ asset: 'BTC', price: 15n * 10n ** 35n, asOfMs: Date.UTC(2026, 2, 2, 10) }],
      remove: [],
      by: 'feed',
    });
  });

  it('keeps entries of one millisecond in their order, and returns an entry that appears twice once', () => {
    const run = [
      entry('shop', '1', 10),
      entry('shop', '2', 10),
      entry('vault', '2', 10),
      entry('shop', '10', 10),
    ];
    const names = ['shop/1', 'shop/2', 'vault/2', 'shop/10'];
    expect(read(lines(...run))).toEqual(names);
    expect(read(lines(...run, ...run))).toEqual(names);
  });

  it('may repeat changes of prices, as an export with --after does', () => {
    const content = lines(prices(1, 9), entry('shop', '1', 10), prices(2, 20), prices(1, 9), prices(2, 20));
    expect(read(content)).toEqual(['v1', 'shop/1', 'v2']);
  });

  it('with two exports is refused before anything is read, and is read once it is sorted', () => {
    const older = [entry('shop', '1', 10), entry('vault', '1', 20)];
    const newer = [entry('vault', '1', 20), entry('shop', '2', 30)];
    const path = fileOf(lines(...newer, ...older));
    expect(() => readRecordFile(path).next()).toThrow(/line 3 is older than the entry of shop before it/);
    const fault = faultOf(path);
    expect(fault.code).toBe('USAGE');
    const fix = /`(sort [^`]*) > SORTED`/.exec(fault.message)?.[1] ?? '';
    const sorted = execFileSync('/bin/sh', ['-c', fix], { encoding: 'utf8' });
    expect(read(sorted)).toEqual(['shop/1', 'vault/1', 'shop/2']);
  });

  it('may have its members in another order, empty lines, and no break at its end', () => {
    const { atMs, ...rest } = { ...(JSON.parse(entry('vault', '1', 5)) as { atMs: number }) };
    const content = `${lines(entry('shop', '2', 10), '', JSON.stringify({ ...rest, atMs }), '')}${entry('shop', '3', 20)}`;
    expect(read(content)).toEqual(['vault/1', 'shop/2', 'shop/3']);
    expect(read('')).toEqual([]);
    expect(read('\n')).toEqual([]);
  });

  it('may have lines of any length, cut wherever the buffer ends', () => {
    const long = (id: number): string =>
      entry('shop', String(id), id, { detail: { body: 'é'.repeat(id * 7919) } });
    const ids = Array.from({ length: 20 }, (_, index) => index);
    expect(read(lines(...ids.map(long)))).toEqual(ids.map((id) => `shop/${id}`));
  });

  it('may have been appended to many times', () => {
    const runs = Array.from({ length: 900 }, (_, index) => [
      entry('shop', `${index}`, index),
      entry('vault', `${index}`, 0),
    ]);
    expect(read(lines(...runs.flat()))).toHaveLength(1800);
  });

  it.each<[string, string, string]>([
    ['no JSON', lines(entry('shop', '1', 1), '{"id":"2"'), 'line 2 has no time'],
    ['half a line at its end', entry('shop', '1', 1).slice(0, -9), 'line 1 of'],
    ['no time', lines(entry('shop', '1', 1), '{}'), 'line 2 has no time'],
    ['a strange type', lines(entry('shop', '1', 1, { type: 'refund' })), 'line 1 of'],
    ['a strange verdict', lines(entry('shop', '1', 1, { verdict: 'MAYBE' })), 'verdict'],
    ['a price of nothing', lines(prices(1, 1).replace('1.5', '0')), 'detail.set.0.price'],
    [
      'no order at all',
      lines(...Array.from({ length: 1100 }, (_, index) => entry('shop', String(index), 5000 - index))),
      'not sorted by time',
    ],
  ])('with %s is refused, with its line', (_, content, said) => {
    const fault = faultOf(fileOf(content));
    expect(fault.code).toBe('USAGE');
    expect(fault.message).toContain(said);
    expect(fault.message).toContain('countersign decisions export');
  });

  it('that is not there, or is no file, is refused', () => {
    expect(faultOf('/nowhere/record.jsonl')).toMatchObject({ code: 'USAGE' });
    expect(faultOf(tmpdir())).toMatchObject({ code: 'USAGE' });
  });
});
