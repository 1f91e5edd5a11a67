import { describeWrittenBefore } from './written-before.ts';

describeWrittenBefore({
  version: '0.1.0',
  story: 'world',
  approved: { appOrderId: 'P-1', userId: '4711', orderAmount: '1' },
  hasExplanations: true,
});
