import type { Server } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../certificates.ts';
import { eventually } from '../eventually.ts';
import { pluginQuestionsOf } from '../../src/policy/evaluate.ts';
import { DAI, MAX, USDT, approveFor, callbackOf, transferTo } from '../policy/calls/transactions.ts';
import { A, B, outputs, release, transfer, web3 } from '../policy/callbacks.ts';
import { NOW_MS, askingService } from './asking.ts';
import { type AnswerWith, SECRET, otherSide, says, sendSigned } from './other-side.ts';

describe('a service is told', () => {
  it('of the callback, in full and signed', async () => {
    const risk = await otherSide(says('yes', 'all is well'));
    const { ask } = await askingService(risk.url);
    expect(await ask({ parameters: { profile: 'gold' } })).toEqual({
      verdict: 'yes',
      because: 'all is well',
    });
    const [asked] = risk.asked;
    expect(asked).toMatchObject({ method: 'POST', path: '/ask', signed: true });
    expect(asked?.headers).toMatchObject({
      'content-type': 'application/json',
      'countersign-timestamp': String(NOW_MS),
    });
    expect(asked?.nonce).toMatch(/^[\w-]{24}$/);
    expect(asked?.json).toEqual({
      version: 1,
      at: '2026-03-02T10:00:00.000Z',
      source: 'shop',
      kind: 'payment',
      id: 'o-1',
      subject: 'payment:o-1',
      question: { type: 'payment', speedUp: false },
      members: { appOrderId: 'o-1', userId: '12345', amount: '100', symbol: 'USDT1742' },
      payouts: [],
      with: { profile: 'gold' },
      service: 'risk',
      nonce: asked?.nonce,
    });
  });

  it('that the callback is simulated, which its signature covers, and of a real one nothing of the kind', async () => {
    const risk = await otherSide(says('yes', 'all is well'));
    const { plugins, ask, counted } = await askingService(risk.url);
    const question = { type: 'service', name: 'risk', parameters: {} } as const;
    const answer = await plugins.askSimulated(question, transfer(), 60_000);
    expect(answer).toEqual({ verdict: 'yes', because: 'all is well' });
    expect(counted).toEqual([]);
    await ask();
    expect(risk.asked.map(({ json, signed }) => [json['simulated'], signed])).toEqual([
      [true, true],
      [undefined, true],
    ]);
  });

  it('all that a transaction moves, for a policy with movements', async () => {
    const risk = await otherSide(says('yes'));
    const { plugins } = await askingService(risk.url);
    const policies = release(
      `policy: one
callback: web3
movements: { approvals: count }
rules:
  - ask: { service: risk }
  - contract-calls:
      calls: [{ contract: '${DAI}', method: 'transfer(address,uint256)', decimals: 18, where: { to: any, amount: any } }]
    when: { main_chain_symbol: ETH }
`,
      {},
      `assets:
  ETH: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT}' } }
`,
    );
    const ask = async (contract: string, data: string, amount = '0'): Promise<void> => {
      const callback = callbackOf({ contract, data, amount });
      for (const [, question] of pluginQuestionsOf(policies, callback)) {
        await plugins.ask(question, callback, 60_000);
      }
    };
    await ask(USDT, approveFor(B, 5n), '1.5');
    await ask(USDT, approveFor(B, MAX));
    await ask(DAI, transferTo(B, 5n));
    await ask(DAI, '0x12345678');
    const to = B.toLowerCase();
    expect(risk.asked.map(({ json }) => json)).toMatchObject([
      {
        movements: [
          { type: 'approval', symbol: 'USDT', contract: USDT, to, amount: '0.000005' },
          { type: 'native', symbol: 'ETH', to: USDT, amount: '1.5' },
        ],
      },
      { movements: [{ type: 'approval', symbol: 'USDT', contract: USDT, to, amount: 'unlimited' }] },
      { movements: [{ type: 'transfer', contract: DAI, to, amount: 'unknown' }] },
    ]);
  });

  it('all addresses of a withdrawal to several, and what each is paid', async () => {
    const risk = await otherSide(says('yes'));
    const { ask } = await askingService(risk.url);
    await ask({ callback: transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) }) });
    const [a, b] = [A, B].map((address) => address.toLowerCase());
    expect(risk.asked[0]?.json).toMatchObject({
      members: { to: [a, b] },
      payouts: [
        { to: a, amount: '1' },
        { to: b, amount: '2' },
      ],
    });
  });

  it('that an amount is unlimited', async () => {
    const risk = await otherSide(says('no'));
    const { ask } = await askingService(risk.url);
    await ask({ callback: web3({ amount: -1 }) });
    expect(risk.asked[0]?.json).toMatchObject({ kind: 'web3', members: { amount: 'unlimited' } });
  });

  it('with a nonce of its own each time, over a connection that is kept', async () => {
    const risk = await otherSide(says('yes'));
    const { ask } = await askingService(risk.url);
    for (let n = 0; n < 5; n++) expect(await ask()).toMatchObject({ verdict: 'yes' });
    expect(new Set(risk.asked.map(({ nonce }) => nonce)).size).toBe(5);
    expect(risk.connections()).toBe(1);
  });
});

