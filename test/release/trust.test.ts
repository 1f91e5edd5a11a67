import { describe, expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { Store } from '../../src/store/store.ts';
import type { Signature } from '../../src/approvals/signers.ts';
import { PEOPLE_FILE } from '../../src/policy/people.ts';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import type { Release } from '../../src/policy/release.ts';
import { pushRelease } from '../../src/release/push.ts';
import {
  type Followed,
  type RevisionStatement,
  peopleHash,
  revisionStatement,
  signedRevision,
} from '../../src/release/signed.ts';
import { type SignerRules, createRevisionTrust, trustedRevision } from '../../src/release/trust.ts';
import { SMALL } from './directory.ts';
import { DEPLOYMENT, keyOf, peopleOf, peopleText, signedBy } from './signing.ts';
import { join } from 'node:path';
import { temporaryFolder } from '../temporary-folder.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 2, 2);
const RULES: SignerRules = {
  deployment: DEPLOYMENT,
  pinned: peopleOf('ada', 'ben', 'cleo'),
  threshold: 2,
  tighten: 2,
  minSerial: 1,
};

/** Policies with a limit and, if people are named, their file. */
function policies(max: number, people?: string): Release {
  const files = [{ name: 'small.yaml', text: SMALL.replace('1000', String(max)) }];
  const all = people === undefined ? files : [...files, { name: PEOPLE_FILE, text: people }];
  const compiled = readPolicyFiles(all, () => undefined);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.release;
}

async function openStore(): Promise<Store> {
  const store = await openEmbeddedStore({ path: join(temporaryFolder(), 'store.db') });
  onTestFinished(() => store.close());
  return store;
}

interface Pushed extends Partial<Omit<RevisionStatement, 'revision'>> {
  readonly release: Release;
  readonly by: readonly string[];
  readonly previous?: Followed | undefined;
  /** Changes the record before it is stored. */
  readonly change?: (
    statement: string,
    signatures: readonly Signature[],
  ) => readonly [string, readonly Signature[]];
}

/** Puts a release in force as somebody would who can write to the store, and has these people's signatures. */
async function put(store: Store, { release, by, change, ...given }: Pushed): Promise<Followed> {
  const { revision } = release;
  const fields = {
    deployment: DEPLOYMENT,
    serial: 1,
    previous: undefined,
    people: peopleHash(release.document),
    expiresAtMs: NOW + 7 * DAY_MS,
    ...given,
    revision,
  };
  const written = revisionStatement(fields);
  const signatures = by.map((name) => signedBy(name, written, fields.deployment));
  const [statement, all] = change?.(written, signatures) ?? [written, signatures];
  const signed = { ...signedRevision({ statement: written, signatures }), serial: fields.serial };
  const text = JSON.stringify({ statement, signatures: all });
  const documents = Object.fromEntries(Object.keys(signed.documents).map((name) => [name, text]));
  const { revision: expected } = await store.control();
  await pushRelease(store, {
    release,
    expected,
    by: 'mallory',
    message: '',
    signed: { ...signed, documents },
  });
  return { serial: fields.serial, revision };
}

const reasonOf = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'it was trusted',
    (thrown: unknown) => {
      expect(thrown).toMatchObject({
        code: expect.stringMatching(/^(?:REVISION_UNTRUSTED|SIGNATURE_REFUSED)$/),
      });
      return String(thrown instanceof Error ? thrown.message : thrown);
    },
  );

