import { expect, it } from 'vitest';
import { hostOf, networksOf } from '../../src/values/address-networks.ts';

it.each([
  ['203.0.113.7:41022', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['[::ffff:203.0.113.7]:443', '203.0.113.7'],
  ['[2001:db8::7]:443', '2001:db8::7'],
  ['[2001:db8::7]', '2001:db8::7'],
  ['2001:db8::7', '2001:db8::7'],
  ['[fe80::1%eth0]:443', 'fe80::1%eth0'],
])('the address in %j is %j', (written, address) => {
  expect(hostOf(written)).toBe(address);
});

it.each([
  '',
  '203.0.113.7:',
  '203.0.113.7:x',
  '203.0.113.7:123456',
  '[203.0.113.7',
  'unknown',
  '999.1.1.1:80',
  '_a',
])('%j is no address, and stays as it is', (written) => {
  expect(hostOf(written)).toBe(written);
});

it('one client has one budget, from whichever port it connects', () => {
  const networks = ['203.0.113.7:1', '203.0.113.7:2', '[::ffff:203.0.113.7]:3'].map((each) =>
    networksOf(hostOf(each)).join(' '),
  );
  expect(new Set(networks)).toEqual(new Set(['203.0.113.7']));
});
