import { describe, expect, it } from 'vitest';
import { continued, stepIn } from '../../src/console/search.ts';
import { markupOf } from '../../src/console/html.ts';
import { layout } from '../../src/console/layout.ts';
import { describeOnBothStores } from '../scenarios/on-both-stores.ts';
import { TO, transfer, web3 } from '../service.ts';
import { ADA, READER, type TestConsole, startTestConsole } from './console.ts';

const OTHER = '0x0000000000000000000000000000000000000bad';

/** The subjects that a page lists, in its order. */
const subjectsIn = (text: string): readonly string[] =>
  [...text.matchAll(/data-label="Subject" class="words"><div>((?:payment|transfer|web3):[^<]*)<\/div>/g)].map(
    ([, subject = '']) => subject,
  );

describeOnBothStores('the decisions', (host) => {
  const started = (): Promise<TestConsole> => startTestConsole({}, (options) => host.start(options));
  async function withStory(): Promise<TestConsole> {
    const console = await started();
    await console.pay({ appOrderId: 'small', orderAmount: '0.5', userId: '7' });
    await console.pay({ appOrderId: 'exact', orderAmount: '1000', userId: '7' }, 'rsa');
    await console.pay(
      { appOrderId: 'above', orderAmount: '1000.000000000000000001', userId: '8' },
      'rsa-envelope',
    );
    await console.pay({ appOrderId: 'exact', orderAmount: '999', userId: '7' }, 'rsa');
    await console.cosign('/cosigner/withdraw', transfer({ request_id: 'w-1', amount: 2 }));
    await console.cosign('/cosigner/withdraw', transfer({ request_id: 'w-2', amount: '3', to: OTHER }));
    await console.cosign('/cosigner/web3', web3({ request_id: 'x-1' }));
    return console;
  }
  /** Of all pages: on a busy machine, a page may end before it has fifty rows. */
  async function found(console: TestConsole, query: string): Promise<readonly string[]> {
    const seen: string[] = [];
    let path: string | undefined = `/console/decisions?${query}`;
    while (path !== undefined) {
      const { text } = await console.get(path);
      seen.push(...subjectsIn(text));
      path = /href="([^"]*after=[^"]*)"[^>]*>(?:Older|Look further back)/
        .exec(text)?.[1]
        ?.replaceAll('&amp;', '&');
    }
    return seen;
  }

  it('are found by each of their members, newest first', async () => {
    const console = await withStory();
    const cases: readonly (readonly [string, readonly string[]])[] = [
      [
        '',
        [
          'web3:x-1',
          'transfer:w-2',
          'transfer:w-1',
          'payment:exact',
          'payment:above',
          'payment:exact',
          'payment:small',
        ],
      ],
      ['source=shop', ['payment:exact', 'payment:above', 'payment:exact', 'payment:small']],
      ['id=exact', ['payment:exact', 'payment:exact']],
      ['id=payment:exact&verdict=SUCCESS', ['payment:exact']],
      ['id=w-1', ['transfer:w-1']],
      ['user=7', ['payment:exact', 'payment:exact', 'payment:small']],
      ['user=8', ['payment:above']],
      ['verdict=FAILURE', ['transfer:w-2', 'payment:exact', 'payment:above']],
      ['code=terms_changed', ['payment:exact']],
      ['rule=payments', ['payment:above']],
      ['rule=payments/amount-limit', ['payment:above']],
      ['rule=payments/amount-limit%231', ['payment:above']],
      ['rule=payments/window-limit', []],
      ['rule=transfers/allow-list', ['transfer:w-2']],
      [`address=${TO.toUpperCase().replace('0X', '0x')}`, ['web3:x-1', 'transfer:w-1']],
      [`address=${OTHER}`, ['transfer:w-2']],
      ['asset=USDT1742&verdict=SUCCESS', ['payment:exact', 'payment:small']],
      ['asset=ETH&source=vault&most=2', ['web3:x-1', 'transfer:w-1']],
      ['least=1000', ['payment:above', 'payment:exact']],
      ['least=1000.000000000000000001', ['payment:above']],
      ['least=1000.000000000000000002', []],
      ['most=0.5&source=shop', ['payment:small']],
      ['type=decision&least=999&most=999', ['payment:exact']],
      ['from=2020-01-01T00:00&until=2020-01-02T00:00', []],
      ['from=2020-01-01T00:00&id=w-1', ['transfer:w-1']],
    ];
    for (const [query, subjects] of cases)
      expect([query, await found(console, query)]).toEqual([query, subjects]);
  });

  it('come page by page, each once', async () => {
    const console = await started();
    for (let order = 0; order < 120; order++) {
      await console.pay({ appOrderId: `o-${order}`, orderAmount: '1', userId: `${order}` });
    }
    const seen = await found(console, 'source=shop');
    expect(seen).toEqual(Array.from({ length: 120 }, (_, order) => `payment:o-${119 - order}`));
  });

  it.each([
    ['verdict=YES', 'Verdict YES is not known'],
    ['source=nobody', 'Source nobody is not known'],
    ['least=ten', 'The amount ten is not a decimal number'],
    ['from=yesterday', 'The time yesterday (from) can&#39;t be read'],
    ['after=e30', 'This link continues another search'],
    ['format=exe', 'Format exe is not known'],
  ])('a search for %s is explained', async (query, because) => {
    const console = await started();
    const { status, text } = await console.get(`/console/decisions?${query}`);
    expect(status).toBe(422);
    expect(text).toContain(because);
    // The form is there again, with what was typed.
    expect(text).toContain('role="search"');
  });

  it('a search that is mistyped keeps what was typed', async () => {
    const console = await started();
    const { status, text } = await console.get('/console/decisions?least=ten&user=%3Cb%3E&rule=payments');
    expect(status).toBe(422);
    for (const [name, value] of [
      ['least', 'ten'],
      ['user', '&lt;b&gt;'],
      ['rule', 'payments'],
    ]) {
      expect(text).toMatch(new RegExp(`name="${name}"\\s+value="${value}"`));
    }
  });

  it('are exported as they are shown', async () => {
    const console = await withStory();
    await console.pay({ appOrderId: '=1+1', orderAmount: '1' });
    // An amount without a limit, and assets that a spreadsheet would take for formulas.
    await console.cosign('/cosigner/web3', web3({ request_id: 'x-2', amount: -1 }));
    for (const [at, symbol] of ['=1+1', '@"7",'].entries())
      await console.cosign('/cosigner/withdraw', transfer({ request_id: `f-${at}`, symbol }));
    const lines = await console.get('/console/decisions?format=jsonl&source=shop&user=12345');
    expect(JSON.parse(lines.text)).toMatchObject({ subject: 'payment:=1+1', verdict: 'SUCCESS' });
    expect(JSON.parse(lines.text)).toMatchObject({ amount: '1', asset: 'USDT1742', user: '12345' });
    const csv = await console.get('/console/decisions?format=csv&user=8');
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="decisions.csv"');
    const [head = '', row = '', end] = csv.text.split('\r\n');
    expect(head).toBe('id,at,type,verdict,code,subject,rule,because,revision,amount,asset,user');
    expect(row).toContain('FAILURE,RULE_REFUSED,payment:above,payments/amount-limit#1');
    expect(row).toMatch(/,1000\.000000000000000001,USDT1742,8$/);
    expect(end).toBe('');
    for (const [id, fields] of [
      ['x-2', '-1,ETH,'],
      ['f-0', '1.5,"=1+1",'],
      ['f-1', '1.5,"@""7"",",'],
    ]) {
      const { text } = await console.get(`/console/decisions?format=csv&id=${id}`);
      expect(text).toContain(`,${fields}\r\n`);
    }
  });

  it('one shows its answer, its rules, its callback and what else is about it', async () => {
    const console = await withStory();
    const { text: list } = await console.get('/console/decisions?id=above');
    const [, path = ''] = /href="(\/console\/decisions\/shop\/[^"]+)"/.exec(list) ?? [];
    const { status, text } = await console.get(path, READER);
    expect(status).toBe(200);
    for (const shown of [
      '✕ FAILURE',
      'payments/amount-limit#1 refuses: the amount 1000.000000000000000001 is above the maximum 1000',
      'payments/window-limit#2',
      'rsa-envelope',
      'What was in its envelope',
      '&quot;orderAmount&quot;:&quot;1000.000000000000000001&quot;',
      'in force now, pushed by countersign serve',
    ]) {
      expect(text).toContain(shown);
    }
    const again = await console.get('/console/decisions?id=exact&verdict=FAILURE');
    const [, second = ''] = /href="(\/console\/decisions\/shop\/[^"]+)"/.exec(again.text) ?? [];
    expect((await console.get(second)).text).toContain('Other entries about it');
  });

  it.each(['/shop/none', '/shop/999999999', '/nobody/1', '/shop/0-0', '/shop/%3Cscript%3E', '/__proto__/1'])(
    'there is none at %s',
    async (path) => {
      const console = await started();
      const { status, text } = await console.get(`/console/decisions${path}`);
      expect(status).toBe(404);
      expect(text).not.toContain('<script>');
    },
  );

  it('the page of a transaction has its calls', async () => {
    const console = await started();
    const data = `0xa9059cbb${OTHER.slice(2).padStart(64, '0')}${1500n.toString(16).padStart(64, '0')}`;
    const call = { request_id: 'x-2', interactive_contract: TO, to: TO, input_data: data };
    await console.cosign('/cosigner/web3', web3(call));
    await console.cosign('/cosigner/web3', web3({ ...call, request_id: 'x-3', input_data: '0x<b>"' }));
    const { text: list } = await console.get('/console/decisions?source=vault');
    const pages = await Promise.all(
      [...list.matchAll(/href="(\/console\/decisions\/vault\/[^"]+)"/g)].map(([, path = '']) =>
        console.get(path),
      ),
    );
    const [unreadable = '', readable = ''] = pages.map(({ text }) => text);
    expect(readable).toContain('transfer(address,uint256)');
    expect(readable).toContain(`<span class="muted">to</span> ${OTHER}`);
    expect(readable).toContain('<span class="muted">amount</span> 1500');
    expect(readable).toContain('uses <code>movements</code>, so no rule looked at what it moves');
    expect(unreadable).toContain('the call data is not 0x and pairs of hexadecimal digits');
    expect(unreadable).not.toContain('<b>');
  });

  it('an approval without a limit is called so', async () => {
    const console = await started();
    const data = `0x095ea7b3${OTHER.slice(2).padStart(64, '0')}${'f'.repeat(64)}`;
    const call = { interactive_contract: TO, to: TO, input_data: data };
    await console.cosign('/cosigner/web3', web3({ ...call, request_id: 'x-4' }));
    const { text: list } = await console.get('/console/decisions?source=vault');
    const [, path = ''] = /href="(\/console\/decisions\/vault\/[^"]+)"/.exec(list) ?? [];
    const { text } = await console.get(path);
    expect(text).toContain('<span class="muted">amount</span> unlimited (2^256-1)');
    expect(text).toContain('<dt>input_data</dt>');
  });

  it('one of a person who approved has what was signed, and the signature', async () => {
    const console = await started();
    const detail = (signature: object): string =>
      JSON.stringify({
        by: 'ada',
        key: 'SHA256:abc',
        signature,
        statement: 'countersign-approval/1\nid <w-1>\n',
      });
    const record = (signature: object): Promise<string> =>
      console.store.record({
        source: 'vault',
        type: 'approval',
        subject: 'transfer:w-1',
        verdict: '',
        code: 'APPROVED_BY_PERSON',
        of: '',
        detail: detail(signature),
      });
    const shown = async (signature: object): Promise<string> =>
      (await console.get(`/console/decisions/vault/${await record(signature)}`)).text;
    const bySsh = await shown({ method: 'ssh', signature: '-----BEGIN <SSH> SIGNATURE-----' });
    for (const each of [
      'SHA256:abc',
      'id &lt;w-1&gt;',
      '-----BEGIN &lt;SSH&gt; SIGNATURE-----',
      'ada approved it',
    ]) {
      expect(bySsh).toContain(each);
    }
    expect(await shown({ method: 'passkey', response: '{"id":"<x>"}' })).toContain(
      '{&quot;id&quot;:&quot;&lt;x&gt;&quot;}',
    );
    expect(await shown({ method: 'passkey', response: 7 })).toContain('ada approved it');
  });

  it('hostile texts are shown as texts', async () => {
    const console = await started();
    const hostile = ['<script>alert(1)</script>', `"onload='x'`, '\u202eevil', '{{7*7}}'];
    for (const [at, memo] of hostile.entries()) {
      await console.cosign('/cosigner/withdraw', transfer({ request_id: `w-${at}`, memo, symbol: 'ETH' }));
    }
    await console.cosign(
      '/cosigner/withdraw',
      transfer({ request_id: 'long', memo: 'x'.repeat(4096), colour: '<b>' }),
    );
    const { text: list } = await console.get('/console/decisions');
    const paths = [...list.matchAll(/href="(\/console\/decisions\/vault\/[^"]+)"/g)].map(
      ([, path = '']) => path,
    );
    expect(paths.length).toBeGreaterThan(4);
    for (const path of ['/console/decisions', ...paths]) {
      const { text } = await console.get(path);
      // The form that decides it again keeps the exact body, which nobody sees.
      const shown = text.replaceAll(/<input type="hidden"[^>]*>/g, '');
      expect(text).not.toMatch(/<script>|onload='|<b>/);
      expect(shown).not.toMatch(/\u202e/);
    }
  });
});

