import { expect, it } from 'vitest';
import { SHOP, linesOf, refusalOf, settingsOf } from '../settings/written.ts';

const limits = (written: string): string => `${SHOP}public: { limits: { ${written} } }\n`;
const faultOf = (headersMs: number, requestMs: number): string =>
  `public.limits.headersTimeoutMs is ${headersMs}, above requestTimeoutMs, ${requestMs}; ` +
  `write at most ${requestMs}, or increase requestTimeoutMs`;

it.each([
  ['headersTimeoutMs: 6000', `FILE:2:21: ${faultOf(6000, 5000)}`],
  ['headersTimeoutMs: 3000, requestTimeoutMs: 2999', `FILE:2:21: ${faultOf(3000, 2999)}`],
  ['requestTimeoutMs: 4999', `FILE:2:11: ${faultOf(5000, 4999)}`],
])('more time for the headers than for the request is a fault of the settings: %s', (written, line) => {
  expect(linesOf(refusalOf(limits(written)))).toEqual([line]);
});

it('is reported together with all other faults', () => {
  const { faults } = refusalOf(`${limits('headersTimeoutMs: 6000, callbacks: 0')}ops: { port: 8080 }\n`);
  expect(faults.map(({ setting }) => setting).sort()).toEqual([
    'ops.port',
    'public.limits.callbacks',
    'public.limits.headersTimeoutMs',
  ]);
});

it('is found in the environment as well', () => {
  const { faults } = refusalOf(SHOP, { COUNTERSIGN_PUBLIC_LIMITS_REQUEST_TIMEOUT_MS: '1000' });
  expect(faults.map(({ setting }) => setting)).toEqual(['public.limits.headersTimeoutMs']);
});

it.each([
  'headersTimeoutMs: 5000',
  'headersTimeoutMs: 100, requestTimeoutMs: 100',
  'requestTimeoutMs: 60000',
])('is no fault: %s', (written) => {
  expect(() => settingsOf(limits(written))).not.toThrow();
});

it.each([
  ['callbacks: 0', 'callbacks'],
  ['callbacks: many', 'callbacks'],
  ['failuresPerSecond: 0', 'failuresPerSecond'],
])('a limit that cannot be is a fault: %s', (written, name) => {
  const { faults } = refusalOf(limits(written));
  expect(faults.map(({ setting }) => setting)).toEqual([`public.limits.${name}`]);
});
