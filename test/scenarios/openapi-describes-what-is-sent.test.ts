import { beforeEach, describe, expect, it } from 'vitest';
import { type Platform, createPlatform } from '../../packages/platform/client.ts';
import { createConnection, systemParts } from '../../packages/platform/connection.ts';
import { operations } from '../../packages/platform/operations/registry.ts';
import { request } from '../../packages/platform/request.ts';
import { FAULTS, readFaults } from '../../packages/sandbox/faults.ts';
import { decrypt } from '../../packages/sandbox/signing.ts';
import { createValidators, documents, pointerOf } from '../openapi/validators.ts';
import { parametersOf } from './calls.ts';
import { configOf } from './merchant.ts';
import {
  NOW_MS,
  SCHEMES,
  type TestSandbox,
  keysOf,
  openAnswer,
  startReceiver,
  startTestSandbox,
  usersOf,
} from '../../packages/sandbox/test/sandbox.ts';

const document = documents.platform;
const faultsOf = createValidators(document);
const faultsOfCallback = createValidators(documents.service);
const parts = { ...systemParts, clock: () => NOW_MS };

type Body = Readonly<Record<string, unknown>>;
const read = (text: string): Body => JSON.parse(text) as Body;

/** A sandbox, and a URL of it that records the bodies of requests and answers. */
async function startRecorded() {
  const receiver = await startReceiver((_received, response) => response.end('SUCCESS'));
  const sandbox = await startTestSandbox({ receiver: receiver.url });
  const exchanges: { readonly path: string; readonly sent: string; readonly answered: string }[] = [];
  const recorder = await startReceiver(({ path, headers, body }, response) => {
    void (async () => {
      const init = { method: 'POST', headers: { 'content-type': headers['content-type'] ?? '' }, body };
      const answer = await fetch(`${new URL(sandbox.url).origin}${path}`, init);
      const answered = await answer.text();
      exchanges.push({ path, sent: body, answered });
      response.setHeader('content-type', answer.headers.get('content-type') ?? '').end(answered);
    })();
  });
  return { sandbox, url: recorder.url, exchanges };
}

describe.each(SCHEMES)('the operations with %s', (scheme) => {
  let recorded: Awaited<ReturnType<typeof startRecorded>>;
  let platform: Platform;
  beforeEach(async () => {
    recorded = await startRecorded();
    platform = createPlatform(configOf(recorded.sandbox, scheme), parts);
  });

  it.each(operations)('$name', async (operation) => {
    const { sandbox, url, exchanges } = recorded;
    const parameters = await parametersOf(operation, sandbox, platform);
    await request(createConnection({ ...configOf(sandbox, scheme), url }, parts), operation, parameters);
    expect(exchanges.map(({ path }) => path)).toEqual([`/platformapi/vendor/open/${operation.path}`]);
    const [{ sent, answered } = { sent: '', answered: '' }] = exchanges;

    const post = document.paths[`/${operation.path}`]?.['post'];
    const pointerTo = (...names: readonly string[]): string =>
      pointerOf('paths', `/${operation.path}`, 'post', ...names, 'content', 'application/json', 'schema');
    const described = {
      request: pointerTo('requestBody'),
      plainRequest: post?.['x-plaintext']?.request.$ref.slice(1) ?? '',
      answer: pointerTo('responses', '200'),
      plainAnswer: post?.['x-plaintext']?.answer.$ref.slice(1) ?? '',
    };
    const found = {
      request: read(sent),
      plainRequest: plainRequestOf(sent, sandbox),
      answer: read(answered),
      plainAnswer: plainAnswerOf(answered, sandbox),
    };
    const faults = ROLES.flatMap((role) => faultsOf(described[role], found[role]));
    expect(faults).toEqual([]);

    const required = Object.entries(operation.parameters.shape).flatMap(([name, schema]) =>
      !schema.safeParse(undefined).success || operation.oneOf?.includes(name) === true ? [name] : [],
    );
    const own = ['appKey', 'app_id', 'time', 'data', 'sign'];
    const undetected = (['request', 'plainRequest'] as const).flatMap((role) =>
      mutationsOf(found[role], [...required, ...own])
        .filter((mutated) => faultsOf(described[role], mutated).length === 0)
        .map((mutated) => ({ role, mutated })),
    );
    expect(undetected).toEqual([]);
  });

  it('a refusal', async () => {
    const { sandbox, url, exchanges } = recorded;
    const client = createPlatform({ ...configOf(sandbox, scheme), url }, parts);
    const payment = { userId: '1', appOrderId: 'o-1', orderAmount: '1', payCoinSymbol: 'BTC' };
    await expect(client.payments.create(payment)).rejects.toThrow('70004');
    const refused = exchanges.map(({ answered }) => read(answered));
    expect(refused).toMatchObject([{ code: '70004' }]);
    expect(refused.flatMap((answer) => faultsOf('/components/schemas/Refusal', answer))).toEqual([]);
  });
});

