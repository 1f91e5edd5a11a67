import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { PAYMENT_PATH, VAULT_TOKEN, type TestService, startTestService, transfer } from '../service.ts';

const SEGMENT = 'the-secret-segment-of-the-path';
const vault = (more: object): object => ({
  name: 'vault',
  callback: 'cosigner',
  paths: { withdraw: '/cosigner/withdraw' },
  ...more,
});

const linesOf = (service: TestService, code: string): readonly Readonly<Record<string, unknown>>[] =>
  service.log.filter((line) => line['event'] === 'not-served' && line['code'] === code);

describe('a request that nothing serves', () => {
  let service: TestService;
  beforeAll(async () => {
    const sources = [vault({ authenticate: [{ header: { name: 'x-token', secret: { env: 'TOKEN' } } }] })];
    const limits = { failuresPerSecond: '10' };
    service = await startTestService({
      env: { TOKEN: VAULT_TOKEN },
      settings: { sources, public: { port: '0', limits, trustedProxies: ['127.0.0.1'] } },
    });
  });
  afterAll(() => service.stop());

  const from = (address: string): { headers: Readonly<Record<string, string>> } => ({
    headers: { 'x-forwarded-for': address },
  });

  it('leaves one line in ten seconds, with method, path and caller, and is counted each time', async () => {
    for (let time = 0; time < 5; time++) {
      const url = `${service.url}/cosigner?token=secret`;
      expect((await fetch(url, { method: 'POST', ...from('192.0.2.7') })).status).toBe(404);
    }
    expect((await fetch(`${service.url}/cosigner/withdraw`, from('192.0.2.7'))).status).toBe(405);
    expect(linesOf(service, 'NOT_FOUND')).toEqual([
      expect.objectContaining({
        level: 'warn',
        address: '192.0.2.7',
        because: expect.stringMatching(/^POST \/cosigner was answered 404; send callbacks to/) as string,
        count: 1,
      }),
    ]);
    expect(linesOf(service, 'METHOD_NOT_ALLOWED')).toEqual([
      expect.objectContaining({
        because: expect.stringMatching(/^GET \/cosigner\/withdraw was answered 405; /) as string,
      }),
    ]);
    const metrics = await (await fetch(`${service.ops}/metrics`)).text();
    expect(metrics).toContain('countersign_unserved_total{reason="not-found"} 5\n');
    expect(metrics).toContain('countersign_unserved_total{reason="method"} 1\n');
  });

  it.each([
    ['/cosigner/withdraw/', '/cosigner/withdraw'],
    ['/Cosigner/Withdraw', '/cosigner/withdraw'],
    ['/cosigner/withdrawal?token=secret', '/cosigner/withdraw'],
    ['/notify/transferToMerchantAuthCheck', PAYMENT_PATH],
    ['/nofity/transfertomerchantauthcheck/', PAYMENT_PATH],
  ])('%s leaves one line a minute that names %s', async (path, meant) => {
    const other = await startTestService();
    try {
      for (let time = 0; time < 3; time++) {
        expect((await fetch(`${other.url}${path}`, { method: 'POST' })).status).toBe(404);
        await fetch(`${other.url}/elsewhere-${time}`, { method: 'POST' });
      }
      const lines = linesOf(other, 'NOT_FOUND').map(({ because }) => because);
      const named = `POST ${path.split('?', 1)[0]} was answered 404; correct the URL in the sender: the path is ${meant}`;
      expect(lines).toEqual([named, expect.stringContaining('/elsewhere-0 was answered 404; send')]);
    } finally {
      await other.stop();
    }
  });

  it('counts against the budget of its address: its callbacks are turned away, those of others are not', async () => {
    const callback = async (address: string, id: string): Promise<string> => {
      const headers = { 'x-forwarded-for': address, 'x-token': VAULT_TOKEN };
      return (await service.post('/cosigner/withdraw', JSON.stringify(transfer({ request_id: id })), headers))
        .body;
    };
    let asked = 0;
    await eventually('its callbacks are turned away', async () => {
      const answers = await Promise.all(
        Array.from({ length: 150 }, () => fetch(`${service.url}/nothing`, from('192.0.2.8'))),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
      const own = await callback('192.0.2.8', `own-${asked++}`);
      const closed = answers.some(({ headers }) => headers.get('connection') === 'close');
      return own === 'FAILURE' && closed ? true : undefined;
    });
    expect(await callback('192.0.2.9', 'others')).toBe('SUCCESS');
  });
});

describe('where a source has a secret segment in its path', () => {
  it('a path that is not served is shown without what may be the secret', async () => {
    const sources = [vault({ authenticate: [{ path: { secret: { env: 'SEGMENT' } } }] })];
    const service = await startTestService({ env: { SEGMENT }, settings: { sources } });
    try {
      await fetch(`${service.url}/cosigner/withdrow/${SEGMENT}`, { method: 'POST' });
      expect(linesOf(service, 'NOT_FOUND')[0]?.['because']).toMatch(/ the path is \/cosigner\/withdraw$/);
      expect(linesOf(service, 'NOT_FOUND')[0]?.['because']).toMatch(
        /^POST \/cosigner\/…\/… was answered 404/,
      );
      expect(JSON.stringify(service.log)).not.toContain(SEGMENT);
    } finally {
      await service.stop();
    }
  });
});
