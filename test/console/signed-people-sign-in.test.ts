import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createInvitations } from '../../src/console/sign-in/invitations.ts';
import { createPeople } from '../../src/console/sign-in/people.ts';
import { systemClock } from '../../src/values/clock.ts';
import { placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { onNextPort } from '../ports.ts';
import { DEPLOYMENT, keyFileOf, peopleText } from '../release/signing.ts';
import { describeOnBothStores } from '../scenarios/on-both-stores.ts';
import { POLICIES } from '../service.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type Authenticator, createAuthenticator } from './authenticator.ts';

describeOnBothStores('with signers, who signs in is said by people.yaml', (host) => {
  /** A service that follows what Ada has signed. */
  async function started() {
    const file = join(temporaryFolder(), 'signers.yaml');
    writeFileSync(file, peopleText(['ada']));
    const service = await onNextPort((port) =>
      host.start({
        policies: POLICIES,
        settings: {
          deployment: DEPLOYMENT,
          signers: { file, threshold: '1' },
          ops: { port: `${port}` },
          console: { passkeys: { host: 'localhost', origin: `http://localhost:${port}` } },
        },
      }),
    );
    const origin = `http://localhost:${new URL(service.ops).port}`;
    const people = createPeople(service.store, systemClock);
    const invitations = createInvitations(service.store, people, systemClock);
    const json = (path: string, body: unknown): Promise<Response> =>
      fetch(`${service.ops}/console${path}`, {
        method: 'POST',
        headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const optionsOf = async (path: string): Promise<never> => (await (await json(path, {})).json()) as never;
    const place = placeIn(service.folder);
    const run = place.runWith({ clock: systemClock });
    return {
      service,
      people,
      device: () => createAuthenticator({ host: 'localhost', origin }),
      enrol: async (name: string, by: Authenticator): Promise<Response> => {
        const token = await invitations.create({ name, roles: ['operate'], keepMs: 60_000 });
        return json(`/invite/${token}`, by.enrol(await optionsOf(`/invite/${token}/options`)));
      },
      signIn: async (by: Authenticator): Promise<Response> =>
        json('/sign-in', by.signIn(await optionsOf('/sign-in/options'))),
      /** The status of the first page, and the roles that it shows. */
      seen: async (response: Response): Promise<string> => {
        const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';');
        const page = await fetch(`${service.ops}/console/now`, { headers: { cookie } });
        return `${page.status} ${/class="person" title="([^"]*)"/.exec(await page.text())?.[1] ?? ''}`;
      },
      /** Puts a people.yaml in force, signed by Ada. */
      push: async (text: string): Promise<void> => {
        place.write('policies/people.yaml', text);
        const pushed = await run('policy', 'push', '--yes', '--message', 'people', '--key', keyFileOf('ada'));
        expect([pushed.code, pushed.err]).toEqual([0, expect.any(String)]);
      },
    };
  }
  const because = async (response: Response): Promise<string> =>
    z.object({ error: z.object({ message: z.string() }) }).parse(await response.json()).error.message;
  const linesOf = (name: string, roles: string, { passkey }: Authenticator): string =>
    `  ${name}:\n    roles: [${roles}]\n    passkeys:\n      - id: ${passkey.id}\n        publicKey: ${passkey.publicKey}`;

  it('lets in who is there, with the roles and the public key that are there', async () => {
    const { device, enrol, signIn, seen, push, people } = await started();
    const bens = device();
    const refused = await enrol('ben', bens);
    expect(refused.status).toBe(403);
    const message = await because(refused);
    const [, lines = ''] = message.split('signed:\n');
    expect(lines).toBe(linesOf('"ben"', 'operate', bens));
    const again = await signIn(bens);
    expect([again.status, await because(again)]).toEqual([403, message]);

    await push(`people:\n${lines.replace('[operate]', '[approve]')}\n`);
    const session = await eventually('ben signs in', async () => {
      const response = await signIn(bens);
      return response.status === 200 ? response : undefined;
    });
    // He was invited as an operator.
    expect(await seen(session)).toBe('200 read');

    // Whoever can write to the store gives himself nothing by it.
    const mallorys = device();
    await people.change('ben', (member) => member && { ...member, roles: ['operate', 'read'] });
    expect(await seen(session)).toBe('200 read');
    await people.change(
      'ben',
      (member) =>
        member && {
          ...member,
          passkeys: member.passkeys.map((each) => ({ ...each, publicKey: mallorys.passkey.publicKey })),
        },
    );
    expect((await signIn(bens)).status).toBe(200);
    const forged = await enrol('ben', mallorys);
    expect([forged.status, await because(forged)]).toEqual([
      403,
      expect.stringContaining('is not in people.yaml'),
    ]);
    expect((await signIn(mallorys)).status).toBe(403);

    // Without him, his session is over as well.
    await push(peopleText(['cleo']));
    await eventually('ben is outside', async () => ((await seen(session)) === '401 ' ? true : undefined));
    expect((await signIn(bens)).status).toBe(403);
  });

  it('tells strangers nothing', async () => {
    const { device, enrol, signIn } = await started();
    const bens = device();
    await enrol('ben', bens);
    const forged: Authenticator = {
      ...bens,
      signIn: (options) => bens.signIn(options, { signature: Buffer.alloc(70) }),
    };
    const response = await signIn(forged);
    expect([response.status, await because(response)]).toEqual([
      403,
      expect.not.stringContaining('people.yaml'),
    ]);
  });
});
