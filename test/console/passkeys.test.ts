import { expect, it } from 'vitest';
import { createInvitations } from '../../src/console/sign-in/invitations.ts';
import { createPasskeys } from '../../src/console/sign-in/passkeys.ts';
import { type AccessStore, type Member, createPeople } from '../../src/console/sign-in/people.ts';
import { createSessions } from '../../src/console/sign-in/sessions.ts';
import { describeOnBothStores } from '../scenarios/on-both-stores.ts';
import { type Over, createAuthenticator } from './authenticator.ts';

const SITE = { host: 'ops.example', origin: 'https://ops.example' };
const MINUTE_MS = 60_000;
const BOUNDS = { idleMs: 30 * MINUTE_MS, lifeMs: 12 * 60 * MINUTE_MS };
const REFUSED = { code: 'SIGN_IN_REFUSED' };

const withoutCounters = (member: Member): Member => ({
  ...member,
  passkeys: member.passkeys.map((each) => ({ ...each, counter: 0 })),
});

/** A store in which something happens, once, just before the first change of what `of` names. */
function interrupted(store: AccessStore, of: RegExp, happens: () => Promise<unknown>) {
  let before: (() => Promise<unknown>) | undefined = happens;
  const slow: AccessStore = {
    access: (id) => store.access(id),
    async changeAccess(change) {
      const first = of.test(change.id) ? before : undefined;
      if (first !== undefined) before = undefined;
      await first?.();
      return store.changeAccess(change);
    },
  };
  return { slow, hasHappened: () => before === undefined };
}

