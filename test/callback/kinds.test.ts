import { describe, expect, it } from 'vitest';
import { callbackKinds } from '../../src/callback/kinds.ts';
import { type Wire, callbackOf, parse, transfer, web3 } from './wire.ts';

const nulls = (names: readonly string[]): Wire => Object.fromEntries(names.map((name) => [name, 'null']));
const OF_TRANSFER = callbackKinds.transfer.distinctiveMembers;
const OF_WEB3 = callbackKinds.web3.distinctiveMembers;

describe('the kind of a co-signer callback', () => {
  it.each(OF_WEB3)('is a withdrawal where %s is null, for that says nothing', (name) => {
    const callback = callbackOf({ ...transfer, [name]: 'null' });
    expect(callback).toEqual({ ...callbackOf(transfer), unknown: [name] });
  });

  it.each(OF_TRANSFER)('is a web3 transaction where %s is null', (name) => {
    const callback = callbackOf({ ...web3, [name]: 'null' });
    expect(callback).toEqual({ ...callbackOf(web3), unknown: [name] });
  });

  it('is known where a sender fills all that it does not use with null', () => {
    expect(callbackOf({ ...nulls(OF_WEB3), ...transfer }).kind).toBe('transfer');
    expect(callbackOf({ ...nulls(OF_TRANSFER), ...web3 }).kind).toBe('web3');
  });

  it.each<[string, Wire]>([
    ['an empty text', { trans_id: '""' }],
    ['false', { trans_id: 'false' }],
    ['zero', { trans_id: '0' }],
    ['the text null', { input_data: '"null"' }],
    ['an empty object', { interactive_contract: '{}' }],
    ['one of several', { ...nulls(OF_WEB3), main_chain_symbol: '"ETH"' }],
  ])('is in doubt where a member of the other kind is %s', (_what, spoilt) => {
    expect(parse.cosigner({ ...transfer, ...spoilt })).toMatchObject({ ok: false, code: 'KIND_UNEXPECTED' });
  });

  it('is not shown by members that are null', () => {
    const bare = { ...transfer, ...nulls(OF_TRANSFER) };
    expect(parse.cosigner(bare)).toMatchObject({ ok: false, code: 'KIND_UNEXPECTED', data: { shown: [] } });
    expect(parse.cosigner({ ...bare, ...nulls(OF_WEB3) })).toMatchObject({ code: 'KIND_UNEXPECTED' });
  });

  it('must be one that the URL serves, whatever is null beside it', () => {
    expect(parse.cosigner({ ...transfer, trans_id: 'null' }, ['web3'])).toMatchObject({
      ok: false,
      code: 'KIND_UNEXPECTED',
    });
  });
});
