import { expect, it } from 'vitest';
import { startBlackHoleProxy } from '../black-hole-proxy.ts';
import { placeIn, prints } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { DEPLOYMENT, keyFileOf, peopleText } from '../release/signing.ts';
import { type TestService, VAULT_TOKEN, transfer } from '../service.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const PEOPLE = `${peopleText(['ada', 'ben', 'cleo'], '[operate, approve]')}groups:
  treasury: [ada, ben, cleo]
`;
const policiesOf = (wait: string, max = 10): Readonly<Record<string, string>> => ({
  'people.yaml': PEOPLE,
  'transfers.yaml': `policy: transfers
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - amount-limit: { max: ${max} }
  - any:
      - amount-limit: { max: 1 }
      - approval: { by: treasury, quorum: 2, within: 24h${wait} }
`,
});

/** Longer than a test may take: what is answered is answered because of what happened. */
const LONG = ', wait: 60s';

describeOnBothStores(
  'a callback held open for people',
  (host) => {
    const start = async ({
      wait = LONG,
      limits = {},
      ...settings
    }: Readonly<Record<string, unknown>> = {}) => {
      const service = await host.start({
        policies: policiesOf(String(wait)),
        settings: {
          deployment: DEPLOYMENT,
          answerTimeoutMs: 60_000,
          public: { port: '0', limits },
          ...settings,
        },
      });
      const { run, write } = placeIn(service.folder);
      return { service, run, write, ...askingOf(service), ...peopleOf(service) };
    };

    it('gets the SUCCESS of its second decision once enough people have approved it', async () => {
      const { service, hold, approve, decisions, callbackLines } = await start();
      const answer = await hold();
      await approve('ada');
      await eventually('one person is not enough', async () =>
        (await decisions()).length === 2 ? true : undefined,
      );
      await approve('ben');
      expect(await answer()).toBe('SUCCESS');
      expect(await codes(decisions)).toEqual(['AWAITING_APPROVAL', 'AWAITING_APPROVAL', 'APPROVED']);
      // It is one callback, which is reported once.
      expect(new Set((await decisions()).map(({ requestId }) => requestId)).size).toBe(1);
      expect(await eventually('it is logged', () => callbackLines()[0])).toMatchObject({
        verdict: 'SUCCESS',
        code: 'APPROVED',
        stepsMs: { hold: expect.any(Number) },
      });
      expect(callbackLines()).toHaveLength(1);
      const metrics = await (await fetch(`${service.ops}/metrics`)).text();
      expect(metrics).toContain('countersign_callback_seconds_count{step="hold"} 1');
    });

    it('gets FAILURE at once when a person rejects it, and its repeat is not held', async () => {
      const { ask, hold, approve, reject, decisions } = await start();
      const answer = await hold();
      await approve('ada');
      await reject();
      expect(await answer()).toBe('FAILURE');
      expect(await ask()).toBe('FAILURE');
      expect(new Set(await codes(decisions))).toEqual(new Set(['AWAITING_APPROVAL']));
    });

    it('gets FAILURE when its time is over, and is approved when it comes again', async () => {
      const { ask, approve, decisions, isAnswered } = await start({ wait: ', wait: 1s' });
      expect(await ask()).toBe('FAILURE');
      expect(await codes(decisions)).toEqual(['AWAITING_APPROVAL']);
      expect(await isAnswered('AWAITING_APPROVAL')).toBe(true);
      await approve('ada');
      expect(await ask()).toBe('FAILURE');
      await approve('ben');
      expect(await ask()).toBe('SUCCESS');
    });

    it('is answered before answerTimeoutMs, however long the rule waits', async () => {
      const { ask, isAnswered } = await start({ answerTimeoutMs: 8000 });
      expect(await ask()).toBe('FAILURE');
      expect(await isAnswered('AWAITING_APPROVAL')).toBe(true);
    });

    it('is decided by the policies that are in force then', async () => {
      const { run, write, hold, approve, decisions } = await start();
      const answer = await hold();
      write('policies/transfers.yaml', policiesOf(LONG, 4)['transfers.yaml'] ?? '');
      expect(await run`policy push --message ${'at most four'}`).toMatchObject(prints(0, 'In force'));
      await approve('ada');
      expect(await answer()).toBe('FAILURE');
      await approve('ben');
      expect((await codes(decisions)).at(-1)).toBe('RULE_REFUSED');
    });

    it('is not approved while approvals are frozen', async () => {
      const { run, hold, approve, decisions } = await start();
      const answer = await hold();
      expect(await run`freeze ${'a key may have leaked'}`).toMatchObject({ code: 0 });
      await approve('ada');
      expect(await answer()).toBe('FAILURE');
      expect((await codes(decisions)).at(-1)).toBe('FROZEN');
    });

    it('uses one approval, however many callbacks of its subject are held', async () => {
      const { hold, approve, decisions } = await start();
      const answers = [await hold(), await hold(), await hold()];
      await eventually('all are held', async () => ((await decisions()).length === 3 ? true : undefined));
      await approve('ada');
      await approve('ben');
      expect(await Promise.all(answers.map((answer) => answer()))).toEqual(['SUCCESS', 'SUCCESS', 'SUCCESS']);
      const approved = (await decisions()).filter(({ verdict }) => verdict === 'SUCCESS');
      expect(approved.map(({ type }) => type).toSorted()).toEqual(['decision', 'repeat', 'repeat']);
    });

    it('does not lend its approval to another subject, other terms or another answer', async () => {
      const { ask, hold, approve, reject } = await start();
      const [one, two] = [await hold(), await hold('w-2')];
      expect(await ask({ amount: '6' })).toBe('FAILURE');
      await approve('ada');
      await approve('ben');
      expect(await one()).toBe('SUCCESS');
      expect(await ask({ amount: '6' })).toBe('FAILURE');
      await approve('ada', 'w-2');
      await reject('w-2');
      expect(await two()).toBe('FAILURE');
    });

    it('is one of at most public.limits.held: a further one is answered at once', async () => {
      const { ask, hold, approve, reject } = await start({ limits: { held: '2' } });
      const [one, two] = [await hold(), await hold('w-2')];
      expect(await ask({ request_id: 'w-3' })).toBe('FAILURE');
      await reject('w-2');
      expect(await two()).toBe('FAILURE');
      // There is room again.
      const four = await hold('w-4');
      for (const id of ['w-1', 'w-4']) {
        await approve('cleo', id);
        await approve('ben', id);
      }
      expect([await one(), await four()]).toEqual(['SUCCESS', 'SUCCESS']);
    });

    it('is answered at once where none may be held', async () => {
      const { ask } = await start({ limits: { held: '0' } });
      expect(await ask()).toBe('FAILURE');
    });

    it('keeps no other callback out', async () => {
      const { service, ask, hold, approve } = await start({ limits: { callbacks: '1' } });
      const held = [];
      for (let count = 1; count <= 5; count++) held.push(await hold(`w-${count}`));
      expect(await ask({ amount: '1', request_id: 'small' })).toBe('SUCCESS');
      await approve('ada');
      await approve('ben');
      expect(await held[0]?.()).toBe('SUCCESS');
      expect(await ask({ amount: '1', request_id: 'smaller' })).toBe('SUCCESS');
      const metrics = await (await fetch(`${service.ops}/metrics`)).text();
      expect(metrics).not.toMatch(/countersign_turned_away_total\{.*\} [1-9]/);
    });

    it('gets FAILURE when the service stops', async () => {
      const { service, hold } = await start();
      const [one, two] = [await hold(), await hold('w-2')];
      await service.stop({ keep: true });
      expect([await one(), await two()]).toEqual(['FAILURE', 'FAILURE']);
    });

    it('makes room when its client is gone', async () => {
      const { service, hold, approve, callbackLines } = await start({ limits: { held: '1' } });
      const leaving = new AbortController();
      const gone = fetch(`${service.url}/cosigner/withdraw`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: VAULT_TOKEN },
        body: JSON.stringify(transfer({ amount: '5' })),
        signal: leaving.signal,
      });
      await eventually('people are asked', () => service.store.approvalRequest('vault', 'transfer:w-1'));
      leaving.abort();
      await expect(gone).rejects.toThrow('aborted');
      await eventually('it is over', () => callbackLines()[0]);
      const answer = await hold('w-2');
      await approve('ada', 'w-2');
      await approve('ben', 'w-2');
      expect(await answer()).toBe('SUCCESS');
    });

    it.runIf(host.kind === 'redis')('gets FAILURE if the store does not answer any more', async () => {
      const proxy = await startBlackHoleProxy(host.redis().port);
      const store = { url: proxy.url, prefix: 'behind-a-proxy', commandTimeoutMs: 500 };
      const { hold, isAnswered } = await start({ store });
      const answer = await hold();
      proxy.swallow();
      expect(await answer()).toBe('FAILURE');
      expect(await isAnswered('STORE_FAILED')).toBe(true);
      await proxy.close();
    });
  },
  { timeoutMs: 55_000 },
);

interface Decision {
  readonly type: string;
  readonly verdict: string;
  readonly code: string;
  readonly requestId: unknown;
}

const codes = async (decisions: () => Promise<readonly Decision[]>): Promise<readonly string[]> =>
  (await decisions()).map(({ code }) => code);

/** Callbacks of transfers of five ether, unless it says otherwise. */
function askingOf(service: TestService) {
  const ask = (members: object = {}): Promise<string> =>
    service.cosign('/cosigner/withdraw', transfer({ amount: '5', ...members }));
  return {
    ask,
    /** Asks, and resolves once people are asked, with what waits for the answer. */
    hold: async (id = 'w-1'): Promise<() => Promise<string>> => {
      const answer = ask({ request_id: id });
      await eventually('people are asked', () => service.store.approvalRequest('vault', `transfer:${id}`));
      return () => answer;
    },
    /** What was decided about the first transfer, in order. */
    decisions: async (): Promise<readonly Decision[]> => {
      const entries = await service.store.entries({ source: 'vault', subject: 'transfer:w-1', limit: 100 });
      return entries
        .filter(({ type }) => type !== 'approval')
        .map(({ type, verdict, code, detail }) => {
          const { requestId } = JSON.parse(detail) as { readonly requestId: unknown };
          return { type, verdict, code, requestId };
        });
    },
    callbackLines: () => service.log.filter(({ event }) => event === 'callback'),
    /** Whether the callback was reported with this code. */
    isAnswered: (code: string): Promise<boolean> =>
      eventually('it is logged', () => {
        const line = service.log.find(({ event }) => event === 'callback');
        return line && line['code'] === code;
      }),
  };
}

function peopleOf({ folder }: TestService) {
  const { run } = placeIn(folder);
  return {
    approve: async (name: string, id = 'w-1'): Promise<void> => {
      const key = keyFileOf(name);
      const ran = await run('approvals', 'approve', `transfer:${id}`, '--source', 'vault', '--key', key);
      expect(ran).toMatchObject(prints(0, name));
    },
    reject: async (id = 'w-1'): Promise<void> => {
      const ran = await run`approvals reject transfer:${id} --source vault --message ${'unknown recipient'}`;
      expect(ran).toMatchObject(prints(0, 'Rejected'));
    },
  };
}