describe('a revision is followed only if enough people have signed it', () => {
  it('is, with as many as the settings want', async () => {
    const store = await openStore();
    const { revision } = await put(store, { release: policies(10), by: ['ada', 'ben'] });
    const trusted = await trustedRevision({ store, rules: RULES }, revision);
    expect(trusted).toMatchObject({ serial: 1, revision, needed: 2 });
    expect(trusted.signers.map(({ person }) => person)).toEqual(['ada', 'ben']);
  });

  it('is not, without signatures', async () => {
    const store = await openStore();
    const release = policies(10);
    await pushRelease(store, { release, expected: '', by: 'mallory', message: '' });
    expect(await reasonOf(trustedRevision({ store, rules: RULES }, release.revision))).toContain(
      'nobody has signed it',
    );
  });

  it.each<[string, Partial<Pushed>, string]>([
    ['one of two has signed', { by: ['ada'] }, 'only ada signed it'],
    ['nobody has', { by: [] }, 'nobody who may sign it has signed it'],
    ['one has signed twice', { by: ['ada', 'ada'] }, 'has signed already'],
    [
      'a stranger has signed',
      { by: ['ada', 'mallory'] },
      'is of nobody in signers.file, nor in people.yaml of the revision before',
    ],
    ['it is for another deployment', { deployment: 'acme-prod' }, 'for the deployment acme-prod'],
    ['its serial is 0', { change: (text, all) => [text.replace('serial 1', 'serial 0'), all] }, 'fields'],
    ['its serial is too far above', { serial: 1001 }, 'too far above the last one (at most 1000)'],
    ['its people are others', { people: 'a'.repeat(64) }, 'names another people.yaml'],
    [
      'it names the people of a file that it lacks',
      { people: peopleHash(policies(1, peopleText(['ada'])).document) },
      'names another people.yaml',
    ],
    [
      'the signed text was changed',
      { change: (text, all) => [text.replace('2026', '2027'), all] },
      'nobody who may sign',
    ],
    ['the signed text has a further line', { change: (text, all) => [`${text}serial 9\n`, all] }, 'fields'],
    ['the signed text has trailing bytes', { change: (text, all) => [`${text} `, all] }, 'not a statement'],
    ['the signed text is cut off', { change: (text, all) => [text.trimEnd(), all] }, 'not a statement'],
    [
      'the signed text has other line ends',
      { change: (text, all) => [text.replaceAll('\n', '\r\n'), all] },
      'not a statement',
    ],
    [
      'a signature is for another namespace',
      {
        change: (text, [first]) => [
          text,
          [first ?? signedBy('ada', text), signedBy('ben', text, 'acme-prod')],
        ],
      },
      'only ada signed it',
    ],
    [
      'a signature has trailing text',
      {
        change: (text, all) => [
          text,
          all.map((each) => (each.method === 'ssh' ? { ...each, signature: `${each.signature}x` } : each)),
        ],
      },
      'nobody who may sign',
    ],
  ])('is not, if %s', async (_, given, because) => {
    const store = await openStore();
    const { revision } = await put(store, { release: policies(10), by: ['ada', 'ben'], ...given });
    expect(await reasonOf(trustedRevision({ store, rules: RULES }, revision))).toContain(because);
  });

  it('counts a person once, whatever keys they have, and a key once, whoever has it', async () => {
    const second = keyOf('second key of ada').line;
    const text = peopleText(['ada', 'ben']).replace(
      `'${keyOf('ada').line}'`,
      `'${keyOf('ada').line}', '${second}'`,
    );
    const twice = policies(10, text);
    const rules = { ...RULES, pinned: twice.people };
    const store = await openStore();
    const { revision } = await put(store, { release: twice, by: ['ada', 'second key of ada'] });
    expect(await reasonOf(trustedRevision({ store, rules }, revision))).toContain('with another key');
    // The settings and the revision before have one key under two names.
    const shared = peopleText(['ada']).replace('  ada:', '  alias:');
    const base = policies(10, shared);
    const first = await put(store, { release: base, by: ['ada', 'ben'], serial: 2 });
    const next = policies(20, shared);
    await put(store, { release: next, by: ['ada', 'ada'], serial: 3, previous: first });
    expect(await reasonOf(trustedRevision({ store, rules: RULES }, next.revision))).toContain(
      'has signed already',
    );
  });

  it('does not count who may only read or approve', async () => {
    const store = await openStore();
    const read = policies(10, peopleText(['ada', 'ben'], '[read, approve]'));
    const { revision } = await put(store, { release: read, by: ['ada', 'ben'] });
    const rules = { ...RULES, pinned: read.people };
    expect(await reasonOf(trustedRevision({ store, rules }, revision))).toContain('has not the role operate');
  });

  it('is not, if the store has another document for it', async () => {
    const store = await openStore();
    const { revision } = await put(store, { release: policies(10), by: ['ada', 'ben'] });
    const changed: Pick<Store, 'document'> = {
      document: async (name) => (name === revision ? policies(99).document : store.document(name)),
    };
    expect(await reasonOf(trustedRevision({ store: changed, rules: RULES }, revision))).toContain(
      'another text',
    );
  });
});

