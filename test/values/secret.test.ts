import { expect, it } from 'vitest';
import { equalInConstantTime } from '../../src/values/secret.ts';

it.each([
  ['', '', true],
  ['token', 'token', true],
  ['tökén', 'tökén', true],
  ['token', 'Token', false],
  ['token', 'tokem', false],
  ['token', 'token ', false],
  ['token', 'toke', false],
  ['', 'token', false],
])('%j and %j: %s, whatever their lengths', (a, b, equal) => {
  expect(equalInConstantTime(a, b)).toBe(equal);
  expect(equalInConstantTime(b, a)).toBe(equal);
});
