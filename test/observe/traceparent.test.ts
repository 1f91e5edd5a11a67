import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseTraceparent } from '../../src/observe/traces.ts';

const [TRACE, SPAN] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];

it.each([
  [`00-${TRACE}-${SPAN}-01`, true],
  [`00-${TRACE}-${SPAN}-00`, false],
  [`00-${TRACE}-${SPAN}-02`, false],
  [`00-${TRACE}-${SPAN}-ff`, true],
])('%s is read', (header, sampled) => {
  expect(parseTraceparent(header)).toEqual({ traceId: TRACE, spanId: SPAN, sampled });
});

it.each([
  undefined,
  '',
  '00',
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-`,
  `00-${TRACE}-${SPAN}-1`,
  `00-${TRACE}-${SPAN}-01-`,
  `00-${TRACE}-${SPAN}-01-more`,
  `01-${TRACE}-${SPAN}-01`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-0A`,
  `00-${TRACE}-${SPAN}-0g`,
  `00-${TRACE.slice(1)}-${SPAN}-01`,
  `00-${TRACE}0-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01\n`,
  ` 00-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01 `,
  `00_${TRACE}_${SPAN}_01`,
  `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  `00-${'４'.repeat(32)}-${SPAN}-01`,
  '0'.repeat(16_000),
])('%j counts as absent', (header) => {
  expect(parseTraceparent(header)).toBeUndefined();
});

it('what is read is lower-case hexadecimal, whatever was sent', () => {
  const alike = fc.stringMatching(/^0[01]-[0-9a-fA-F]{31,33}-[0-9a-f]{15,17}-[0-9a-g]{2}.?$/);
  fc.assert(
    fc.property(fc.oneof(fc.string(), alike), (header) => {
      const parent = parseTraceparent(header);
      if (parent === undefined) return;
      expect(parent.traceId).toMatch(/^[0-9a-f]{32}$/);
      expect(parent.spanId).toMatch(/^[0-9a-f]{16}$/);
      expect(header).toHaveLength(55);
    }),
  );
});