describeOnBothStores('passkeys', (host) => {
  async function opened() {
    const { store } = await host.start();
    let nowMs = Date.UTC(2026, 2, 2, 10);
    const clock = (): number => nowMs;
    const people = createPeople(store, clock);
    const sessions = createSessions(store, people, BOUNDS, clock);
    const invitations = createInvitations(store, people, clock);
    const passkeys = createPasskeys({ ...SITE, store, people, sessions, invitations, clock });
    const device = createAuthenticator(SITE);
    const invite = (name = 'ada', keepMs = 60 * MINUTE_MS): Promise<string> =>
      invitations.create({ name, roles: ['operate'], keepMs });
    return {
      store,
      clock,
      people,
      sessions,
      invitations,
      passkeys,
      device,
      invite,
      advance: (ms: number) => void (nowMs += ms),
      enrolled: async (name = 'ada', by = device) => {
        const token = await invite(name);
        return passkeys.enrol(token, by.enrol(await passkeys.enrolmentOptions(token)));
      },
      signIn: async (over?: Over) => passkeys.signIn(device.signIn(await passkeys.signInOptions(), over)),
    };
  }

  it('let an invited person in, who signs in again and again', async () => {
    const { enrolled, signIn, sessions } = await opened();
    const first = await enrolled();
    expect(await sessions.personOf(first.token)).toEqual({ name: 'ada', roles: ['operate'] });
    const second = await signIn();
    expect(second.name).toBe('ada');
    // A token that was there before a sign-in is not that of the session after it.
    expect(second.token).not.toBe(first.token);
    expect(await sessions.personOf(second.token)).toMatchObject({ name: 'ada' });
  });

  it.each<[string, Over]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['the origin without TLS', { origin: 'http://ops.example' }],
    ['another port', { origin: 'https://ops.example:8443' }],
    ['another host', { host: 'evil.example' }],
    ['a person whom the device does not know', { userVerified: false }],
    ['a counter that goes back', { counter: 1 }],
    ['the answer to another question', { type: 'webauthn.create' }],
    ['a challenge of its own', { challenge: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }],
    ['a wrong signature', { signature: Buffer.alloc(70) }],
    ['another person’s handle', { userHandle: 'AAAAAAAAAAAAAAAAAAAAAA' }],
    ['no handle', { userHandle: '' }],
    ['another passkey', { id: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }],
  ])('let nobody in with %s', async (_name, over) => {
    const { enrolled, signIn, people } = await opened();
    await enrolled();
    await signIn();
    await expect(signIn(over)).rejects.toMatchObject(REFUSED);
    expect((await people.find('ada'))?.sessions).toHaveLength(2);
    expect(await signIn()).toMatchObject({ name: 'ada' });
  });

  it('let nobody in by an answer that was given before, nor at the same time twice', async () => {
    const { enrolled, passkeys, device } = await opened();
    await enrolled();
    const answer = device.signIn(await passkeys.signInOptions());
    const both = await Promise.allSettled([passkeys.signIn(answer), passkeys.signIn(answer)]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect(passkeys.signIn(answer)).rejects.toMatchObject(REFUSED);
  });

  it.each([
    ['a copy of the passkey, whose counter is behind', 50, 100],
    ['a copy of the passkey with the same counter', 100, 100],
    ['a copy of the passkey without a counter', 0, 100],
  ])('let %s not in while the person signs in', async (_name, behind, ahead) => {
    const { enrolled, store, clock, people, sessions, invitations, passkeys, device, signIn } =
      await opened();
    await enrolled('ada', device);
    const options = await passkeys.signInOptions();
    const copied = device.signIn(options, { counter: behind });
    // Both are verified against the same counter: the person's own is written just before that of the copy.
    const { slow, hasHappened } = interrupted(store, /^person:/, () => signIn({ counter: ahead }));
    const parts = { ...SITE, store: slow, people: createPeople(slow, clock), sessions, invitations, clock };
    // A passkey without a counter has 0 for ever: here it had, until the person's own device began to count.
    if (behind === 0) await people.change('ada', (member) => member && withoutCounters(member));
    await expect(createPasskeys(parts).signIn(copied)).rejects.toMatchObject(REFUSED);
    expect(hasHappened()).toBe(true);
    const ada = await people.find('ada');
    expect(ada?.passkeys).toMatchObject([{ counter: ahead }]);
    expect(ada?.sessions).toHaveLength(2);
  });

  it('of a passkey that was taken from its person meanwhile let nobody in', async () => {
    const { enrolled, store, clock, people, sessions, invitations, passkeys, device } = await opened();
    await enrolled();
    const answer = device.signIn(await passkeys.signInOptions());
    for (const takeAway of [
      () => people.change('ada', (member) => member && { ...member, passkeys: [] }),
      () => people.remove('ada'),
    ]) {
      const { slow } = interrupted(store, /^/, takeAway);
      const parts = { ...SITE, store: slow, people: createPeople(slow, clock), sessions, invitations, clock };
      await expect(createPasskeys(parts).signIn(answer)).rejects.toMatchObject(REFUSED);
    }
  });

  it('let a person in whose passkey has no counter, again and again', async () => {
    const { enrolled, signIn, people } = await opened();
    await enrolled();
    await people.change('ada', (member) => member && withoutCounters(member));
    for (let time = 0; time < 2; time++) expect(await signIn({ counter: 0 })).toMatchObject({ name: 'ada' });
  });

  it('let nobody in by an answer that comes too late', async () => {
    const { enrolled, passkeys, device, advance } = await opened();
    await enrolled();
    const options = await passkeys.signInOptions();
    advance(5 * MINUTE_MS);
    await expect(passkeys.signIn(device.signIn(options))).rejects.toMatchObject(REFUSED);
  });

  it('take no challenge of an enrolment for a sign-in, nor the reverse', async () => {
    const { enrolled, invite, passkeys, device } = await opened();
    await enrolled();
    const token = await invite('eve');
    const { challenge } = await passkeys.enrolmentOptions(token);
    await expect(passkeys.signIn(device.signIn({ challenge }))).rejects.toMatchObject(REFUSED);
    const other = await passkeys.signInOptions();
    const user = { id: 'AAAA' };
    await expect(passkeys.enrol(token, device.enrol({ ...other, user }))).rejects.toMatchObject(REFUSED);
  });

  it.each<[string, Over]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['another host', { host: 'evil.example' }],
    ['a person whom the device does not know', { userVerified: false }],
    ['the answer to another question', { type: 'webauthn.get' }],
  ])('enrol nobody with %s, and the invitation stays', async (_name, over) => {
    const { invite, passkeys, device, people } = await opened();
    const token = await invite();
    const answer = device.enrol(await passkeys.enrolmentOptions(token), over);
    await expect(passkeys.enrol(token, answer)).rejects.toMatchObject(REFUSED);
    expect(await people.find('ada')).toBeUndefined();
    const again = device.enrol(await passkeys.enrolmentOptions(token));
    expect(await passkeys.enrol(token, again)).toMatchObject({ name: 'ada' });
  });

  it('enrol one of two who come with one invitation', async () => {
    const { invite, passkeys, people } = await opened();
    const token = await invite();
    const answers = await Promise.all(
      [1, 2].map(async () => createAuthenticator(SITE).enrol(await passkeys.enrolmentOptions(token))),
    );
    const both = await Promise.allSettled(answers.map((answer) => passkeys.enrol(token, answer)));
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await people.find('ada'))?.passkeys).toHaveLength(1);
    await expect(passkeys.enrolmentOptions(token)).rejects.toMatchObject(REFUSED);
  });

  it('enrol nobody without an invitation, or after its time', async () => {
    const { invite, passkeys, device, advance } = await opened();
    await expect(passkeys.enrolmentOptions('none')).rejects.toMatchObject(REFUSED);
    const token = await invite('ada', 60 * MINUTE_MS);
    const answer = device.enrol(await passkeys.enrolmentOptions(token));
    advance(60 * MINUTE_MS);
    expect(await passkeys.invitation(token)).toBeUndefined();
    await expect(passkeys.enrol(token, answer)).rejects.toMatchObject(REFUSED);
  });

  it('of a challenge for one invitation enrol nobody with another', async () => {
    const { invite, passkeys, device, people } = await opened();
    const [first, second] = [await invite('ada'), await invite('eve')];
    const answer = device.enrol(await passkeys.enrolmentOptions(first));
    await expect(passkeys.enrol(second, answer)).rejects.toMatchObject(REFUSED);
    expect(await people.all()).toEqual([]);
  });

  it('a person who is invited again gets a further passkey, and other roles only if they are said', async () => {
    const { enrolled, invitations, passkeys, people } = await opened();
    await enrolled();
    for (const [roles, expected] of [
      [[], ['operate']],
      [['read'], ['read']],
    ] as const) {
      const token = await invitations.create({ name: 'ada', roles, keepMs: MINUTE_MS });
      const answer = createAuthenticator(SITE).enrol(await passkeys.enrolmentOptions(token));
      await passkeys.enrol(token, answer);
      expect((await people.find('ada'))?.roles).toEqual(expected);
    }
    expect((await people.find('ada'))?.passkeys).toHaveLength(3);
  });

  it('of a person who was removed let nobody in, also after another invitation', async () => {
    const { enrolled, signIn, people, sessions } = await opened();
    const { token } = await enrolled();
    await people.remove('ada');
    expect(await sessions.personOf(token)).toBeUndefined();
    await expect(signIn()).rejects.toMatchObject(REFUSED);
    await enrolled('ada', createAuthenticator(SITE));
    expect(await sessions.personOf(token)).toBeUndefined();
    await expect(signIn()).rejects.toMatchObject(REFUSED);
  });

  it.each(['invited', 'enrolled', 'invited and removed before'])(
    'an invitation from before the removal of somebody who was %s lets nobody in, then or later',
    async (state) => {
      const { enrolled, invite, people, passkeys, device } = await opened();
      if (state !== 'invited') await enrolled();
      if (state === 'invited and removed before') await people.remove('ada');
      const [token, other] = [await invite(), await invite('eve')];
      const answer = device.enrol(await passkeys.enrolmentOptions(token));
      await people.remove('ada');
      const refusesIt = async (): Promise<void> => {
        expect(await passkeys.invitation(token)).toBeUndefined();
        await expect(passkeys.enrolmentOptions(token)).rejects.toMatchObject(REFUSED);
        await expect(passkeys.enrol(token, answer)).rejects.toMatchObject(REFUSED);
      };
      await refusesIt();
      expect(await people.find('ada')).toBeUndefined();
      expect(await people.all()).toEqual([]);
      // Invitations of others, and later ones, are as good as before.
      expect(await passkeys.invitation(other)).toMatchObject({ name: 'eve' });
      expect(await enrolled('ada', createAuthenticator(SITE))).toMatchObject({ name: 'ada' });
      await refusesIt();
      expect((await people.find('ada'))?.passkeys).toHaveLength(1);
      expect(await people.all()).toMatchObject([{ name: 'ada' }]);
    },
  );

  it('a removal is remembered for longer than any invitation lives, and works again after that', async () => {
    const { invite, invitations, people, advance } = await opened();
    const day = 24 * 60 * MINUTE_MS;
    await people.remove('ada');
    const token = await invite('ada', 30 * day);
    advance(29 * day);
    expect(await invitations.find(token)).toMatchObject({ name: 'ada' });
    await people.remove('ada');
    expect(await invitations.find(token)).toBeUndefined();
    await expect(invite('ada', 30 * day + 1)).rejects.toMatchObject({ code: 'USAGE' });
  });

  it.each(['before the invitation is used up', 'while the passkey is written'])(
    'a removal %s lets nobody in',
    async (when) => {
      const { store, clock, people, sessions, invite, device } = await opened();
      const change = when.startsWith('before') ? /^invitation:/ : /^person:/;
      // The invitation is made, and the passkey asked for, by the store itself.
      const { slow, hasHappened } = interrupted(store, change, () => people.remove('ada'));
      const racing = createPeople(slow, clock);
      const invitations = createInvitations(slow, racing, clock);
      const parts = { ...SITE, store: slow, people: racing, sessions, invitations, clock };
      const passkeys = createPasskeys(parts);
      const token = await invite();
      const answer = device.enrol(await passkeys.enrolmentOptions(token));
      await expect(passkeys.enrol(token, answer)).rejects.toMatchObject(REFUSED);
      expect(hasHappened()).toBe(true);
      expect(await people.find('ada')).toBeUndefined();
    },
  );

  it('an invitation for a further passkey makes nobody who was removed a person without roles', async () => {
    const { enrolled, people, invitations, passkeys } = await opened();
    await enrolled();
    await people.remove('ada');
    // As it is made by a command that still saw ada.
    const token = await invitations.create({ name: 'ada', roles: [], keepMs: MINUTE_MS });
    const device = createAuthenticator(SITE);
    const answer = device.enrol(await passkeys.enrolmentOptions(token));
    await expect(passkeys.enrol(token, answer)).rejects.toMatchObject(REFUSED);
    expect(await people.find('ada')).toBeUndefined();
  });

  it('a session ends by time, by sign-out and by command', async () => {
    const { enrolled, signIn, sessions, advance } = await opened();
    const idle = await enrolled();
    advance(BOUNDS.idleMs - 1);
    expect(await sessions.personOf(idle.token)).toBeDefined();
    advance(BOUNDS.idleMs);
    expect(await sessions.personOf(idle.token)).toBeUndefined();
    const long = await signIn();
    for (let hour = 0; hour < 47; hour++) {
      advance(15 * MINUTE_MS);
      expect(await sessions.personOf(long.token)).toBeDefined();
    }
    advance(15 * MINUTE_MS);
    expect(await sessions.personOf(long.token)).toBeUndefined();
    const [one, two] = [await signIn(), await signIn()];
    await sessions.end(one.token);
    expect(await sessions.personOf(one.token)).toBeUndefined();
    expect(await sessions.personOf(two.token)).toBeDefined();
    expect(await sessions.endAll('ada')).toBeGreaterThan(0);
    expect(await sessions.personOf(two.token)).toBeUndefined();
  });

  it('a person has at most ten sessions, and no text that was chosen before is one', async () => {
    const { enrolled, signIn, sessions } = await opened();
    const first = await enrolled();
    for (let time = 0; time < 10; time++) await signIn();
    expect(await sessions.personOf(first.token)).toBeUndefined();
    for (const token of ['', 'x', '../person', 'A'.repeat(43)])
      expect(await sessions.personOf(token)).toBeUndefined();
  });

  it.each([
    undefined,
    null,
    'x',
    [],
    {},
    { id: 'x' },
    { id: 'x', rawId: 'x', type: 'public-key', response: {} },
  ])('an answer that can’t be read is refused: %j', async (answer) => {
    const { passkeys, invite } = await opened();
    await expect(passkeys.signIn(answer)).rejects.toMatchObject(REFUSED);
    await expect(passkeys.enrol(await invite(), answer)).rejects.toMatchObject(REFUSED);
  });

  it.each(['', ' ada', 'ada ', 'a\nb', 'a\u202eb', 'a\u0000', 'x'.repeat(129)])(
    'nobody is invited with the name %j',
    async (name) => {
      const { invite } = await opened();
      await expect(invite(name)).rejects.toMatchObject({ code: 'USAGE' });
    },
  );
});