describe('a search that has found nothing yet', () => {
  const search = { path: '/console/decisions', query: { user: '7 & "8"' }, next: 'e30', lookedAtMs: 0 };
  const to = (step: number): string => `/console/decisions?user=7+%26+%228%22&after=e30&step=${step}`;
  const pageOf = (step: string) => {
    const { refresh, content } = continued({ ...search, step: stepIn(new URLSearchParams({ step })) });
    return { refresh, text: markupOf(content).replaceAll('&amp;', '&') };
  };

  it.each([
    ['', 1],
    ['1', 2],
    ['179', 180],
  ])('goes on by itself after step %j, and can be stopped', (step, next) => {
    const { refresh, text } = pageOf(step);
    expect(refresh).toEqual({ refreshS: 1, refreshTo: to(next) });
    expect(text).toMatch(/href="([^"]*)"\s*>Stop</);
    expect(text).toContain(`href="${to(180)}"`);
    expect(text).toContain(`href="${to(0)}"`);
  });

  it.each(['180', '999'])('waits for a person after step %s', (step) => {
    const { refresh, text } = pageOf(step);
    expect(refresh).toEqual({});
    expect(text).not.toContain('Stop');
    expect(text).toContain(`href="${to(0)}"`);
  });

  it.each(['-1', '1000', 'x', '1e1'])('takes step %s for the first', (step) => {
    expect(pageOf(step).refresh.refreshTo).toBe(to(1));
  });

  it('tells the browser by the page', () => {
    const { refresh, content } = continued({ ...search, step: 0 });
    const page = layout({
      view: { title: 'Decisions', content, ...refresh },
      path: '/decisions',
      navigation: [],
      person: ADA,
      frozen: ['x'.repeat(1000)],
      notice: undefined,
      assets: { stylesheet: '/s', script: '/j' },
      canSignOut: true,
    });
    expect(markupOf(page)).toContain(
      `<meta http-equiv="refresh" content="1; url=${to(1).replaceAll('&', '&amp;')}" />`,
    );
    // A long reason of a freeze is cut.
    expect(markupOf(page)).toContain(`<span>${'x'.repeat(160)}…</span>`);
    expect(markupOf(page)).toContain('Read the rest');
  });
});

