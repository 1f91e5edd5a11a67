import { expect, it } from 'vitest';
import { describeOnBothStores } from '../scenarios/on-both-stores.ts';
import { TO, transfer } from '../service.ts';
import { READER, type TestConsole, startTestConsole } from './console.ts';
import { ASSETS } from '../assets.ts';

const policies = {
  'assets.yaml': ASSETS,
  'limits.yaml': `policy: users
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - window-limit: { per: [userId], window: 24h, max: 1000 }
---
policy: addresses
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - window-limit: { per: [to], window: 24h, max: 10 }
`,
};

/** More than a page of limits looks at by itself. */
const BUSY = 520;

describeOnBothStores('the limits', (host) => {
  async function withQuietOnes(): Promise<TestConsole> {
    const console = await startTestConsole({ policies }, (options) => host.start(options));
    await console.pay({ appOrderId: 'quiet', orderAmount: '250.5', userId: '70001' });
    await console.cosign('/cosigner/withdraw', transfer({ request_id: 'w-1', amount: '4', to: TO }));
    for (let order = 0; order < BUSY; order += 20) {
      const batch = Array.from({ length: 20 }, (_, at) => ({
        appOrderId: `o-${order + at}`,
        orderAmount: '1',
      }));
      await Promise.all(batch.map((each) => console.pay({ ...each, userId: '90009' })));
    }
    return console;
  }

  it('of a user and of an address are found, however many others came since', async () => {
    const console = await withQuietOnes();
    const all = await console.get('/console/limits?source=shop', READER);
    expect(all.text).toContain('90009');
    expect(all.text).not.toContain('70001');
    expect(all.text).toContain('Used is what approvals have reserved');
    const quiet = await found(console, 'value=70001');
    expect(quiet).toMatch(/data-label="Used"[^>]*><div>250\.5<\/div>/);
    expect(quiet).toMatch(/data-label="Left"[^>]*><div>749\.5<\/div>/);
    expect(quiet).not.toContain('90009');
    // As people copy it, with the capital letters of its checksum.
    const capital = `0x${TO.slice(2).toUpperCase()}`;
    expect(await found(console, `value=${capital}`)).toMatch(/data-label="Used"[^>]*><div>4<\/div>/);
    expect(await found(console, 'value=70001&rule=users')).toContain('250.5');
    expect(await found(console, 'value=70001&rule=addresses')).toContain('of addresses counts by 70001');
    expect(await found(console, 'value=nobody')).toContain('No limit over time counts by nobody');
    expect(await found(console, 'value=%3Cb%3E')).not.toContain('<b>');
  });

  /** On a busy machine, the first page may look at fewer entries than there are. */
  async function found(console: TestConsole, query: string): Promise<string> {
    let path: string | undefined = `/console/limits?${query}`;
    let text = '';
    while (path !== undefined) {
      ({ text } = await console.get(path, READER));
      path = /http-equiv="refresh" content="1; url=([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    return text;
  }

  it('are the fullest 50 of those that are asked for', async () => {
    const console = await startTestConsole({ policies }, (options) => host.start(options));
    await console.cosign('/cosigner/withdraw', transfer({ request_id: 'w-1', amount: '9', to: TO }));
    const users = Array.from({ length: 60 }, (_, at) => 70_001 + at);
    const paid = users.map((user, at) =>
      console.pay({ appOrderId: `o-${user}`, orderAmount: String(at + 1), userId: String(user) }),
    );
    expect(new Set(await Promise.all(paid))).toEqual(new Set(['SUCCESS']));
    const all = await console.get('/console/limits', READER);
    expect(all.text).toContain('61 limits, found by the newest 61 entries');
    expect(all.text).toContain('The fullest 50 of 61 are shown');
    expect(usedIn(all.text)).toEqual(['9', ...users.map((_, at) => String(60 - at)).slice(0, 49)]);
    const ofRule = await console.get('/console/limits?rule=users', READER);
    expect(ofRule.text).toContain('The fullest 50 of 60 are shown');
    expect(usedIn(ofRule.text)).toEqual(users.map((_, at) => String(60 - at)).slice(0, 50));
    const ofAddresses = await console.get('/console/limits?rule=addresses/window-limit%231', READER);
    expect(ofAddresses.text).not.toContain('are shown');
    expect(usedIn(ofAddresses.text)).toEqual(['9']);
  });

  it('of one user are the fullest 50, and the page says so', async () => {
    const rule = '{ per: [userId, appOrderId], window: 24h, max: 1000 }';
    const many = `policy: orders\ncallback: payment\nwhen: { source: shop, symbol: USDT1742 }\nrules: [window-limit: ${rule}]\n`;
    const console = await startTestConsole({ policies: { 'many.yaml': many } }, (options) =>
      host.start(options),
    );
    const pay = (order: number): Promise<string> =>
      console.pay({ appOrderId: `o-${order}`, orderAmount: String(order), userId: '70001' });
    await pay(1);
    expect(await found(console, 'value=70001')).not.toContain('At most');
    const orders = Array.from({ length: 59 }, (_, at) => at + 2);
    expect(new Set(await Promise.all(orders.map(pay)))).toEqual(new Set(['SUCCESS']));
    const all = await found(console, 'value=70001');
    expect(usedIn(all)).toEqual(Array.from({ length: 50 }, (_, at) => String(60 - at)));
    expect(all).toContain('At most 50 are shown');
  });

  const usedIn = (text: string): readonly string[] =>
    [...text.matchAll(/data-label="Used"[^>]*><div>([^<]*)</g)].map(([, used = '']) => used);

  it('begin nowhere else than where a search of this store was', async () => {
    const console = await startTestConsole({ policies }, (options) => host.start(options));
    const { status, text } = await console.get('/console/limits?value=1&after=e30');
    expect(status).toBe(422);
    expect(text).not.toContain('--after');
  });
});
