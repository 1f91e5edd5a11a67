import { expect, it } from 'vitest';
import { stringify, parse } from 'yaml';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transfer, writeServiceFolder } from '../service.ts';
import { journalOf } from './audit.ts';
import { describeOnBothStores } from './on-both-stores.ts';

/** The sources of the tests' own settings, with a setting more for `shop`. */
function sourcesWith(more: object): Readonly<Record<string, unknown>> {
  const folder = writeServiceFolder();
  const written: { readonly sources: readonly { readonly name: string }[] } = parse(
    readFileSync(join(folder, 'settings.yaml'), 'utf8'),
  );
  writeFileSync(join(folder, 'settings.yaml'), stringify({}));
  return {
    sources: written.sources.map((source) => (source.name === 'shop' ? { ...source, ...more } : source)),
  };
}

describeOnBothStores('an order is decided under one scheme', (host) => {
  it('and the same order by another scheme is refused, by name, with an alarm', async () => {
    const service = await host.start();
    for (const [first, ...others] of [
      ['md5', 'rsa', 'rsa-envelope'],
      ['rsa-envelope', 'md5', 'rsa'],
    ] as const) {
      const payment = { appOrderId: `by-${first}` };
      expect(await service.pay(payment, first)).toBe('SUCCESS');
      for (const other of others) expect(await service.pay(payment, other)).toBe('FAILURE');
      expect(await service.pay(payment, first)).toBe('SUCCESS');
      const entries = (await journalOf(service.store, 'shop')).filter(({ subject }) =>
        subject.endsWith(payment.appOrderId),
      );
      expect(entries.map(({ type, code }) => `${type} ${code}`)).toEqual([
        'decision APPROVED',
        'decision SCHEME_CHANGED',
        'decision SCHEME_CHANGED',
        'repeat APPROVED',
      ]);
    }
    const alarms = service.log.filter(({ event, message }) => event === 'alarm' || message === 'alarm');
    expect(alarms.map(({ code }) => code)).toEqual(Array.from({ length: 4 }, () => 'SCHEME_CHANGED'));
    expect(alarms[0]?.['because']).toBe(
      'the same order came before signed by another scheme; if the platform has changed its scheme, have it send the order under a new id, or write bindScheme: false at the source',
    );
  });

  it('also where the first was refused and the other would pass', async () => {
    const service = await host.start();
    const payment = { appOrderId: 'refused', orderAmount: '1001' };
    expect(await service.pay(payment, 'md5')).toBe('FAILURE');
    expect(await service.pay(payment, 'rsa')).toBe('FAILURE');
    const entries = await journalOf(service.store, 'shop');
    expect(entries.map(({ code }) => code)).toEqual(['RULE_REFUSED', 'SCHEME_CHANGED']);
  });

  it('unless the source says bindScheme: false', async () => {
    const service = await host.start({ settings: sourcesWith({ bindScheme: 'false' }) });
    for (const scheme of ['md5', 'rsa', 'rsa-envelope'] as const) {
      expect([scheme, await service.pay({}, scheme)]).toEqual([scheme, 'SUCCESS']);
    }
    const entries = await journalOf(service.store, 'shop');
    expect(entries.map(({ type }) => type)).toEqual(['decision', 'repeat', 'repeat']);
  });

  it('and a co-signer, which has no scheme, is asked and asks as before', async () => {
    const service = await host.start();
    expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('SUCCESS');
    expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('SUCCESS');
  });
});
