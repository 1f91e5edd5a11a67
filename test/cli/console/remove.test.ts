import { expect, it } from 'vitest';
import { createInvitations } from '../../../src/console/sign-in/invitations.ts';
import { createPeople, newMember } from '../../../src/console/sign-in/people.ts';
import { systemClock } from '../../../src/values/clock.ts';
import { describeOnBothStores } from '../../scenarios/on-both-stores.ts';
import { placeIn } from '../terminal.ts';

const settings = { console: { passkeys: { host: 'localhost', origin: 'http://localhost:9090' } } };

describeOnBothStores('console remove', (host) => {
  async function opened() {
    const service = await host.start({ settings });
    const people = createPeople(service.store, systemClock);
    const invitations = createInvitations(service.store, people, systemClock);
    const run = placeIn(service.folder).runWith({ clock: systemClock });
    const invited = async (name: string, ...options: readonly string[]): Promise<string> => {
      const { code, out } = await run`console invite ${name} ${options}`;
      expect(code).toBe(0);
      return /\/console\/invite\/(\S+)/.exec(out)?.[1] ?? '';
    };
    return { run, people, invitations, invited };
  }

  it('ends the invitations of somebody who was only invited', async () => {
    const { run, invitations, invited } = await opened();
    const tokens = [
      await invited('eve', '--role', 'operate', '--expires', '30d'),
      await invited('eve', '--role', 'read', '--expires', '1h'),
    ];
    const other = await invited('ada', '--role', 'read');
    expect(await run`console remove eve`).toMatchObject({
      code: 0,
      out: 'Ended the invitations of eve, who had no passkey.\n',
    });
    for (const token of tokens) expect(await invitations.find(token)).toBeUndefined();
    expect(await invitations.find(other)).toMatchObject({ name: 'ada' });
    const again = await run`console remove eve`;
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('nor an open invitation')]);
    const later = await invited('eve', '--role', 'read');
    expect(await invitations.find(later)).toMatchObject({ name: 'eve', roles: ['read'] });
    expect((await run`console remove eve --json`).json()).toMatchObject({ name: 'eve' });
  });

  it('ends the invitation for a further passkey of somebody whom it removes', async () => {
    const { run, people, invitations, invited } = await opened();
    await people.change('ada', () => newMember('ada', ['operate']));
    const token = await invited('ada');
    expect(await run`console remove ada`).toMatchObject({
      code: 0,
      out: 'Removed ada. Invitations from before no longer work.\n',
    });
    expect(await invitations.find(token)).toBeUndefined();
    expect(await people.find('ada')).toBeUndefined();
    // Without roles, there is nobody to give a further passkey to.
    expect(await run`console invite ada`).toMatchObject({ code: 2 });
  });

  it('tells of a name that nobody has', async () => {
    const { run } = await opened();
    for (const command of ['remove', 'sign-out']) {
      const { code, err } = await run`console ${command} nobody`;
      expect([code, err]).toEqual([1, expect.stringContaining('nobody has n')]);
    }
  });
});