describe('who may sign is said by the settings and the revision before', () => {
  it('lets people of the revision before sign', async () => {
    const store = await openStore();
    const first = await put(store, { release: policies(10, peopleText(['dan', 'eve'])), by: ['ada', 'ben'] });
    const next = policies(20, peopleText(['dan', 'eve']));
    await put(store, { release: next, by: ['dan', 'eve'], serial: 2, previous: first });
    expect(await trustedRevision({ store, rules: RULES }, next.revision)).toMatchObject({
      serial: 2,
      needed: 2,
    });
    // One of each, too.
    const third = policies(30, peopleText(['dan', 'eve']));
    await put(store, {
      release: third,
      by: ['ada', 'eve'],
      serial: 3,
      previous: { serial: 2, revision: next.revision },
    });
    expect(await trustedRevision({ store, rules: RULES }, third.revision)).toMatchObject({ serial: 3 });
  });

  it('does not let people sign whom the revision itself names', async () => {
    const store = await openStore();
    const first = await put(store, { release: policies(10), by: ['ada', 'ben'] });
    const own = policies(20, peopleText(['dan', 'eve']));
    await put(store, { release: own, by: ['dan', 'eve'], serial: 2, previous: first });
    expect(await reasonOf(trustedRevision({ store, rules: RULES }, own.revision))).toContain(
      'of nobody in signers.file, nor in people.yaml of the revision before',
    );
  });

  it('does not let people sign whom the revision before has removed, from any revision', async () => {
    const store = await openStore();
    const first = await put(store, { release: policies(10, peopleText(['dan', 'eve'])), by: ['ada', 'ben'] });
    const removed = policies(10, peopleText(['dan']));
    const second = await put(store, { release: removed, by: ['ada', 'ben'], serial: 2, previous: first });
    const third = policies(1000, peopleText(['dan', 'eve']));
    await put(store, { release: third, by: ['dan', 'eve'], serial: 3, previous: second });
    expect(await reasonOf(trustedRevision({ store, rules: RULES }, third.revision))).toContain(
      'only dan signed it',
    );
    // As if the removal had never been: a service that has followed it is not deceived.
    const forked = policies(2000, peopleText(['dan', 'eve']));
    await put(store, { release: forked, by: ['dan', 'eve'], serial: 3, previous: first });
    const parts = { store, rules: RULES, followed: second };
    expect(await reasonOf(trustedRevision(parts, forked.revision))).toContain(
      'made from serial 1, and 2 was in force',
    );
  });

  it('does not trust people of a revision that is not trusted itself', async () => {
    const store = await openStore();
    const forged = await put(store, {
      release: policies(10, peopleText(['mallory', 'oscar'])),
      by: ['mallory', 'oscar'],
    });
    const next = policies(20);
    await put(store, { release: next, by: ['mallory', 'oscar'], serial: 2, previous: forged });
    expect(await reasonOf(trustedRevision({ store, rules: RULES }, next.revision))).toContain('of nobody');
  });

  it('looks back over many revisions, and needs each of them', async () => {
    const store = await openStore();
    const people = peopleText(['dan', 'eve']);
    let previous = await put(store, { release: policies(10, people), by: ['ada', 'ben'] });
    for (let serial = 2; serial < 8; serial++) {
      previous = await put(store, {
        release: policies(serial, people),
        by: ['dan', 'eve'],
        serial,
        previous,
      });
    }
    expect(await trustedRevision({ store, rules: RULES }, previous.revision)).toMatchObject({ serial: 7 });
    const withHole: Pick<Store, 'document'> = {
      document: async (name) => (name === 'serial:4' ? undefined : store.document(name)),
    };
    expect(await reasonOf(trustedRevision({ store: withHole, rules: RULES }, previous.revision))).toContain(
      'of nobody',
    );
    // With a memory, it need not look further.
    const followed = { serial: 5, revision: policies(5, people).revision };
    expect(
      await trustedRevision({ store: withHole, rules: RULES, followed }, previous.revision),
    ).toMatchObject({ serial: 7 });
  });
});

