import { describe, expect, it } from 'vitest';
import { isDestinationTag } from '../../src/values/destination-tag.ts';

describe('a destination tag', () => {
  it.each(['0', '7', '12345', '4294967295'])('can be %s', (text) => {
    expect(isDestinationTag(text)).toBe(true);
  });

  it.each(['', '00', '0123', '4294967296', '12345678901', '-1', '+1', '1.0', '1e3', ' 1', '1 ', '१', 'x'])(
    'can not be "%s"',
    (text) => {
      expect(isDestinationTag(text)).toBe(false);
    },
  );
});
