import { describe, expect } from 'vitest';
import { OTHER_TERMS, request, windowClaim } from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

const changed = { outcome: 'decided', verdict: 'FAILURE', code: 'SCHEME_CHANGED', claims: [] } as const;
const approved = { verdict: 'SUCCESS', code: 'APPROVED' } as const;

export function describeSchemes(open: OpenStore): void {
  const it = testsOn(open);

  describe('the scheme that a subject is bound to', () => {
    it('repeats a decision under the same scheme, and refuses it under another', async ({
      store,
      settle,
    }) => {
      expect(await settle({ scheme: 'md5' })).toMatchObject({ outcome: 'decided', ...approved });
      expect(await settle({ scheme: 'rsa-envelope' })).toMatchObject(changed);
      expect(await settle({ scheme: 'rsa' })).toMatchObject(changed);
      expect(await settle({ scheme: 'md5' })).toMatchObject({ outcome: 'repeated', ...approved });
      const entries = await store.entries({ source: 'shop', subject: 'payment:1', limit: 10 });
      expect(entries.map(({ type, code }) => `${type} ${code}`)).toEqual([
        'decision APPROVED',
        'decision SCHEME_CHANGED',
        'decision SCHEME_CHANGED',
        'repeat APPROVED',
      ]);
    });

    it('refuses another scheme also after a refusal, and reserves nothing', async ({ store, settle }) => {
      const claims = [windowClaim('10', '10')];
      const refused = request({ scheme: 'md5', approves: false, retryable: true });
      expect(await store.settle(refused)).toMatchObject({ code: 'RULE_REFUSED' });
      expect(await settle({ scheme: 'rsa', claims })).toMatchObject(changed);
      const other = request({ subject: 'payment:2', scheme: 'rsa', claims });
      expect(await store.settle(other)).toMatchObject(approved);
    });

    it('is that of the first decision, also through other handles and after reopening', async ({
      another,
      reopen,
      settle,
    }) => {
      await settle({ scheme: 'rsa' });
      const second = await another();
      expect(await second.settle(request({ scheme: 'md5' }))).toMatchObject(changed);
      const later = await reopen();
      expect(await later.settle(request({ scheme: 'md5' }))).toMatchObject(changed);
      expect(await later.settle(request({ scheme: 'rsa' }))).toMatchObject({
        outcome: 'repeated',
        ...approved,
      });
    });

    it('is not compared where the request has none, or the subject was decided without', async ({
      store,
      settle,
    }) => {
      await settle({ scheme: 'md5' });
      expect(await settle({ scheme: '' })).toMatchObject({ outcome: 'repeated', ...approved });
      expect(await settle({ scheme: 'rsa' })).toMatchObject(changed);

      const without = request({ subject: 'payment:2', scheme: '' });
      await store.settle(without);
      for (const scheme of ['md5', 'rsa', '']) {
        expect(await store.settle({ ...without, scheme })).toMatchObject({
          outcome: 'repeated',
          ...approved,
        });
      }
    });

    it('is kept from the first decision that has one', async ({ settle }) => {
      await settle({ scheme: '', approves: false, retryable: true });
      expect(await settle({ scheme: 'md5' })).toMatchObject({ outcome: 'decided', ...approved });
      expect(await settle({ scheme: 'rsa' })).toMatchObject(changed);
    });

    it('says less than other terms, and less than a freeze', async ({ store, settle }) => {
      await settle({ scheme: 'md5' });
      const both = request({ scheme: 'rsa', terms: OTHER_TERMS });
      expect(await store.settle(both)).toMatchObject({ code: 'TERMS_CHANGED' });
      await store.freeze({ reason: 'x', by: 'ada' });
      expect(await settle({ scheme: 'rsa' })).toMatchObject({ code: 'FROZEN' });
    });
  });
}