const WITHDRAWAL = { from: 'a', to: 'b', symbol: 'ETH', amount: '1.5', memo: '7', outputs: [], speedUps: 1 };
const TRANSACTION = {
  from: 'a',
  to: 'b',
  symbol: 'ETH',
  amount: '0',
  data: '0x',
  contract: 'c',
  speedUps: 1,
};
const FORMS = ['', ...Object.keys(FAULTS).filter((name) => name.startsWith('wire-'))];

describe.each(FORMS)('the callbacks of the sandbox in the form "%s"', (form) => {
  it('are described', async () => {
    const receiver = await startReceiver((_received, response) => response.end('SUCCESS'));
    const sandbox = await startTestSandbox({ receiver: receiver.url, faults: readFaults(form) });
    const [{ uid }] = await usersOf(sandbox);
    for (const scheme of SCHEMES) {
      const payment = { userId: uid, appOrderId: scheme, orderAmount: '0.1', payCoinSymbol: 'BTC' };
      expect((await sandbox.call('opay/transferToMerchantAuth', payment, scheme)).code).toBe('0');
    }
    await sandbox.steer({ command: 'withdraw', ...WITHDRAWAL });
    await sandbox.steer({ command: 'web3', ...TRANSACTION });
    for (let polls = 0; polls < 6; polls++) await sandbox.steer({ command: 'poll' });
    await sandbox.steer({ command: 'self-check' });

    expect(new Set(receiver.received.map(({ path }) => path)).size).toBe(3);
    const faults = receiver.received.flatMap(({ path, body }) => {
      const schema = ['requestBody', 'content', 'application/json', 'schema'];
      const sent = read(body);
      // The time of an envelope may also be text, in seconds.
      const others = 'app_id' in sent && 'data' in sent ? [{ ...sent, time: '1790000000' }] : [];
      return [sent, ...others].flatMap((each) =>
        faultsOfCallback(pointerOf('paths', path, 'post', ...schema), each),
      );
    });
    expect(faults).toEqual([]);
  });
});

const ROLES = ['request', 'plainRequest', 'answer', 'plainAnswer'] as const;

/** The parameters, decrypted if they are encrypted. */
function plainRequestOf(sent: string, { folder }: TestSandbox): Body {
  const { appKey: _, sign: __, ...members } = read(sent);
  if (typeof members['data'] !== 'string') return members;
  return read(String(decrypt(members['data'], keysOf(folder).platformPrivate)));
}

/** The data of an answer, decrypted if it is encrypted. */
function plainAnswerOf(answered: string, { folder }: TestSandbox): unknown {
  const answer = read(answered);
  if (typeof answer['data'] === 'string') return read(openAnswer(answer, keysOf(folder)));
  return 'code' in answer ? answer['data'] : answer;
}

/**
 * The body without each required member, with each member as another type, and with one member more. `time` may
 * be a string.
 */
function mutationsOf(body: Body, required: readonly string[]): readonly Body[] {
  const mutations = Object.entries(body).flatMap(([name, value]) => [
    ...(required.includes(name) ? [{ ...body, [name]: undefined }] : []),
    ...[
      null,
      true,
      [value],
      { value },
      typeof value === 'number' && name !== 'time' ? String(value) : 12,
    ].map((other) => ({
      ...body,
      [name]: other,
    })),
  ]);
  return [...mutations, { ...body, usrId: '1' }];
}
