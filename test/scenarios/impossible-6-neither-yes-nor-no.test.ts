import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeMembers } from '../../src/values/members.ts';
import { answersIn, rawConnection } from '../raw-connection.ts';
import { PAYMENT_PATH, type TestService, VAULT_TOKEN, signedPayment, transfer, web3 } from '../service.ts';
import { journalOf } from './audit.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const ANSWER_TIMEOUT_MS = 3000;
const SLACK_MS = 5000;
// What is misused here is misused from one address, which is to be heard all the same.
const settings = {
  answerTimeoutMs: ANSWER_TIMEOUT_MS,
  public: { port: '0', limits: { failuresPerSecond: '100000' } },
};

const paths: readonly (readonly [path: string, body: string])[] = [
  [PAYMENT_PATH, signedPayment({ appOrderId: 'fuzzed' })],
  [PAYMENT_PATH, signedPayment({ appOrderId: 'fuzzed-envelope' }, 'rsa-envelope')],
  ['/cosigner/withdraw', JSON.stringify(transfer({ request_id: 'fuzzed' }))],
  ['/cosigner/web3', JSON.stringify(web3({ request_id: 'fuzzed' }))],
];

type Change = (bytes: Uint8Array) => Uint8Array;
const joined = (...parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

/** One change to bytes: some written over, left out, put in, doubled or moved to the end. */
const change: fc.Arbitrary<Change> = fc
  .tuple(
    fc.constantFrom('over', 'out', 'in', 'double', 'move', 'cut'),
    fc.nat(),
    fc.integer({ min: 1, max: 8 }),
    fc.uint8Array({ minLength: 1, maxLength: 8 }),
  )
  .map(([how, position, length, others]) => (bytes) => {
    const at = bytes.length === 0 ? 0 : position % bytes.length;
    const [before, some, after] = [
      bytes.slice(0, at),
      bytes.slice(at, at + length),
      bytes.slice(at + length),
    ];
    if (how === 'over') return joined(before, others, bytes.slice(at + others.length));
    if (how === 'out') return joined(before, after);
    if (how === 'in') return joined(before, others, some, after);
    if (how === 'double') return joined(before, some, some, after);
    return how === 'move' ? joined(before, after, some) : before;
  });
const changes = fc.array(change, { minLength: 1, maxLength: 3 });
const applied = (all: readonly Change[], bytes: Uint8Array): Uint8Array =>
  all.reduce((changed, each) => each(changed), bytes);

/** What a body says, whatever the order and spelling of its JSON; undefined where it says nothing. */
function meaningOf(bytes: Uint8Array): ReadonlyMap<string, string> | undefined {
  const decoded = decodeMembers(bytes);
  if (!decoded.ok) return undefined;
  return new Map(
    [...decoded.members].map(([name, { kind, text }]) => [name, `${kind} ${text.toLowerCase()}`]),
  );
}

/**
 * How many callbacks the journal says were answered SUCCESS: those that were decided so, but for those that
 * came late.
 */
async function successes(service: TestService): Promise<number> {
  const journal = [...(await journalOf(service.store)), ...(await journalOf(service.store, 'vault'))];
  const late = new Set(
    journal.filter(({ type }) => type === 'late').map(({ source, of }) => `${source} ${of}`),
  );
  return journal.filter(({ source, id, verdict }) => verdict === 'SUCCESS' && !late.has(`${source} ${id}`))
    .length;
}

describeOnBothStores(
  'no answer but SUCCESS or FAILURE',
  (host) => {
    it('to callbacks of which a few bytes were changed', async () => {
      const service = await host.start({ settings });
      const post = (path: string, body: Uint8Array): ReturnType<TestService['post']> =>
        service.post(path, body, { authorization: VAULT_TOKEN });
      for (const [path, body] of paths) expect((await post(path, Buffer.from(body))).body).toBe('SUCCESS');
      let approved = paths.length;
      const property = fc.asyncProperty(fc.constantFrom(...paths), changes, async ([path, body], all) => {
        const bytes = applied(all, Buffer.from(body));
        const answer = await post(path, bytes);
        expect(answer).toMatchObject({ status: 200, contentType: 'text/plain' });
        expect(['SUCCESS', 'FAILURE']).toContain(answer.body);
        if (answer.body === 'SUCCESS') approved++;
        // Nothing guards what a co-signer says but that it is one. A payment says what was signed.
        const altered =
          path === PAYMENT_PATH && !isDeepStrictEqual(signedIn(bytes), signedIn(Buffer.from(body)));
        expect([altered, answer.body]).not.toEqual([true, 'SUCCESS']);
      });
      await fc.assert(property, { numRuns: 200 });
      expect(await successes(service)).toBe(approved);
    });

    it('to connections on which a few bytes were changed, or all of them', async () => {
      const service = await host.start({ settings });
      const whole = paths.map(
        ([path, body]) =>
          `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${VAULT_TOKEN}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      let approved = 0;
      const bytes = fc.oneof(
        {
          weight: 4,
          arbitrary: fc
            .tuple(fc.constantFrom(...whole), changes)
            .map(([text, all]) => applied(all, Buffer.from(text))),
        },
        { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }) },
      );
      const property = fc.asyncProperty(bytes, async (sent) => {
        const connection = await rawConnection(service.url);
        connection.write(sent);
        connection.finish();
        const answers = answersIn(await connection.received(ANSWER_TIMEOUT_MS + SLACK_MS));
        const strange = answers.filter(
          ({ status, body }) =>
            !(
              (status === 200 && /^(?:SUCCESS|FAILURE)$/.test(body)) ||
              (status === 400 && body === 'FAILURE')
            ) && !((status === 404 || status === 405) && body === ''),
        );
        expect(strange).toEqual([]);
        approved += answers.filter(({ body }) => body === 'SUCCESS').length;
      });
      await fc.assert(property, { numRuns: 150 });
      expect(await service.pay({ appOrderId: 'afterwards' })).toBe('SUCCESS');
      await service.stop({ keep: true });
      expect(await successes(await host.start({ settings }, service))).toBe(approved + 1);
    });

    it('to two hundred callbacks at once, half of them of strangers', async () => {
      const service = await host.start();
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) => {
          const body = signedPayment({ appOrderId: `o-${index}`, orderAmount: '1' });
          return service.post(PAYMENT_PATH, index % 2 === 0 ? body : body.replace('"1"', '"2"'));
        }),
      );
      expect(answers.map(({ body }) => body)).toEqual(
        answers.map((_answer, index) => (index % 2 === 0 ? 'SUCCESS' : 'FAILURE')),
      );
    });

    it('to a client that ends its side before its answer', async () => {
      const service = await host.start({ settings });
      const body = signedPayment({ appOrderId: 'gone' });
      const connection = await rawConnection(service.url);
      connection.write(
        `POST ${PAYMENT_PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      connection.finish();
      // Whether it was still heard is open; what it was told must be what the journal says.
      const answers = answersIn(await connection.received(ANSWER_TIMEOUT_MS + SLACK_MS));
      expect(answers.filter(({ body: said }) => said !== 'SUCCESS')).toEqual([]);
      expect((await service.post(PAYMENT_PATH, body)).body).toBe('SUCCESS');
      await service.stop({ keep: true });
      const again = await host.start({ settings }, service);
      expect(await successes(again)).toBe(answers.length + 1);
    });
  },
  { timeoutMs: 60_000 },
);

/** An envelope's `time` and the case of a sign mean nothing; what else it says is signed. */
function signedIn(bytes: Uint8Array): ReadonlyMap<string, string> | undefined {
  const meaning = new Map(meaningOf(bytes));
  if (meaning.has('data')) for (const name of ['time', 'data', 'sign']) meaning.delete(name);
  return meaning;
}
