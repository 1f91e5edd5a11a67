import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { signature } from '../../src/approvals/signers.ts';
import { createRequests } from '../../src/approvals/requests.ts';
import { pushRelease } from '../../src/release/push.ts';
import { readPolicyDirectory } from '../../src/release/files.ts';
import { type Place, placeIn, prints, reports } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { DEPLOYMENT, keyFileOf, keyOf, peopleText, signedBy } from '../release/signing.ts';
import { POLICIES, type TestService, type TestServiceOptions } from '../service.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const PEOPLE = peopleText(['ada', 'ben', 'cleo']);
const limited = (max: number): string => POLICIES['payments.yaml'].replace('max: 1000 ', `max: ${max} `);

interface Started {
  readonly options: TestServiceOptions;
  readonly place: Place;
  readonly write: Place['write'];
}

describeOnBothStores('people sign what takes effect', (host) => {
  /** A service that follows what two of three people have signed. */
  const start = async (settings: object = {}): Promise<TestService & Started> => {
    const folder = temporaryFolder();
    const file = join(folder, 'signers.yaml');
    writeFileSync(file, PEOPLE);
    const signers = { file, threshold: '2', state: join(folder, 'followed.json'), ...settings };
    const options = {
      settings: { deployment: DEPLOYMENT, signers },
      policies: { ...POLICIES, 'people.yaml': PEOPLE },
    };
    const service = await host.start(options);
    const { runWith, ...rest } = placeIn(service.folder);
    const place = { ...rest, runWith, run: runWith({ clock: Date.now }) };
    return { ...service, options, place, write: place.write };
  };
  const readiness = async ({ ops }: TestService): Promise<string> =>
    JSON.stringify(await (await fetch(`${ops}/readyz`)).json());
  const followed = (service: TestService, revision: string): Promise<true> =>
    eventually(`${revision} is followed`, async () =>
      (await readiness(service)).includes(`revision ${revision} is in force`) ? true : undefined,
    );
  const pushed = z.object({ revision: z.string(), request: z.string() });
  const signWith = (name: string): readonly string[] => ['--key', keyFileOf(name), '--by', name];

  /** Pushes as one person and signs as another. Returns the revision. */
  const pushSigned = async (
    { place }: { place: Place },
    [one, other]: readonly [string, string],
    ...options: readonly string[]
  ): Promise<string> => {
    const given = [...options, ...signWith(one)];
    const push = await place.run('policy', 'push', '--message', 'as agreed', '--json', ...given);
    expect({ code: push.code, err: push.err }).toEqual({ code: 1, err: '' });
    const { request, revision } = pushed.parse(push.json());
    expect(await place.run('policy', 'sign', request, ...signWith(other))).toMatchObject(
      prints(0, 'In force: '),
    );
    return revision;
  };

  it('takes two signatures to put policies in force, and to roll them back', async () => {
    const service = await start();
    const { place } = service;
    expect(await service.pay({})).toBe('FAILURE');
    expect(await place.run('policy', 'push', '--message', 'first')).toMatchObject(
      reports(2, 'give your SSH key with --key'),
    );

    const push = await place.run('policy', 'push', '--message', 'first', ...signWith('ada'));
    expect(push).toMatchObject(prints(1, 'signed by ada. 1 further signature needed'));
    expect(push.err).toContain(`You sign:\n\ncountersign-revision/1\ndeployment ${DEPLOYMENT}\nserial 1\n`);
    const [, request = ''] = /is request (r\w+)/.exec(push.out) ?? [];
    expect(await service.pay({ appOrderId: '1' })).toBe('FAILURE');
    expect(await place.run`approvals list`).toMatchObject(prints(0, request));

    // Her own signature does not count twice, and a stranger's not at all.
    expect(await place.run('policy', 'sign', request, ...signWith('ada'))).toMatchObject(
      reports(1, 'has signed already'),
    );
    expect(await place.run('policy', 'sign', request, ...signWith('mallory'))).toMatchObject(
      reports(1, 'is of nobody in signers.file'),
    );
    expect((await service.store.control()).revision).toBe('');

    const shown = await place.run`policy sign ${request} --show`;
    expect(shown).toMatchObject(prints(0, '+ policy payments'));
    const signed = await place.run('policy', 'sign', request, ...signWith('ben'));
    expect(signed).toMatchObject(prints(0, 'signed by ada, ben'));
    await eventually('it approves', async () =>
      (await service.pay({ appOrderId: '2' })) === 'SUCCESS' ? true : undefined,
    );
    expect(await place.run('policy', 'sign', request, ...signWith('cleo'))).toMatchObject(
      reports(1, 'is done, by ben'),
    );
    expect(await place.run`approvals list`).toMatchObject(prints(0, 'Nothing waits'));

    const first = (await service.store.control()).revision;
    service.write('policies/payments.yaml', limited(2000));
    const second = await pushSigned(service, ['ben', 'cleo']);
    await followed(service, second.slice(0, 12));
    const back = await place.run(
      'policy',
      'rollback',
      'previous',
      '--message',
      'back',
      '--json',
      ...signWith('cleo'),
    );
    expect(back.code).toBe(1);
    expect((await service.store.control()).revision).toBe(second);
    expect(
      await place.run('policy', 'sign', pushed.parse(back.json()).request, ...signWith('ada')),
    ).toMatchObject(prints(0, 'signed by cleo, ada'));
    expect((await service.store.control()).revision).toBe(first);
    await followed(service, first.slice(0, 12));
    expect(await service.pay({ appOrderId: '3' })).toBe('SUCCESS');
    const history = await place.run`policy history`;
    expect(history.out).toMatch(/^\* +\d+ .* back +3: cleo, ada\n.*2: ben, cleo\n.*1: ada, ben\n$/s);
  });

  it('does not follow what was put in force in another way, and says so', async () => {
    const service = await start();
    const { place } = service;
    const first = await pushSigned(service, ['ada', 'ben']);
    await followed(service, first.slice(0, 12));
    service.write('policies/payments.yaml', limited(1_000_000));
    const release = await readPolicyDirectory(join(service.folder, 'policies'));
    await pushRelease(service.store, { release, expected: first, by: 'mallory', message: 'a looser one' });
    await eventually('it says why', async () =>
      (await readiness(service)).includes('nobody has signed it') ? true : undefined,
    );
    expect(await service.pay({ orderAmount: '5000' })).toBe('FAILURE');
    expect(await service.pay({ appOrderId: '2' })).toBe('FAILURE');
    expect(service.log).toContainEqual(
      expect.objectContaining({
        event: 'policies-not-followed',
        because: expect.stringContaining('nobody has signed it'),
      }),
    );
    expect(await place.run`policy verify`).toMatchObject(reports(1, 'nobody has signed it'));
    // Two people put things right, with what was in force or with something new.
    service.write('policies/payments.yaml', limited(900_000));
    const over = ['--expect', release.revision.slice(0, 12)];
    const asked = await place.run('policy', 'push', '--message', 'x', '--json', ...over, ...signWith('ada'));
    const shown = await place.run`policy sign ${pushed.parse(asked.json()).request} --show`;
    expect(shown).toMatchObject(
      prints(0, `put in force. The difference is to the last one that they have, ${first.slice(0, 12)}.`),
    );
    expect(shown.out).toContain('May loosen payments');
    service.write('policies/payments.yaml', limited(900));
    const newer = await pushSigned(service, ['ada', 'cleo'], ...over);
    await followed(service, newer.slice(0, 12));
    const illegible = { serial: 9, documents: { [`${release.revision}:signed`]: 'x', 'serial:9': 'x' } };
    const again = { release, expected: newer, by: 'mallory', message: 'again', signed: illegible };
    await pushRelease(service.store, again);
    service.write('policies/payments.yaml', limited(1000));
    const back = await place.run(
      'policy',
      'rollback',
      first,
      '--message',
      'undo',
      '--json',
      ...signWith('ada'),
    );
    await place.run('policy', 'sign', pushed.parse(back.json()).request, ...signWith('ben'));
    await eventually('it approves', async () =>
      (await service.pay({ appOrderId: '3' })) === 'SUCCESS' ? true : undefined,
    );
  });

  it('does not call a change harmless that it can not compare', async () => {
    const service = await start();
    const { place } = service;
    const push = await place.run('policy', 'push', '--message', 'x', '--json', ...signWith('ada'));
    const requests = createRequests(service.store, Date.now);
    const { kind, statement, signatures, content, expiresAtMs } = await requests.find(
      pushed.parse(push.json()).request,
    );
    const { id } = await requests.create({
      kind,
      statement,
      signatures,
      expiresAtMs,
      by: 'mallory',
      message: 'x',
      content: JSON.stringify({
        ...z.object({ document: z.string() }).parse(JSON.parse(content)),
        expected: 'f'.repeat(64),
      }),
    });
    const shown = await place.run`policy sign ${id} --show`;
    expect(shown).toMatchObject(prints(0, 'It is not known what gets looser: read the policies'));
    expect(shown.out).toContain('! Not enough people have signed ffffffffffff');
    expect(shown.out).not.toContain('Nothing gets looser');
  });

  it('is not undone by a push from settings without signers', async () => {
    const service = await start();
    await pushSigned(service, ['ada', 'ben']);
    const another = await host.start({ ...service.options, settings: {} }, service);
    const { run, write } = placeIn(another.folder);
    write('policies/payments.yaml', limited(10));
    expect(await run`policy push --message ${'x'}`).toMatchObject(
      reports(2, 'these settings have no signers'),
    );
    expect(await run`policy rollback previous --message ${'x'}`).toMatchObject({ code: 2 });
    expect(await run`policy push --message ${'x'} --unsigned`).toMatchObject(prints(0, 'In force'));
  });

  it('puts in force what has enough signatures, if the last signer could not', async () => {
    const service = await start();
    const { place } = service;
    const push = await place.run('policy', 'push', '--message', 'x', '--json', ...signWith('ada'));
    const { request } = pushed.parse(push.json());
    const requests = createRequests(service.store, Date.now);
    await requests.change(request, ({ statement, signatures }) => ({
      signatures: [...signatures, signedBy('ben', statement)],
    }));
    expect(await place.run`policy sign ${request}`).toMatchObject(prints(0, 'signed by ada, ben'));
    expect(await place.run`policy sign ${request}`).toMatchObject({ code: 1 });
  });

  it('can be checked with ssh-keygen alone', async () => {
    const service = await start();
    const { place } = service;
    await pushSigned(service, ['ada', 'ben']);
    const out = join(temporaryFolder(), 'signed');
    const verified = await place.run`policy verify --out ${out}`;
    expect(verified).toMatchObject(prints(0, 'and 2 people signed it (needed: 2)'));
    const commands = verified.out.split('\n').filter((line) => line.startsWith('ssh-keygen'));
    expect(commands).toHaveLength(2);
    for (const command of commands) {
      expect(spawnSync('sh', ['-c', command], { encoding: 'utf8' })).toMatchObject({
        status: 0,
        stdout: expect.stringContaining(`Good "countersign@${DEPLOYMENT}" signature`),
      });
    }
    writeFileSync(
      join(out, 'statement'),
      readFileSync(join(out, 'statement'), 'utf8').replace('serial 1', 'serial 2'),
    );
    for (const command of commands) expect(spawnSync('sh', ['-c', command]).status).not.toBe(0);
  });

  it('has what people signed in what an auditor gets', async () => {
    const service = await start();
    await pushSigned(service, ['ada', 'ben']);
    const bundle = join(temporaryFolder(), 'audit');
    const [from, to] = [-3_600_000, 0].map((byMs) => new Date(Date.now() + byMs).toISOString());
    const ran = await service.place.run(
      'audit',
      'export',
      '--from',
      from ?? '',
      '--to',
      to ?? '',
      '--out',
      bundle,
    );
    expect(ran).toMatchObject({ code: 0 });
    const row = z.object({
      serial: z.literal(1),
      statement: z.string(),
      signatures: z.array(signature).length(2),
    });
    const last = readFileSync(join(bundle, 'revisions.jsonl'), 'utf8').trim().split('\n').at(-1) ?? '';
    const { statement, signatures } = row.parse(JSON.parse(last));
    for (const [at, name] of ['ada', 'ben'].entries()) {
      const [file, allowed] = [join(bundle, `${name}.sig`), join(bundle, 'allowed')];
      const given = signatures[at];
      writeFileSync(file, given?.method === 'ssh' ? given.signature : '');
      writeFileSync(allowed, `${name} ${keyOf(name).line}\n`);
      const words = [
        '-Y',
        'verify',
        '-f',
        allowed,
        '-I',
        name,
        '-n',
        `countersign@${DEPLOYMENT}`,
        '-s',
        file,
      ];
      expect(spawnSync('ssh-keygen', words, { input: statement }).status).toBe(0);
      expect(spawnSync('ssh-keygen', words, { input: `${statement} ` }).status).not.toBe(0);
    }
  });

  it('remembers how far it was, also if the store goes back', async () => {
    const service = await start();
    const first = await pushSigned(service, ['ada', 'ben']);
    service.write('policies/payments.yaml', limited(10));
    const second = await pushSigned(service, ['ada', 'cleo']);
    await followed(service, second.slice(0, 12));
    await service.stop({ keep: true });
    // As somebody would who can write to the store.
    const again = await host.start(service.options, service);
    await followed(again, second.slice(0, 12));
    const release = { revision: first, document: (await again.store.document(first)) ?? '' };
    await pushRelease(again.store, { release, expected: second, by: 'mallory', message: 'back' });
    await eventually('it says why', async () =>
      (await readiness(again)).includes('its serial is 1, and 2 was in force') ? true : undefined,
    );
    expect(await again.pay({ orderAmount: '500' })).toBe('FAILURE');
  });

  it('lets one person tighten, if the settings say so', async () => {
    const service = await start({ tighten: '1' });
    const { place } = service;
    await pushSigned(service, ['ada', 'ben']);
    service.write('policies/payments.yaml', limited(10));
    const tightened = await place.run('policy', 'push', '--message', 'less', ...signWith('cleo'));
    expect(tightened).toMatchObject(prints(0, 'signed by cleo'));
    await eventually('it is in force', async () =>
      (await service.pay({ orderAmount: '11', appOrderId: `${Math.random()}` })) === 'FAILURE'
        ? true
        : undefined,
    );
    service.write('policies/payments.yaml', limited(11));
    expect(await place.run('policy', 'push', '--message', 'more', ...signWith('cleo'))).toMatchObject(
      prints(1, '1 further signature needed'),
    );
  });

  it('ends a request that was overtaken or rejected', async () => {
    const service = await start();
    const { place } = service;
    const requests: string[] = [];
    for (const max of [10, 20, 30]) {
      service.write('policies/payments.yaml', limited(max));
      const push = await place.run('policy', 'push', '--message', 'x', '--json', ...signWith('ada'));
      requests.push(pushed.parse(push.json()).request);
    }
    const [first = '', second = '', third = ''] = requests;
    expect(await place.run`approvals reject ${third} --message ${'too much'}`).toMatchObject(
      prints(0, 'Rejected'),
    );
    expect(await place.run('policy', 'sign', third, ...signWith('ben'))).toMatchObject(
      reports(1, 'is rejected, by ada: too much'),
    );
    expect(await place.run('policy', 'sign', second, ...signWith('ben'))).toMatchObject(
      prints(0, 'In force'),
    );
    expect(await place.run('policy', 'sign', first, ...signWith('ben'))).toMatchObject(
      reports(1, 'another revision was put in force meanwhile'),
    );
    expect(await place.run`approvals list`).toMatchObject(prints(0, 'Nothing waits'));
  });
});
