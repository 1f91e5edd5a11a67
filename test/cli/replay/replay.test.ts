import { type Server, createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { type TestService, TO, startTestService, transfer, web3 } from '../../service.ts';
import { type Staging, type StagingOptions, startStaging } from '../../staging.ts';
import { placeIn, prints, type Ran, reports } from '../terminal.ts';

let recorded: TestService;
let file: string;

const report = z.looseObject({
  callbacks: z.number(),
  same: z.number(),
  toFailure: z.number(),
  toSuccess: z.number(),
  failed: z.number(),
  notSent: z.number(),
  differing: z.array(z.looseObject({ line: z.number(), subject: z.string(), answered: z.string() })),
  failures: z.array(z.looseObject({ because: z.string() })),
});

/** All kinds of callbacks and schemes, approved, refused, repeated and with other terms. */
beforeAll(async () => {
  recorded = await startTestService();
  const pay: TestService['pay'] = (payment, scheme) => recorded.pay(payment, scheme);
  const withdraw = (members: object) => recorded.cosign('/cosigner/withdraw', transfer(members));
  await pay({ appOrderId: 'a', orderAmount: '100.50' }, 'md5');
  await pay({ appOrderId: 'b', orderAmount: '1000' }, 'rsa');
  await pay({ appOrderId: 'c', orderAmount: '1000.000000000000000000000000000000000001' }, 'rsa-envelope');
  await pay({ appOrderId: 'd', orderAmount: '7' }, 'rsa-envelope');
  await pay({ appOrderId: 'a', orderAmount: '100.50' }, 'rsa');
  await pay({ appOrderId: 'a', orderAmount: '100.51' });
  await withdraw({ request_id: 'w', type: 'sign_prepare' });
  await withdraw({ request_id: 'w' });
  await withdraw({ request_id: 'w', type: 'sign_success', txid: '0xaa' });
  await withdraw({ request_id: 'v', type: 'sign_success', txid: '0xbb' });
  await withdraw({ request_id: 'x', amount: '-5' });
  await withdraw({ request_id: 'y', amount: 10.5, extra: [1, { deep: null }] });
  await withdraw({
    request_id: 'o',
    amount: '3',
    outputs: JSON.stringify([
      { address_to: TO, amount: '1' },
      { address_to: TO.toUpperCase().replace('0X', '0x'), amount: '2' },
    ]),
  });
  await recorded.cosign('/cosigner/web3', web3());
  await recorded.cosign('/cosigner/web3', web3({ request_id: 'c-2', amount: -1 }));
  const who = { by: 'ada', message: '' };
  await recorded.store.changeList({ source: 'shop', list: 'blocked', add: ['7'], remove: [], ...who });
  file = join(recorded.folder, 'record.jsonl');
  await placeIn(recorded.folder).run`decisions export --to ${file}`;
});

afterAll(() => recorded.stop());

const SENT = 14;

async function staging(options: StagingOptions = {}): Promise<Staging> {
  const started = await startStaging(options);
  onTestFinished(() => started.service.stop());
  return started;
}

const replayTo = ({ service, key }: Staging, ...args: readonly string[]): Promise<Ran> =>
  placeIn(service.folder).run`replay ${file} --to ${service.url} --key ${key} ${args}`;

describe('replay', () => {
  it('sends all callbacks to an instance with other keys, and finds the same answers', async () => {
    const there = await staging();
    const { code, out } = await replayTo(there);
    expect({ code, out }).toMatchObject({ code: 0 });
    expect(out).toContain(`${SENT} callbacks of ${file} sent to ${there.service.url}`);
    expect(out).toMatch(/^ {2}same +14\n {2}differ +0 +SUCCESS -> FAILURE 0/m);
    expect(out).toContain(
      'Left out: 1 callback without a decision, 1 change of lists, orders, prices, freezes, releases or the clock.',
    );
    expect(out).toMatch(/^Answers took [\d.]+ ms \(p50\), [\d.]+ ms \(p99\)\.$/m);
    const log = there.service.log.filter(({ event }) => event === 'unauthenticated');
    expect(log).toEqual([]);
  });

  it('--rate bounds how fast it sends', async () => {
    const there = await staging();
    const { code, json } = await replayTo(there, '--rate', '100/s', '--speed', '1000x', '--json');
    expect(code).toBe(0);
    expect(z.object({ tookMs: z.number() }).parse(json()).tookMs).toBeGreaterThan((SENT - 1) * 10 - 5);
  });

  it('keeps scheme, members and bodies exactly as they were', async () => {
    const there = await staging();
    await replayTo(there, '--concurrency', '1');
    const [before, after] = await Promise.all([entriesOf(recorded), entriesOf(there.service)]);
    expect(after).toEqual(before);
  });

  it('tells which answers differ, by line: 1', async () => {
    const tightened = await staging({
      policies: {
        'payments.yaml':
          'policy: payments\ncallback: payment\nrules:\n  - amount-limit: { max: 100.499999999999999999999999999999999999 }\n',
        'web3.yaml': 'policy: web3\ncallback: web3\nrules:\n  - amount-limit: { max: 0 }\n',
      },
    });
    const { code, out } = await replayTo(tightened);
    expect(code).toBe(1);
    expect(out).toMatch(/^ {2}differ +\d+ +SUCCESS -> FAILURE \d+, FAILURE -> SUCCESS 0$/m);
    const line = lineOf('payment:b');
    expect(out).toMatch(
      new RegExp(
        `^ {2}line ${line} +shop/\\d+ +\\S+Z +payment:b +recorded SUCCESS \\(APPROVED\\) +answered FAILURE$`,
        'm',
      ),
    );
    expect(out).not.toMatch(/payment:d .*recorded/);
    expect(out).not.toMatch(/web3:c-1 .*recorded/);
  });

  it('tells the same to machines, with --show as its bound', async () => {
    const loosened = await staging({
      policies: {
        'payments.yaml': 'policy: p\ncallback: payment\nrules:\n  - amount-limit: { max: 5000 }\n',
      },
    });
    const { code, json } = await replayTo(loosened, '--json', '--show', '1', '--concurrency', '1');
    expect(code).toBe(1);
    const told = report.parse(json());
    expect(told).toMatchObject({
      callbacks: SENT,
      toSuccess: 1,
      failed: 0,
      notSent: 0,
      differing: [
        {
          line: lineOf('payment:c'),
          subject: 'payment:c',
          recorded: { verdict: 'FAILURE' },
          answered: 'SUCCESS',
        },
      ],
    });
    expect(told.same + told.toFailure + told.toSuccess).toBe(SENT);
  });

  it('with --prefix-ids and --map asks about other subjects', async () => {
    const there = await staging({ shop: { name: 'staging-shop' }, policies: OPEN });
    const map = join(there.service.folder, 'map.yaml');
    const OTHER = '0x00000000000000000000000000000000000000aa';
    writeFileSync(
      map,
      `source: { shop: staging-shop }\nuserId: { 12345: 99 }\nto: { '${TO}': '${OTHER}' }\n`,
    );
    const { out } = await replayTo(there, '--map', map, '--prefix-ids', 'again-', '--concurrency', '1');
    expect(out).toContain('failed  0');
    const [payment] = await there.service.store.entries({
      source: 'staging-shop',
      subject: 'payment:again-a',
      limit: 10,
    });
    expect(payment?.detail).toContain('"userId":"99"');
    const [outputs] = await there.service.store.entries({
      source: 'vault',
      subject: 'transfer:again-o',
      limit: 10,
    });
    expect(outputs).toMatchObject({ verdict: 'SUCCESS' });
    expect(outputs?.detail).not.toContain(TO.slice(2));
  });

  it('sends nothing if the instance can’t be told what was recorded: 2', async () => {
    const there = await staging({
      shop: { signatures: [{ scheme: 'md5', secret: { file: join(recorded.folder, 'shop.secret') } }] },
      vault: { paths: { withdraw: '/staging/withdraw' } },
    });
    const { code, err } = await replayTo(there);
    expect(code).toBe(2);
    expect(err).toContain('nothing was sent: ');
    expect(err).toContain('signed by rsa, but the source shop accepts only md5. Add rsa to its signatures');
    expect(err).toContain('signed by rsa-envelope, but');
    expect(err).toContain('the source vault has no path for web3 callbacks');
    expect(await there.service.store.journalSize('shop')).toBe(0);
    expect(await there.service.store.journalSize('vault')).toBe(0);
  });

  it.each([
    ['no key', [], 'Give the private key of the platformKey of source shop'],
    ['a key of others', ['--key', 'merchant.pem'], 'but no platformKey of shop for rsa has it'],
    ['a key that is not there', ['--key', 'none.pem'], "can't read"],
    ['a source that is not there', ['--map', 'source.yaml'], 'has no source'],
  ])('sends nothing with %s: 2', async (_, args, said) => {
    const there = await staging();
    writeFileSync(join(recorded.folder, 'source.yaml'), 'source: { vault: volt }\n');
    const named = args.map((arg) => (arg.startsWith('--') ? arg : join(recorded.folder, arg)));
    const { service } = there;
    expect(await placeIn(service.folder).run`replay ${file} --to ${service.url} ${named}`).toMatchObject(
      reports(2, said),
    );
    expect(await service.store.journalSize('shop')).toBe(0);
  });

  it.each([
    ['a file that is not there', undefined, 'ENOENT'],
    ['no map', '- a\n', 'the file has the wrong form'],
    ['a member that is not mapped', 'amount: { 1: 2 }\n', "amount can't be mapped"],
    ['a misspelt member', 'userID: { 1: 2 }\n', 'Did you mean userId?'],
    ['the same twice', 'userId: { 1: 2, 1: 3 }\n', 'unique'],
    ['an empty text', "userId: { 1: '' }\n", 'userId.1 is empty'],
  ])('--map with %s: 2', async (_, text, said) => {
    const map = join(recorded.folder, 'faulty-map.yaml');
    if (text !== undefined) writeFileSync(map, text);
    const path = text === undefined ? join(recorded.folder, 'no-map.yaml') : map;
    const { run } = placeIn(recorded.folder);
    const { code, err } = await run`replay ${file} --to http://127.0.0.1:1 --map ${path}`;
    expect(code).toBe(2);
    expect(err).toContain(said);
  });
});

describe('replay to what does not answer as it should', () => {
  it('counts what is neither a yes nor a no as failed, and stops after twenty refused connections: 1', async () => {
    const there = await staging();
    const answers = ['SUCCESS', '{"code":"0"}', '', ' FAILURE'];
    let asked = 0;
    const server = createServer((_, response) => response.end(answers[asked++ % answers.length])).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const url = urlOf(server);
    const args = ['replay', file, '--key', there.key, '--json'] as const;
    const { run } = placeIn(there.service.folder);
    const { code, json } = await run(...args, '--to', url);
    expect(code).toBe(1);
    // A co-signer is answered in plain text, and one of the four answers to one is a yes.
    expect(report.parse(json()).failed).toBeGreaterThanOrEqual(10);
    expect(asked).toBe(SENT);

    const long = join(there.service.folder, 'long.jsonl');
    const [first = ''] = readFileSync(file, 'utf8').split('\n');
    const lines = Array.from({ length: 60 }, (_, n) => first.replace(/^\{"id":"\d+"/, `{"id":"${n + 1}"`));
    writeFileSync(long, `${lines.join('\n')}\n`);
    const refused = await run`replay ${long} --key ${there.key} --to http://127.0.0.1:1 --concurrency 1`;
    expect(refused.code).toBe(1);
    expect(refused.out).toMatch(/^ {2}not sent +40 +too many in a row failed$/m);
    expect(refused.out).toContain('no answer: ');
  });

  it('says after how many milliseconds no answer came', async () => {
    const there = await staging();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const server = createServer(() => vi.advanceTimersByTime(15_000)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => server.closeAllConnections());
    onTestFinished(() => void server.close());
    const url = urlOf(server);
    const { run } = placeIn(there.service.folder);
    const { json } = await run`replay ${file} --key ${there.key} --json --to ${url}`;
    const [first] = report.parse(json()).failures;
    expect(first?.because).toBe('no answer within 15000 ms');
  });

  it('compares nothing that has no body: 1', async () => {
    const there = await staging();
    const bare = join(there.service.folder, 'bare.jsonl');
    const [first = ''] = readFileSync(file, 'utf8').split('\n');
    writeFileSync(bare, `${first.replace('"body":', '"bodi":')}\n`);
    expect(await placeIn(there.service.folder).run`replay ${bare} --to ${there.service.url}`).toMatchObject(
      prints(1, "its detail can't be read: body has a wrong form"),
    );
  });
});

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const OPEN = {
  'payments.yaml': 'policy: payments\ncallback: payment\nrules:\n  - amount-limit: { max: 1000 }\n',
  'transfers.yaml': 'policy: transfers\ncallback: transfer\nrules:\n  - amount-limit: { max: 10 }\n',
};

function lineOf(subject: string): number {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.findIndex((each) => each.includes(`"subject":"${subject}"`)) + 1;
}

const detail = z.object({
  scheme: z.string().optional(),
  kind: z.string(),
  terms: z.unknown(),
  question: z.unknown(),
  body: z.string(),
  plaintext: z.string().optional(),
});

/** What the journal says that was asked, but for keys and times; bodies of co-signers byte for byte. */
async function entriesOf({ store }: TestService): Promise<readonly unknown[]> {
  const sources = await Promise.all(
    ['shop', 'vault'].map((source) => store.entries({ source, limit: 1000 })),
  );
  return sources
    .flat()
    .filter(({ type }) => ['decision', 'repeat', 'notice'].includes(type))
    .map(({ subject, verdict, code, type, detail: text }) => {
      const { kind, terms, question, body, plaintext, scheme } = detail.parse(JSON.parse(text));
      return {
        subject,
        verdict,
        code,
        type,
        scheme,
        kind,
        terms,
        question,
        plaintext,
        ...(kind === 'payment' ? {} : { body }),
      };
    });
}