describeOnBothStores('a trial', (host) => {
  const started = (): Promise<TestConsole> => startTestConsole({}, (options) => host.start(options));
  const MEMBERS = { kind: 'payment', userId: '12345', amount: '100', symbol: 'USDT1742' };

  it('says what a callback would be answered, and leaves nothing behind', async () => {
    const console = await started();
    for (const [amount, verdict] of [
      ['1000', '✓ SUCCESS'],
      ['1000.000000000000000001', '✕ FAILURE'],
    ] as const) {
      const { status, text } = await console.send('/console/try', { ...MEMBERS, amount }, READER);
      expect(status).toBe(200);
      expect(text).toContain(verdict);
      expect(text).toContain('payments/amount-limit#1');
    }
    expect(await console.store.journalSize('shop')).toBe(0);
  });

  it('asks about a decision again', async () => {
    const console = await started();
    await console.pay({ appOrderId: 'o-1' }, 'rsa-envelope');
    const { text: list } = await console.get('/console/decisions');
    const [, path = ''] = /href="(\/console\/decisions\/shop\/[^"]+)"/.exec(list) ?? [];
    const { text } = await console.get(path);
    const fields = [...text.matchAll(/type="hidden"\s+name="(\w+)"\s+value="([^"]*)"/g)].map(
      ([, name = '', value = '']) => [name, value.replaceAll('&quot;', '"').replaceAll('&amp;', '&')],
    );
    const asked = await console.send('/console/try', Object.fromEntries(fields));
    expect(asked.text).toContain('✓ SUCCESS');
    expect(asked.text).toContain('It would repeat the decision');
  });

  it('is a link too, and asks nothing before it has members', async () => {
    const console = await started();
    expect((await console.get('/console/try?kind=web3')).text).toContain('Call data');
    const { text } = await console.get(`/console/try?${new URLSearchParams(MEMBERS).toString()}`);
    expect(text).toContain('✓ SUCCESS');
  });

  it.each([
    [{ ...MEMBERS, symbol: '' }, 'Asset (payCoinSymbol) is missing'],
    [{ ...MEMBERS, body: '{' }, 'The callback can&#39;t be read'],
    [{ ...MEMBERS, body: '<script>alert(1)</script>' }, 'The callback can&#39;t be read'],
    [{ ...MEMBERS, scheme: '"><b>' }, 'does not accept the scheme &quot;&gt;&lt;b&gt;'],
    [{ ...MEMBERS, kind: 'gift' }, 'Kind gift is not known'],
    [{ ...MEMBERS, userId: 'x'.repeat(4096) }, 'userId'],
  ])('explains what is wrong with %j', async (fields, because) => {
    const console = await started();
    const { status, text } = await console.send('/console/try', fields);
    expect(status).toBe(422);
    expect(text).toContain(because);
    expect(text).not.toMatch(/<script>|<b>/);
  });
});

