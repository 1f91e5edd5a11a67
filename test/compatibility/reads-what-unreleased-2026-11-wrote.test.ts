import { expect, it } from 'vitest';
import { PAYMENT_PATH, payment } from '../golden/story.ts';
import { describeWrittenBefore } from './written-before.ts';

describeWrittenBefore({
  version: 'unreleased-2026-11',
  story: 'limits',
  approved: { appOrderId: 'L-1', userId: '1', orderAmount: '900' },
  hasExplanations: false,
  more: (openWorld) => {
    it('still refuses who is locked out and what was released', async () => {
      const world = openWorld();
      const serving = await world.serve();
      const sent = async (members: Readonly<Record<string, string>>): Promise<string> => {
        const answer = await serving.request(serving.url, { path: PAYMENT_PATH, body: payment(members) });
        return answer.split('\r\n\r\n')[1] ?? '';
      };
      const released = { appKey: 'demo-stall', appOrderId: 'L-2', userId: '1', orderAmount: '500' };
      expect(await sent(released)).toContain('failure');
      const ofLockedOut = { appOrderId: 'N-1', userId: '2', orderAmount: '1' };
      expect(await sent(ofLockedOut)).toBe('FAILURE');
      const listed = await world.run(['lockout', 'list', '--json']);
      const [{ id }]: readonly [{ readonly id: string }] = JSON.parse(listed.out);
      await world.run(['lockout', 'lift', id, '--source', 'shop', '--message', 'known']);
      expect(await sent(ofLockedOut)).toBe('SUCCESS');
      await serving.stop();
      const search = ['decisions', 'search', '--subject', 'payment:L-2', '--json'];
      const found: readonly Record<string, unknown>[] = JSON.parse((await world.run(search)).out);
      expect(found.map(({ type, code }) => [type, code])).toEqual([
        ['decision', 'APPROVED'],
        ['release', 'RELEASED'],
        ['decision', 'RELEASED'],
        ['decision', 'RELEASED'],
      ]);
    });
  },
});
