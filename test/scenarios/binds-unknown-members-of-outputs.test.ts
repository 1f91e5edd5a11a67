import { expect, it } from 'vitest';
import { termsOf } from '../../src/callback/callback.ts';
import { callbackOf, parse, payment, readable, transfer as wire, web3 } from '../callback/wire.ts';
import { TO, transfer } from '../service.ts';
import { journalOf } from './audit.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const POLICIES = {
  'transfers.yaml': 'policy: transfers\ncallback: transfer\nrules: [{ amount-limit: { max: 1000 } }]\n',
};
const OTHER = '0x27b1fdb04752bbc536007a920d24acb045561c26';

const withdrawal = (outputs: readonly object[], more: object = {}): object =>
  transfer({ amount: '3', outputs: JSON.stringify(outputs), ...more });
const first = (more: object = {}): object => ({ address_to: TO, amount: '1', ...more });
const second = (more: object = {}): object => ({ address_to: OTHER, amount: '2', ...more });

describeOnBothStores('what an output says beside address and amount is part of the terms', (host) => {
  it.each<[string, readonly object[], readonly object[]]>([
    ['a member more', [first(), second()], [first({ tag: '1' }), second()]],
    ['a member less', [first({ tag: '1' }), second()], [first(), second()]],
    ['another value', [first({ tag: '1' }), second()], [first({ tag: '2' }), second()]],
    ['a number in the place of a text', [first({ tag: '1' }), second()], [first({ tag: 1 }), second()]],
    ['the same member of the other output', [first({ tag: '1' }), second()], [first(), second({ tag: '1' })]],
    ['a nested value', [first({ tag: { a: 1 } }), second()], [first({ tag: { a: 2 } }), second()]],
  ])('%s', async (_, approved, changed) => {
    const service = await host.start({ policies: POLICIES });
    expect(await service.cosign('/cosigner/withdraw', withdrawal(approved))).toBe('SUCCESS');
    expect(await service.cosign('/cosigner/withdraw', withdrawal(changed))).toBe('FAILURE');
    expect(await service.cosign('/cosigner/withdraw', withdrawal(approved.toReversed()))).toBe('SUCCESS');
    const codes = (await journalOf(service.store, 'vault')).map(({ type, code }) => `${type} ${code}`);
    expect(codes).toEqual(['decision APPROVED', 'decision TERMS_CHANGED', 'repeat APPROVED']);
  });

  it('and is reported as an unknown member is', async () => {
    const service = await host.start({ policies: POLICIES });
    const outputs = [first({ tag: '1' }), second({ tag: '2', note: 'x' })];
    await service.cosign('/cosigner/withdraw', withdrawal(outputs, { chain: 'eth' }));
    const [entry] = await journalOf(service.store, 'vault');
    expect(JSON.parse(entry?.detail ?? '')).toMatchObject({
      unknown: ['chain', 'outputs[].tag', 'outputs[].note'],
    });
  });
});

it('terms without unknown members of outputs are, byte by byte, those of earlier versions', () => {
  const outputs = JSON.stringify(
    JSON.stringify([
      { address_to: '0xB1b2c3d4e5f60718293a4b5c6d7e8f9001122334', amount: '2' },
      { address_to: 'bc1qx', amount: 1.5 },
      { amount: '1', address_to: 'bc1qx' },
    ]),
  );
  expect(termsOf(readable(parse.payment(payment)))).toBe(
    '0955711ca28874e783507f92eff26794fd046bc58660d3b1a13d5e7d1b499340',
  );
  expect(termsOf(callbackOf(wire))).toBe('eba12e5680ef2853986f0446181095408be39f196e4051ff7693ec94bbe36a48');
  expect(termsOf(callbackOf({ ...wire, memo: '"order 7"', amount: '4.5', outputs }))).toBe(
    '7d02ff8f0564d6eae6113937beab74f563ed128e3b84f49837b29cb631ab8a8e',
  );
  expect(termsOf(callbackOf(web3))).toBe('6086756fed379eeb8604c98fcbeb2920a650f56b9e3bc39e8361e90f29a80eae');
});
