import { expect, it } from 'vitest';
import { createPeople, newMember } from '../../../src/console/sign-in/people.ts';
import { readPeople } from '../../../src/policy/compile.ts';
import { systemClock } from '../../../src/values/clock.ts';
import { createAuthenticator } from '../../console/authenticator.ts';
import { describeOnBothStores } from '../../scenarios/on-both-stores.ts';
import { placeIn, reports } from '../terminal.ts';

const { passkey } = createAuthenticator({ host: 'localhost', origin: 'http://localhost:9090' });
const made = { ...passkey, counter: 3, transports: ['internal'], createdAtMs: 1 };

describeOnBothStores('console people --yaml', (host) => {
  it('prints lines that people.yaml takes as they are', async () => {
    const service = await host.start();
    const people = createPeople(service.store, systemClock);
    const { run } = placeIn(service.folder);
    for (const name of ['ada', 'Ada Lovelace', '0123', 'true']) {
      await people.change(name, () => ({ ...newMember(name, ['operate']), passkeys: [made] }));
    }
    for (const name of ['ada', '0123', 'true']) {
      const { code, out } = await run`console people --yaml ${name}`;
      expect(code).toBe(0);
      const read = readPeople(`people:\n${out}`);
      expect(read.ok && [...read.people.people.values()]).toEqual([
        { name, roles: ['operate'], sshKeys: [], passkeys: [passkey] },
      ]);
    }
    expect((await run`console people --yaml ada --json`).json()).toEqual({
      name: 'ada',
      roles: ['operate'],
      passkeys: [passkey],
    });
    expect(await run`console people --yaml ben`).toMatchObject(reports(1, 'ben has no passkey'));
    expect(await run`console people --yaml ${'Ada Lovelace'}`).toMatchObject(
      reports(2, "Ada Lovelace can't be a name in people.yaml"),
    );
  });
});