describe('a revision that only tightens', () => {
  const rules = { ...RULES, tighten: 1 };

  it.each([
    ['tightens', policies(5), true],
    ['loosens', policies(20), false],
    ['changes people', policies(5, peopleText(['ada'])), false],
  ])('needs fewer signatures if it %s', async (_, release, isTrusted) => {
    const store = await openStore();
    const first = await put(store, { release: policies(10), by: ['ada', 'ben'] });
    await put(store, { release, by: ['ada'], serial: 2, previous: first });
    const { revision } = release;
    const reason = await reasonOf(trustedRevision({ store, rules, followed: first }, revision));
    expect(reason).toContain(isTrusted ? 'it was trusted' : 'only ada signed it');
    // Who does not remember what was in force can't know.
    expect(await reasonOf(trustedRevision({ store, rules }, revision))).toContain('only ada signed it');
  });

  it('is compared with what was in force, and not with an earlier and looser one that one person names', async () => {
    const store = await openStore();
    const first = await put(store, { release: policies(1000), by: ['ada', 'ben'] });
    const second = await put(store, { release: policies(5), by: ['ada', 'ben'], serial: 2, previous: first });
    const forked = policies(900);
    await put(store, { release: forked, by: ['ada'], serial: 3, previous: first });
    const refused = { store, rules };
    expect(await reasonOf(trustedRevision(refused, forked.revision))).toContain('only ada signed it');
    const remembering = { store, rules, followed: second };
    expect(await reasonOf(trustedRevision(remembering, forked.revision))).toContain('made from serial 1');
  });

  it('needs all of them as the first one, and after one that is not trusted', async () => {
    const store = await openStore();
    const loose = await put(store, { release: policies(1000), by: ['ada'] });
    expect(await reasonOf(trustedRevision({ store, rules }, loose.revision))).toContain('only ada signed it');
    const tighter = await put(store, { release: policies(900), by: ['ada'], serial: 2, previous: loose });
    expect(await reasonOf(trustedRevision({ store, rules }, tighter.revision))).toContain(
      'only ada signed it',
    );
  });
});

describe('a service that follows signed revisions', () => {
  const following = async (memory?: Followed, given: Partial<SignerRules> = {}) => {
    const store = await openStore();
    let nowMs = NOW;
    const written: Followed[] = [];
    const trust = createRevisionTrust({
      store,
      rules: { ...RULES, ...given },
      clock: () => nowMs,
      memory: { read: () => memory, write: (each) => void written.push(each) },
    });
    return { store, trust, written, at: (ms: number) => (nowMs = ms) };
  };

  it('never goes back, and remembers what it followed', async () => {
    const { store, trust, written } = await following();
    const first = await put(store, { release: policies(10), by: ['ada', 'ben'] });
    await trust.follow(first.revision);
    const second = await put(store, { release: policies(5), by: ['ada', 'ben'], serial: 2, previous: first });
    await trust.follow(second.revision);
    await trust.follow(second.revision);
    expect(written).toEqual([first, second]);
    expect(await reasonOf(trust.follow(first.revision))).toContain('its serial is 1, and 2 was in force');
    // A rollback is a new statement about an old revision.
    const back = await put(store, {
      release: policies(10),
      by: ['ben', 'cleo'],
      serial: 3,
      previous: second,
    });
    await trust.follow(back.revision);
    expect(written.at(-1)).toEqual(back);
  });

  it('refuses an older one after a restart, by its memory or by the settings', async () => {
    const remembering = await following({ serial: 7, revision: policies(1).revision });
    const old = await put(remembering.store, { release: policies(10), by: ['ada', 'ben'], serial: 6 });
    expect(await reasonOf(remembering.trust.follow(old.revision))).toContain(
      'its serial is 6, and 7 was in force',
    );
    const another = await put(remembering.store, { release: policies(11), by: ['ada', 'ben'], serial: 7 });
    expect(await reasonOf(remembering.trust.follow(another.revision))).toContain('its serial is 7');
    const configured = await following(undefined, { minSerial: 7 });
    const early = await put(configured.store, { release: policies(10), by: ['ada', 'ben'], serial: 6 });
    expect(await reasonOf(configured.trust.follow(early.revision))).toContain('signers.minSerial is 7');
  });

  it('refuses a statement that expired before it was put in force, but not what has long been in force', async () => {
    const { store, trust, at } = await following();
    at(NOW + 30 * DAY_MS);
    const first = await put(store, { release: policies(10), by: ['ada', 'ben'] });
    await trust.follow(first.revision);
    const second = await put(store, { release: policies(5), by: ['ada', 'ben'], serial: 2, previous: first });
    expect(await reasonOf(trust.follow(second.revision))).toContain('its statement expired at 2026-03-09');
    at(NOW + 7 * DAY_MS - 1);
    await trust.follow(second.revision);
  });

  it('does not follow what it can’t remember', async () => {
    const store = await openStore();
    const memory = {
      read: () => undefined,
      write: () => {
        throw new Error('the disk is full');
      },
    };
    const trust = createRevisionTrust({ store, rules: RULES, clock: () => NOW, memory });
    const { revision } = await put(store, { release: policies(10), by: ['ada', 'ben'] });
    await expect(trust.follow(revision)).rejects.toThrow('the disk is full');
    await expect(trust.follow(revision)).rejects.toThrow('the disk is full');
  });
});