describe('the answer of a service', () => {
  it('no is a no, with its reason', async () => {
    const risk = await otherSide(says('no', 'the address is sanctioned'));
    const { ask, counted } = await askingService(risk.url);
    expect(await ask()).toEqual({ verdict: 'no', because: 'the address is sanctioned' });
    expect(counted).toEqual(['service risk no']);
  });

  it('has its reason cut and cleaned', async () => {
    const risk = await otherSide(says('no', `\u001b[31mred\n\u202eback\u0000 ${'x'.repeat(2000)}`));
    const { because } = await (await askingService(risk.url)).ask();
    expect(because).toMatch(/^\[31mred back x+…$/);
    expect(because.length).toBe(500);
  });

  const text = (nonce: string, more: object = {}): string =>
    JSON.stringify({ nonce, verdict: 'yes', ...more });
  /** Answers with this body, signed for the question. */
  const sends =
    (body: (nonce: string) => string, over?: Parameters<typeof sendSigned>[3]): AnswerWith =>
    (response, { nonce }) =>
      sendSigned(response, nonce, body(nonce), over);
  const ANOTHER = 'another-nonce';
  const WRONG = 'the signature of its answer is not that of this question, body and secret';
  const UNREADABLE = "its answer can't be read: ";
  const NEITHER = 'its verdict is neither yes nor no';
  it.each<[string, AnswerWith, string]>([
    ['without a signature', (response, { nonce }) => response.end(text(nonce)), 'its answer is not signed'],
    ['signed with another secret', sends(text, { secret: 'another' }), WRONG],
    [
      'signed with the signature of the question',
      (response, { nonce, headers }) => {
        response.setHeader('countersign-signature', String(headers['countersign-signature']));
        response.end(text(nonce));
      },
      WRONG,
    ],
    [
      'signed twice',
      (response, { nonce }) => {
        response.setHeader('countersign-signature', ['v1=00', 'v1=00']);
        response.end(text(nonce));
      },
      'its answer is not signed',
    ],
    [
      'that is the signed answer to another question',
      (response) => sendSigned(response, ANOTHER, text(ANOTHER)),
      WRONG,
    ],
    ['that names another nonce', sends(() => text(ANOTHER)), 'its answer names another nonce'],
    ['that names no nonce', sends(() => '{"verdict":"yes"}'), 'its answer names another nonce'],
    [
      'that was changed on its way',
      (response, { nonce }) => {
        const no = JSON.stringify({ nonce, verdict: 'no' });
        const end = response.end.bind(response);
        Object.assign(response, { end: () => end(text(nonce)) });
        sendSigned(response, nonce, no);
      },
      WRONG,
    ],
    ['that is not JSON', sends(() => 'yes'), `${UNREADABLE}the body is not a JSON object`],
    ['that is empty', sends(() => ''), `${UNREADABLE}the body is not a JSON object`],
    [
      'with two verdicts',
      sends((nonce) => `{"nonce":"${nonce}","verdict":"no","verdict":"yes"}`),
      `${UNREADABLE}the member "verdict" appears twice`,
    ],
    ['with a verdict in capitals', sends((nonce) => text(nonce, { verdict: 'YES' })), NEITHER],
    [
      'with a verdict that is no text',
      sends((nonce) => text(nonce, { verdict: true })),
      'its answer has a member that is not a text',
    ],
    ['without a verdict', sends((nonce) => JSON.stringify({ nonce })), NEITHER],
    [
      'with a condition that nobody here knows',
      sends((nonce) => text(nonce, { upTo: '5' })),
      'its answer has an unknown member: upTo',
    ],
    [
      'of more than 4 KiB',
      sends((nonce) => text(nonce, { because: 'x'.repeat(4096) })),
      'its answer has more than 4096 bytes',
    ],
    [
      'without end',
      (response) => {
        const more = (): void => {
          if (!response.destroyed) response.write('x'.repeat(1000), () => setImmediate(more));
        };
        more();
      },
      'its answer has more than 4096 bytes',
    ],
    [
      'with headers without end',
      (response, { nonce }) => {
        response.setHeader('x-long', 'x'.repeat(10_000));
        sendSigned(response, nonce, text(nonce));
      },
      "it can't be reached: its headers have more than 8192 bytes",
    ],
    ...[201, 204, 400, 500, 503].map((status): [string, AnswerWith, string] => [
      `with HTTP status ${status}, though it is signed`,
      sends(text, { status }),
      `it answered with HTTP status ${status}`,
    ]),
    [
      'that is a redirect',
      (response, { nonce, path }) => {
        response.setHeader('location', path);
        sendSigned(response, nonce, text(nonce), { status: 307 });
      },
      'it answered with HTTP status 307, and redirects are not followed',
    ],
    [
      'whose connection ends before it',
      (response) => response.socket?.destroy(),
      "it can't be reached: socket hang up",
    ],
    [
      'whose connection ends in its middle',
      (response, { nonce }) => {
        response.writeHead(200, { 'content-length': '500' });
        response.write(text(nonce), () => response.socket?.destroy());
      },
      'the connection ended in the middle of its answer',
    ],
  ])('%s is no answer', async (_name, answer, because) => {
    const risk = await otherSide(answer);
    const { ask, counted } = await askingService(risk.url);
    const answered = await ask();
    expect(answered.verdict).toBe('failed');
    expect(answered.because).toBe(because);
    expect(JSON.stringify(answered)).not.toContain(SECRET);
    expect(counted).toEqual(['service risk failed']);
    expect(risk.asked).toHaveLength(1);
  });

  it('that was right before is none the second time', async () => {
    let before = '';
    const risk = await otherSide((response, { nonce }) => {
      before ||= nonce;
      sendSigned(response, before, text(before));
    });
    const { ask } = await askingService(risk.url);
    expect(await ask()).toMatchObject({ verdict: 'yes' });
    expect(await ask()).toMatchObject({ verdict: 'failed' });
  });

  it('of exactly 4 KiB is read', async () => {
    const risk = await otherSide((response, { nonce }) => {
      const because = 'x'.repeat(4096 - text(nonce, { because: '' }).length);
      sendSigned(response, nonce, text(nonce, { because }));
    });
    expect(await (await askingService(risk.url)).ask()).toMatchObject({ verdict: 'yes' });
  });
});

describe('a service that is slow or not there', () => {
  it.each<[string, AnswerWith]>([
    ['never answers', () => undefined],
    ['stops after the headers', (response) => response.writeHead(200).flushHeaders()],
    [
      'sends a byte at a time',
      (response) => {
        const more = (): void => {
          if (!response.destroyed) response.write(' ', () => setTimeout(more, 10));
        };
        more();
      },
    ],
  ])('%s has failed when its time is over', async (_name, answer) => {
    const risk = await otherSide(answer);
    const { ask } = await askingService(risk.url, { timeoutMs: 200 });
    const startedMs = performance.now();
    expect(await ask()).toEqual({ verdict: 'failed', because: 'no answer within 200 ms' });
    expect(performance.now() - startedMs).toBeGreaterThan(190);
    await eventually('its connection is closed', () =>
      risk.asked.length > 0
        ? connectionsOf(risk.server).then((count) => (count === 0 ? true : undefined))
        : undefined,
    );
  });

  it('has failed when the time of the callback is over, if that is sooner', async () => {
    const risk = await otherSide(() => undefined);
    const { ask } = await askingService(risk.url, { timeoutMs: 5000 });
    expect(await ask({ withinMs: 100.7 })).toEqual({ verdict: 'failed', because: 'no answer within 100 ms' });
    expect(await ask({ withinMs: 0 })).toEqual({ verdict: 'failed', because: 'no time was left to ask it' });
    expect(await ask({ withinMs: -5 })).toMatchObject({ verdict: 'failed' });
    expect(risk.asked).toHaveLength(1);
  });

  it('is not there: the port is named', async () => {
    const risk = await otherSide(says('yes'));
    risk.server.close();
    const { ask } = await askingService(risk.url);
    expect(await ask()).toEqual({
      verdict: 'failed',
      because: `it can't be reached: connect ECONNREFUSED ${new URL(risk.url).host}`,
    });
  });

  it('is asked again, once and with a nonce of its own, if it closed the connection that was kept', async () => {
    const risk = await otherSide(says('yes'));
    const { ask } = await askingService(risk.url);
    expect(await ask()).toMatchObject({ verdict: 'yes' });
    let cut = 0;
    risk.answerWith((response, asked) => {
      if (cut++ === 0) response.socket?.resetAndDestroy();
      else says('yes')(response, asked);
    });
    expect(await ask()).toMatchObject({ verdict: 'yes' });
    expect(new Set(risk.asked.map(({ nonce }) => nonce)).size).toBe(3);
    risk.answerWith((response) => response.socket?.resetAndDestroy());
    expect(await ask()).toMatchObject({ verdict: 'failed' });
    expect(risk.asked).toHaveLength(5);
  });
});

const connectionsOf = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });

