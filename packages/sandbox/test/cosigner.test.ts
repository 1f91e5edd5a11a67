import { describe, expect, it, onTestFinished } from 'vitest';
import type { SandboxOptions } from '../running.ts';
import { type TestService, type TestServiceOptions, startTestService } from '../../../test/service.ts';
import {
  FROM,
  TO,
  type TestSandbox,
  keysOf,
  pollAll,
  receiverSources,
  sharedCredentials,
  startAnswered,
  startReceiver,
  startTestSandbox,
  transaction,
  withdrawal,
} from './sandbox.ts';

interface Signed {
  readonly requestId: string;
  readonly status: string;
  readonly signed: number;
  readonly refused: number;
  readonly txids: readonly string[];
}

async function signings(sandbox: TestSandbox): Promise<readonly Signed[]> {
  return (await sandbox.steer({ command: 'signings' })) as readonly Signed[];
}

const folder = sharedCredentials();
const file = (name: string) => ({ file: `${folder}/${name}` });

/** A real service that trusts the sandbox, and the sandbox. */
async function startBoth(
  over: Partial<SandboxOptions> = {},
  settings: Readonly<Record<string, unknown>> = {},
  options: TestServiceOptions = {},
): Promise<{ readonly service: TestService; readonly sandbox: TestSandbox }> {
  const service = await startTestService({
    ...options,
    settings: {
      sources: receiverSources(folder),
      ...settings,
    },
  });
  onTestFinished(() => service.stop());
  return { service, sandbox: await startTestSandbox({ receiver: service.url, ...over }) };
}

