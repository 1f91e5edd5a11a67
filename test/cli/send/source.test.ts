import { expect, it } from 'vitest';
import { place, reports } from '../terminal.ts';

const VAULT = {
  name: 'vault',
  callback: 'cosigner',
  paths: { withdraw: '/cosigner/withdraw' },
  authenticate: [{ addresses: ['127.0.0.1'] }],
};

it.each([
  [[], 'has no source with callback: payment. Add one'],
  [['--source', 'shop'], 'has no payment source shop. Its payment sources: none'],
])('a payment of no source, with %j, says what is missing', async (options, message) => {
  const { run } = place({ settings: { sources: [VAULT] } });
  expect(await run`send payment ${options}`).toMatchObject(reports(2, message));
});
