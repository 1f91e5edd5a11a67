import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/values/clock.ts';
import { nextPort, onNextPort } from '../ports.ts';
import { type TestService, startTestService } from '../service.ts';
import { placeIn } from '../cli/terminal.ts';
import { LOOKS, type Look, barriers, isTooWide, look, startBrowser } from './browser.ts';

describe('with passkeys', () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  beforeAll(async () => {
    const port = await nextPort();
    origin = `http://localhost:${port}`;
    [service, browser] = await Promise.all([
      startTestService({
        settings: { ops: { port: String(port) }, console: { passkeys: { host: 'localhost', origin } } },
      }),
      startBrowser(),
    ]);
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  /** A device that keeps passkeys, and knows its person. */
  async function device(page: Page): Promise<void> {
    const devtools = await page.context().newCDPSession(page);
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
  }
  const command = async (...words: readonly string[]): Promise<string> => {
    const { code, out, err } = await placeIn(service.folder).runWith({ clock: systemClock })(...words);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return out;
  };
  const invited = async (name: string, role = 'operate'): Promise<string> =>
    /^(\S+)/.exec(await command('console', 'invite', name, '--role', role))?.[1] ?? '';
  async function enrolled(name: string, role = 'operate'): Promise<Look> {
    const looking = await look(browser);
    await device(looking.page);
    await looking.page.goto(await invited(name, role));
    await looking.page.getByRole('button', { name: 'Make a passkey' }).click();
    await looking.page.getByRole('heading', { name: 'Now' }).waitFor();
    return looking;
  }
  /** Leads to the page that was asked for. */
  const signIn = async (page: Page, heading = 'Now'): Promise<void> => {
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
  };

  it('an invited person makes a passkey, signs out, and signs in again', async () => {
    const { page, complaints, close } = await enrolled('ada');
    expect(await page.locator('.person').textContent()).toBe('ada');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Signed out' }).waitFor();
    await page.goto(`${origin}/console/`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await barriers(page)).toEqual([]);
    await signIn(page);
    expect(await page.locator('.person').textContent()).toBe('ada');
    expect(complaints.filter((each) => !each.includes('401'))).toEqual([]);
    expect(await command('console', 'people')).toMatch(/^ada +operate +1 passkey +1 session +signed in /);
    await close();
  });

  it.each(LOOKS)('the ways in have no barrier, and fit: $name', async ({ name: _name, ...how }) => {
    const { page, close } = await look(browser, how);
    const ways = [
      ['sign-in', `${origin}/console/`],
      ['invitation', await invited('grace')],
    ] as const;
    for (const [name, url] of ways) {
      await page.goto(url);
      expect([name, await barriers(page), await isTooWide(page)]).toEqual([name, [], false]);
    }
    await close();
  });

  it('an invitation is used once', async () => {
    const { page, close } = await look(browser);
    await device(page);
    const link = await invited('once');
    await page.goto(link);
    await page.getByRole('button', { name: 'Make a passkey' }).click();
    await page.getByRole('heading', { name: 'Now' }).waitFor();
    await page.goto(link);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('The invitation is over');
    await close();
  });

  it('a person who was removed, or signed out by command, is outside at once', async () => {
    const { page, close } = await enrolled('eve', 'read');
    expect(await command('console', 'sign-out', 'eve')).toBe('Ended 1 session of eve.\n');
    const wanted = `${origin}/console/decisions?user=%3Cb%3E%22`;
    await page.goto(wanted);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signIn(page, 'Decisions');
    expect(page.url()).toBe(wanted);
    await command('console', 'remove', 'eve');
    await page.goto(`${origin}/console/`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('alert').filter({ hasText: 'the passkey is not known here' }).waitFor();
    await close();
  });

  it('a page of another site can’t use the session', async () => {
    const { page, close } = await enrolled('zoe');
    const before = (await service.store.control()).sequence;
    // Another port of the same host: the same site to a cookie, but another origin.
    const attack =
      `<!doctype html><form method="post" action="${origin}/console/freeze"><input name="reason" value="x">` +
      '<input name="confirmation" value="freeze"><button>go</button></form>';
    const attacker = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end(attack),
    );
    const port = await onNextPort(async (free) => {
      attacker.listen(free, '127.0.0.1');
      await once(attacker, 'listening');
      return free;
    });
    onTestFinished(() => void attacker.close());
    await page.goto(`http://localhost:${port}/`);
    await page.getByRole('button', { name: 'go' }).click();
    await page.getByText('The form was not sent by a page of this console').waitFor();
    expect((await service.store.control()).sequence).toBe(before);
    await close();
  });

  it('somebody without a passkey is told what to do', async () => {
    const { page, close } = await look(browser, { javaScriptEnabled: false });
    await page.goto(`${origin}/console/decisions`);
    expect(await page.locator('main').innerText()).toContain('countersign console invite');
    expect(await page.locator('main').innerText()).toContain('Signing in needs JavaScript');
    await close();
  });
});
