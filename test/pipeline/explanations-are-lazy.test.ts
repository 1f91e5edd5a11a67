import { expect, it } from 'vitest';
import type { CallbackReport } from '../../src/observe/report.ts';
import { authenticatorOf, md5By, shop } from '../signature/sources.ts';
import { paymentArrival, stubPipeline } from './stub.ts';

/** What a payment with a wrong sign comes to where the source has these keys. */
async function reportOf(...secrets: readonly string[]): Promise<CallbackReport> {
  const reports: CallbackReport[] = [];
  const authenticator = authenticatorOf(
    [shop(...secrets.map((name) => md5By(name)))],
    Object.fromEntries(secrets.map((name) => [name, name])),
  );
  const body = { appKey: 'demoKey', userId: '1', sign: '0'.repeat(32) };
  const pipeline = stubPipeline({
    authenticator: () => authenticator,
    report: (report) => reports.push(report),
  });
  const { delivered } = await pipeline.receive(paymentArrival(JSON.stringify(body)));
  delivered(true);
  const [report] = reports;
  if (report === undefined) throw new Error('nothing was reported');
  return report;
}

it.each<[string, readonly string[], string]>([
  ['one key', ['A'], 'the signature does not match the body; '],
  ['two keys', ['A', 'B'], 'none of 2 keys verifies the signature: the signature does not match the body; '],
])('why a sign is wrong is found out when somebody reads it: %s', async (_, secrets, beginning) => {
  const report = await reportOf(...secrets);
  expect(report).toMatchObject({ code: 'SIGN_WRONG', outcome: 'unauthenticated', verdict: 'FAILURE' });
  for (const name of ['because', 'data'])
    expect(Object.getOwnPropertyDescriptor(report, name)).not.toHaveProperty('value');
  expect(report.because.startsWith(beginning)).toBe(true);
  expect(report.data).toMatchObject({ source: 'shop', scheme: 'md5' });
});