describe('over TLS', () => {
  it('a service is believed by the authority of the settings, and by no other', async () => {
    const authority = createAuthority();
    onTestFinished(() => authority.close());
    const risk = await otherSide(says('yes'), { tls: authority.issue('/CN=risk') });
    const { certFile: ca } = authority.certificate;
    expect(await (await askingService(risk.url, { ca })).ask()).toMatchObject({ verdict: 'yes' });
    const other = createAuthority();
    onTestFinished(() => other.close());
    for (const over of [{}, { ca: other.certificate.certFile }]) {
      const { verdict, because } = await (await askingService(risk.url, over)).ask();
      expect(verdict).toBe('failed');
      expect(because).toMatch(/^it can't be reached: .*certificate/);
    }
    expect(risk.asked).toHaveLength(1);
  });
});

describe('the secret of a service', () => {
  it('is read again, and one that can no longer be read stays in use', async () => {
    const risk = await otherSide(says('yes'));
    const { ask, plugins, setSecret } = await askingService(risk.url);
    setSecret('another');
    expect(await ask()).toMatchObject({ verdict: 'yes' });
    plugins.reload();
    expect(await ask()).toMatchObject({ verdict: 'failed' });
    expect(risk.asked.at(-1)?.signed).toBe(false);
    setSecret(SECRET);
    plugins.reload();
    setSecret(undefined);
    expect(() => plugins.reload()).toThrow('no secret is there');
    expect(await ask()).toMatchObject({ verdict: 'yes' });
  });

  it('is not told when it is described', async () => {
    const { plugins } = await askingService('https://risk.example/ask?token=hush');
    expect(plugins.describe()).toEqual(['service risk is called at https://risk.example']);
  });
});

describe('who is asked', () => {
  it('must be named by the settings', async () => {
    const risk = await otherSide(says('yes'));
    const { ask, plugins, counted } = await askingService(risk.url);
    expect(await ask({}, 'rsik')).toEqual({
      verdict: 'failed',
      because: 'the settings have no service rsik; they have risk',
    });
    const module = { type: 'module', name: 'risk', parameters: {} } as const;
    expect(await plugins.ask(module, transfer(), 1000)).toEqual({
      verdict: 'failed',
      because: 'the settings have no module risk; they have none',
    });
    expect(counted).toEqual([]);
  });

  it('is not asked with what is no text, nor once all is closed', async () => {
    const risk = await otherSide(says('yes'));
    const { ask, plugins } = await askingService(risk.url);
    expect(await ask({ parameters: { limit: 5 } })).toMatchObject({ verdict: 'failed' });
    await plugins.close();
    expect(await ask()).toEqual({ verdict: 'failed', because: 'Countersign is shutting down' });
    expect(risk.asked).toEqual([]);
  });
});
