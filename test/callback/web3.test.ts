import { describe, expect, it } from 'vitest';
import { type Wire, callbackOf, parse, web3 } from './wire.ts';

describe('the trans_id of a web3 confirmation', () => {
  it.each(['7', '"7"', '0', '9007199254740993'])('is a whole number, as a number or as text: %s', (json) => {
    expect(callbackOf({ ...web3, trans_id: json }).values.get('trans_id')).toEqual([
      json.replaceAll('"', ''),
    ]);
  });

  it.each<[string, Wire, string]>([
    ['missing', { trans_id: undefined }, 'MEMBER_MISSING'],
    ['null', { trans_id: 'null' }, 'MEMBER_MISSING'],
    ['empty', { trans_id: '""' }, 'MEMBER_MISSING'],
    ['a blank', { trans_id: '" "' }, 'MEMBER_INVALID'],
    ['below zero', { trans_id: '-1' }, 'MEMBER_INVALID'],
    ['a fraction', { trans_id: '1.5' }, 'MEMBER_INVALID'],
    ['another spelling', { trans_id: '1e3' }, 'MEMBER_INVALID'],
    ['padded', { trans_id: '"07"' }, 'MEMBER_INVALID'],
    ['a boolean', { trans_id: 'true' }, 'MEMBER_INVALID'],
    ['a list', { trans_id: '[7]' }, 'MEMBER_INVALID'],
    ['very long', { trans_id: '1'.repeat(41) }, 'MEMBER_INVALID'],
  ])('refuses the callback where it is %s', (_what, spoilt, code) => {
    expect(parse.cosigner({ ...web3, ...spoilt })).toMatchObject({
      ok: false,
      code,
      data: { member: 'trans_id' },
    });
  });

  it('belongs to the terms: another one is another transaction', () => {
    expect(callbackOf({ ...web3, trans_id: '78' }).terms).not.toEqual(callbackOf(web3).terms);
  });
});