describeOnBothStores('what happens now', (host) => {
  it('is counted by verdict and by rule, with links to the decisions, and alarms', async () => {
    const console = await startTestConsole({}, (options) => host.start(options));
    await console.pay({ appOrderId: 'a', orderAmount: '1' });
    await console.pay({ appOrderId: 'a', orderAmount: '2' });
    for (const id of ['b', 'c']) await console.pay({ appOrderId: id, orderAmount: '1001' });
    for (const period of ['hour', 'day', 'week'] as const) {
      const { status, text } = await console.get(`/console/?period=${period}`);
      expect(status).toBe(200);
      expect(text).toContain('1 SUCCESS');
      expect(text).toContain('3 FAILURE');
      expect(text.match(/<rect\s+class="(?:yes|no)"/g)).toHaveLength(2);
      expect(text).toMatch(/<title>[\d :-]+ UTC: 1 SUCCESS, 3 FAILURE<\/title>/);
      const [, refused = ''] = /href="([^"]+)">payments\/amount-limit#1</.exec(text) ?? [];
      const found = await console.get(refused.replaceAll('&amp;', '&'));
      expect(found.text.match(/payment:[abc]\b/g)).toEqual(['payment:c', 'payment:b']);
      const since = /from=([\d-]+T[\d%A]+)/.exec(refused)?.[1] ?? '';
      const ageMs = Date.now() - Date.parse(`${decodeURIComponent(since)}Z`);
      expect(ageMs).toBeGreaterThan({ hour: 0.9, day: 23, week: 165 }[period] * 3_600_000);
      expect(ageMs).toBeLessThan({ hour: 1.1, day: 24.1, week: 168.1 }[period] * 3_600_000);
      expect(text).toMatch(/TERMS_CHANGED<\/span>/);
    }
    const { text } = await console.get('/console/');
    const [, alarm = ''] = /href="(\/console\/decisions\/shop\/[^"]+)"/.exec(text) ?? [];
    expect((await console.get(alarm)).text).toContain('TERMS_CHANGED');
    expect((await console.get('/console/?period=year')).status).toBe(422);
  });
});