describe('with the real receiver', () => {
  it('what the policies allow is signed, and its txid is reported', async () => {
    const { service, sandbox } = await startBoth();
    await sandbox.steer(withdrawal({ request: 'w-1' }));
    await sandbox.steer(transaction({ request: 'c-1' }));
    await pollAll(sandbox);
    expect(await signings(sandbox)).toMatchObject([
      { requestId: 'w-1', status: 'signed', signed: 1, txids: [expect.stringMatching(/^0x[0-9a-f]{64}$/)] },
      { requestId: 'c-1', status: 'signed', signed: 1, txids: [expect.stringMatching(/^0x[0-9a-f]{64}$/)] },
    ]);
    const steps = sandbox.log.filter(({ kind }) => kind === 'cosigner').map(({ about }) => about);
    expect(steps).toEqual([
      'transfer w-1 sign_prepare',
      'transfer w-1 sign_start',
      'transfer w-1 sign_success',
      'web3 c-1 sign_prepare',
      'web3 c-1 sign_start',
      'web3 c-1 sign_success',
    ]);
    const entries = await service.store.entries({ source: 'vault', subject: 'transfer:w-1', limit: 10 });
    expect(entries.length).toBe(3);
  });

  it('what they refuse is not signed, is asked about again, and given up', async () => {
    const { sandbox } = await startBoth();
    await sandbox.steer(withdrawal({ amount: '10.000000000000000001' }));
    await sandbox.steer(withdrawal({ to: FROM }));
    await sandbox.steer(transaction({ contract: FROM }));
    await sandbox.steer(transaction({ amount: '-1' }));
    await pollAll(sandbox);
    const found = await signings(sandbox);
    expect(found.length).toBe(4);
    for (const each of found) {
      expect(each).toMatchObject({ status: 'ignored', signed: 0, refused: 2, txids: [] });
    }
    expect(sandbox.log.filter(({ about }) => about.includes('sign_success'))).toEqual([]);
  });

  it('a speed-up is another round with pending_round, the same request_id and another txid', async () => {
    const { sandbox } = await startBoth();
    await sandbox.steer(withdrawal({ request: 'w-1', speedUps: 2 }));
    await pollAll(sandbox);
    const [found] = await signings(sandbox);
    expect(found).toMatchObject({ status: 'signed', signed: 3 });
    expect(new Set(found?.txids).size).toBe(3);
  });

  it('a withdrawal to several addresses has outputs, which must sum to its amount', async () => {
    const policies = {
      'transfers.yaml': `policy: transfers
callback: transfer
when: { source: vault, symbol: BTC }
rules:
  - amount-limit: { max: 10 }
`,
    };
    const { sandbox } = await startBoth({}, {}, { policies });
    const [a, b] = ['1BoatSLRHtKNngkdXEeobR76b53LETtpyT', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa'];
    const outputs = (second: string) => [
      { to: a, amount: '1' },
      { to: b, amount: second },
    ];
    const common = { symbol: 'BTC', amount: '3', to: a, from: '1Source' };
    await sandbox.steer(withdrawal({ ...common, request: 'right', outputs: outputs('2') }));
    await sandbox.steer(withdrawal({ ...common, request: 'wrong', outputs: outputs('2.00000001') }));
    await pollAll(sandbox);
    expect(await signings(sandbox)).toMatchObject([
      { requestId: 'right', status: 'signed' },
      { requestId: 'wrong', status: 'ignored' },
    ]);
  });

  it('the self-check agrees on the keys, and does not without them', async () => {
    const { sandbox } = await startBoth();
    expect(await sandbox.steer({ command: 'self-check' })).toEqual({
      answer: '{"client_system_pubkey_hash_valid":"SUCCESS","verify_sign_pub_hash_valid":"SUCCESS"}',
    });
    const other = await startTestService();
    onTestFinished(() => other.stop());
    const stranger = await startTestSandbox({ receiver: other.url });
    expect(JSON.stringify(await stranger.steer({ command: 'self-check' }))).not.toContain('SUCCESS');
  });

  it('a co-signer with another secret gets nothing signed', async () => {
    const { sandbox } = await startBoth({ cosignerCredential: { in: 'nothing' } });
    await sandbox.steer(withdrawal());
    await pollAll(sandbox);
    expect(await signings(sandbox)).toMatchObject([{ status: 'ignored' }]);
  });

  it('the secret may be the last segment of the path', async () => {
    const { sandbox } = await startBoth(
      { cosignerCredential: { in: 'path' } },
      {
        sources: [
          {
            name: 'vault',
            callback: 'cosigner',
            authenticate: [{ path: { secret: file('vault.token') } }],
          },
        ],
      },
    );
    await sandbox.steer(withdrawal());
    await pollAll(sandbox);
    expect(await signings(sandbox)).toMatchObject([{ status: 'signed' }]);
  });

  it('polls run by themselves', async () => {
    const { sandbox } = await startBoth({ pollMs: 20 });
    await sandbox.steer(withdrawal());
    await expect.poll(async () => (await signings(sandbox))[0]?.status, { timeout: 60_000 }).toBe('signed');
  });
});

describe('an answer to the co-signer', () => {
  it.each([
    ['FAILURE', 200, 'FAILURE'],
    ['more than SUCCESS', 200, 'SUCCESS\n'],
    ['the JSON of payments', 200, '{"code":"0"}'],
    ['nothing', 200, ''],
    ['HTTP 500', 500, 'SUCCESS'],
    ['a redirect', 307, 'SUCCESS'],
  ])('that is %s signs nothing', async (_, status, text) => {
    const receiver = await startReceiver((__, response) => {
      response.writeHead(status, { location: '/elsewhere' }).end(text);
    });
    const sandbox = await startTestSandbox({ receiver: receiver.url });
    await sandbox.steer(withdrawal());
    await pollAll(sandbox);
    expect(await signings(sandbox)).toMatchObject([{ status: 'ignored', signed: 0, refused: 2 }]);
    // The first step was refused, so the second was never asked about.
    expect(receiver.received.map(({ body }) => (JSON.parse(body) as { type: string }).type)).toEqual([
      'sign_prepare',
      'sign_prepare',
    ]);
  });

  it('to sign_start decides, whatever sign_prepare got, and that to sign_success is a notice', async () => {
    const answers: Record<string, string> = { sign_prepare: 'SUCCESS', sign_start: 'FAILURE' };
    const receiver = await startReceiver(({ body }, response) => {
      response.end(answers[(JSON.parse(body) as { type: string }).type] ?? 'FAILURE');
    });
    const sandbox = await startTestSandbox({ receiver: receiver.url });
    await sandbox.steer(withdrawal());
    await pollAll(sandbox);
    expect(await signings(sandbox)).toMatchObject([{ status: 'ignored', txids: [] }]);
    answers['sign_start'] = 'SUCCESS';
    await sandbox.steer(withdrawal());
    await pollAll(sandbox);
    expect((await signings(sandbox))[1]).toMatchObject({ status: 'signed', signed: 1 });
  });

  it('the body has the documented members, and the token is in the header', async () => {
    const sandbox = await startAnswered();
    await sandbox.steer(withdrawal({ request: 'w-1', memo: 'm' }));
    await sandbox.steer(transaction({ request: 'c-1' }));
    await pollAll(sandbox);
    const bodies = sandbox.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
    const common = { from: FROM, to: TO, pending_round: false };
    expect(bodies[0]).toEqual({
      ...common,
      type: 'sign_prepare',
      transfer_id: expect.any(Number),
      request_id: 'w-1',
      amount: 1.5,
      symbol: 'ETH',
      memo: 'm',
    });
    expect(bodies[5]).toEqual({
      ...common,
      type: 'sign_success',
      trans_id: expect.any(Number),
      request_id: 'c-1',
      amount: 0,
      main_chain_symbol: 'ETH',
      input_data: '0xa9059cbb',
      interactive_contract: TO,
      txid: expect.stringMatching(/^0x/),
    });
    const { token } = keysOf(folder);
    for (const { headers } of sandbox.received) expect(headers['authorization']).toBe(token);
  });

  it.each([
    [withdrawal({ amount: '1.50' }), '"amount":1.50,'],
    [withdrawal({ amount: '10.000000000000000001' }), '"amount":10.000000000000000001,'],
    [transaction({ amount: '-1' }), '"amount":-1,'],
  ])('the amount is a decimal (6.2, 6.3), exact to the last digit: %o', async (command, member) => {
    const sandbox = await startAnswered();
    await sandbox.steer(command);
    await pollAll(sandbox);
    expect(sandbox.received.length).toBe(3);
    for (const { body } of sandbox.received) expect(body).toContain(member);
  });

  it('a request_id is used once', async () => {
    const sandbox = await startTestSandbox();
    await sandbox.steer(withdrawal({ request: 'w-1' }));
    await expect(sandbox.steer(withdrawal({ request: 'w-1' }))).rejects.toThrow('already is');
    await sandbox.steer(transaction({ request: 'w-1' }));
    expect((await signings(sandbox)).length).toBe(2);
  });
});
