import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/values/clock.ts';
import { placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { nextPort } from '../ports.ts';
import { type TestService, startTestService, transfer } from '../service.ts';
import { LOOKS, type Look, barriers, isTooWide, look, startBrowser } from './browser.ts';

const POLICY = `policy: transfers
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - approval: { by: treasury, quorum: 2, within: 24h }
`;

describe('people approve with passkeys', () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  let ada: Look;
  let ben: Look;
  beforeAll(async () => {
    const port = await nextPort();
    origin = `http://localhost:${port}`;
    [service, browser] = await Promise.all([
      startTestService({
        settings: {
          deployment: 'acme-test',
          fourEyes: ['unfreeze', 'lists'],
          ops: { port: String(port) },
          console: { passkeys: { host: 'localhost', origin } },
        },
      }),
      startBrowser(),
    ]);
    [ada, ben] = [await enrolled('ada', 'operate'), await enrolled('ben', 'operate')];
    // The lines that the command prints are what people.yaml needs.
    const lines = [];
    for (const name of ['ada', 'ben']) {
      const text = await command('console', 'people', '--yaml', name);
      lines.push(text.replace(/roles: .*/, 'roles: [operate, approve]'));
    }
    const people = `people:\n${lines.join('')}groups:\n  treasury: [ada, ben]\n`;
    writeFileSync(join(service.folder, 'policies', 'people.yaml'), people);
    writeFileSync(join(service.folder, 'policies', 'transfers.yaml'), POLICY);
    await command('policy', 'push', '--message', 'people approve', '--yes');
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  const command = async (...words: readonly string[]): Promise<string> => {
    const { code, out, err } = await placeIn(service.folder).runWith({ clock: systemClock })(...words);
    expect([code, err]).toEqual([0, expect.any(String)]);
    return out;
  };
  async function enrolled(name: string, role: string): Promise<Look> {
    const looking = await look(browser);
    const devtools = await looking.page.context().newCDPSession(looking.page);
    await devtools.send('WebAuthn.enable');
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    const [, invitation = ''] = /^(\S+)/.exec(await command('console', 'invite', name, '--role', role)) ?? [];
    await looking.page.goto(invitation);
    await looking.page.getByRole('button', { name: 'Make a passkey' }).click();
    await looking.page
      .getByRole('heading', { level: 1 })
      .filter({ hasText: /Now|Inbox/ })
      .waitFor();
    return looking;
  }
  const ask = (id: string): Promise<string> =>
    service.cosign('/cosigner/withdraw', transfer({ request_id: id, amount: '5' }));
  /** Asks until the policies are followed that want approval. */
  const awaiting = (id: string): Promise<true> =>
    eventually(`${id} waits`, async () => {
      await ask(id);
      return (await service.store.approvalRequest('vault', `transfer:${id}`)) === undefined
        ? undefined
        : true;
    });
  const requestPage = (id: string): string => `${origin}/console/approvals/vault/transfer%3A${id}`;
  const said = (page: Page): Promise<string | null> => page.getByRole('status').textContent();

  it('a transfer passes after two people have approved it, by mouse and by the keyboard alone', async () => {
    await awaiting('w-1');
    await eventually('the console follows the policies too', async () => {
      await ada.page.goto(`${origin}/console/`);
      return (await ada.page.getByRole('heading', { level: 1 }).innerText()) === 'Inbox' ? true : undefined;
    });
    expect(await ada.page.getByRole('link', { name: /^Inbox 1 waiting$/ }).count()).toBe(1);
    await ada.page.getByRole('link', { name: /Withdrawal w-1/ }).click();
    await ada.page.getByRole('heading', { name: 'Request transfer:w-1' }).waitFor();
    // What is signed is read before the button.
    const statement = ada.page.locator('pre', { hasText: 'term amount 5' });
    const [above, below] = [
      await statement.boundingBox(),
      await ada.page.getByRole('button', { name: 'Approve with a passkey' }).boundingBox(),
    ];
    expect(above?.y).toBeLessThan(below?.y ?? 0);
    await ada.page.getByRole('button', { name: 'Approve with a passkey' }).click();
    await ada.page.getByText('So far: ada.').waitFor();
    expect(await ask('w-1')).toBe('FAILURE');

    await ben.page.goto(requestPage('w-1'));
    await ben.page.getByRole('button', { name: 'Approve with a passkey' }).focus();
    await ben.page.keyboard.press('Enter');
    await ben.page.getByText('So far: ada, ben.').waitFor();
    expect(await ask('w-1')).toBe('SUCCESS');
    await ada.page.goto(`${origin}/console/`);
    await ada.page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
    expect([...ada.complaints, ...ben.complaints]).toEqual([]);
  });

  it('a device that has no passkey of people.yaml signs nothing', async () => {
    await awaiting('w-2');
    const eve = await enrolled('eve', 'read');
    await eve.page.goto(requestPage('w-2'));
    await eve.page.getByRole('button', { name: 'Approve with a passkey' }).click();
    await eve.page.getByRole('alert').filter({ hasText: /\S/ }).waitFor();
    const record = await service.store.approvalRequest('vault', 'transfer:w-2');
    expect(record?.value).toContain('"signatures":[]');
    await eve.close();
  });

  it('two people lift a freeze: one asks and signs, and another signs', async () => {
    const { freeze } = await service.store.freeze({ by: 'cleo', reason: 'the key may have leaked' });
    await ada.page.goto(`${origin}/console/now`);
    await ada.page.getByText(`Lift ${freeze.id}`).first().click();
    const lift = ada.page.locator('form', { hasText: 'Approvals continue' });
    await lift.getByLabel('Reason, for the journal').fill('keys rotated');
    await lift.getByLabel(/unfreeze/).fill('unfreeze');
    await lift.getByRole('button', { name: /^Lift/ }).click();
    await ada.page.getByRole('heading', { name: /^Request r\w{6}$/ }).waitFor();
    const path = ada.page.url();
    expect(await said(ada.page)).toContain('It waits: nothing has changed yet');
    const text = await ada.page.locator('main').innerText();
    expect(text).toContain(`Would end ${freeze.id} by cleo: the key may have leaked`);
    expect(text).toContain('nobody (0 of 2)');
    await ada.page.getByRole('button', { name: 'Sign with a passkey' }).click();
    await ada.page.getByText('is signed by ada. Another person signs it').waitFor();
    await ada.page.getByRole('button', { name: 'Sign with a passkey' }).click();
    await ada.page.getByRole('alert').filter({ hasText: 'has signed already' }).waitFor();
    expect((await service.store.control()).frozen).toHaveLength(1);

    // On a phone, and what is signed is read before the button.
    await ben.page.setViewportSize({ width: 390, height: 800 });
    await ben.page.goto(path);
    expect([await barriers(ben.page), await isTooWide(ben.page)]).toEqual([[], false]);
    await ben.page.getByRole('button', { name: 'Sign with a passkey' }).click();
    await ben.page.getByText('is signed by ada, ben. Lifted').waitFor();
    expect((await service.store.control()).frozen).toEqual([]);
    expect([await barriers(ben.page), await isTooWide(ben.page)]).toEqual([[], false]);
    expect(await ben.page.getByRole('button', { name: 'Sign with a passkey' }).count()).toBe(0);
    await ben.page.setViewportSize({ width: 1280, height: 800 });
  });

  it('keeps why a person approved it', async () => {
    await awaiting('w-5');
    await ben.page.goto(requestPage('w-5'));
    await ben.page.getByLabel('Why you approve it, for the journal (not signed)').fill('known customer');
    await ben.page.getByRole('button', { name: 'Approve with a passkey' }).click();
    await ben.page.getByText('So far: ben.').waitFor();
    const entries = await service.store.entries({ source: 'vault', subject: 'transfer:w-5', limit: 100 });
    expect(entries.filter(({ detail }) => detail.includes('"message":"known customer"'))).toHaveLength(1);
  });

  it('a request is rejected with a reason', async () => {
    await awaiting('w-3');
    await ada.page.goto(requestPage('w-3'));
    await ada.page.getByLabel('Reason, for the journal').fill('unknown recipient');
    await ada.page.getByRole('button', { name: 'Reject' }).click();
    await ada.page.getByRole('status').waitFor();
    expect(await said(ada.page)).toBe('Rejected request transfer:w-3: unknown recipient');
    expect(await ada.page.getByRole('button', { name: 'Approve with a passkey' }).count()).toBe(0);
    expect(await ask('w-3')).toBe('FAILURE');
  });

  it.each(LOOKS)('the pages have no barrier, and fit: $name', async ({ name: _name, width, colorScheme }) => {
    await awaiting('w-4');
    await ada.page.setViewportSize({ width, height: 800 });
    await ada.page.emulateMedia({ colorScheme });
    for (const path of [`${origin}/console/approvals`, requestPage('w-4'), requestPage('w-1')]) {
      await ada.page.goto(path);
      expect([path, await barriers(ada.page), await isTooWide(ada.page)]).toEqual([path, [], false]);
    }
    await ada.page.setViewportSize({ width: 1280, height: 800 });
  });

  it('without JavaScript, the page has the command in place of the button', async () => {
    await awaiting('w-4');
    const [cookie] = await ada.page.context().cookies();
    const { page, close } = await look(browser, { javaScriptEnabled: false });
    if (cookie !== undefined) await page.context().addCookies([cookie]);
    await page.goto(requestPage('w-4'));
    const text = await page.locator('main').innerText();
    expect(text).toContain('countersign approvals approve transfer:w-4 --source vault --key FILE');
    expect(text).not.toContain('Approve with a passkey');
    expect(await page.getByRole('button', { name: 'Reject' }).isVisible()).toBe(true);
    await close();
  });
});
