import { expect, it } from 'vitest';
import { csvLines } from '../../commands/table.ts';

it.each([
  ['=HYPERLINK("http://x")', `"=HYPERLINK(""http://x"")"`],
  ['+1', '"+1"'],
  ['-1+1', '"-1+1"'],
  ['@SUM(A1)', '"@SUM(A1)"'],
  ["'text", "'text"],
  ['-1', '-1'],
  ['-0.5', '-0.5'],
  ['a,b', '"a,b"'],
  ['', ''],
])('the CSV of records has %j as %s, quoted and not changed', (nickname, written) => {
  expect(csvLines([{ uid: '1', nickname }], ['uid', 'nickname'])).toEqual([`1,${written}`]);
});
