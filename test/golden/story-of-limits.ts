import { PARTNER, cosign, pay as signed, web3, withdrawal } from './story.ts';
import type { RawRequest, Serving, World } from './world.ts';

/*
 * A morning of the service in limits/: what counts together over sources, values, refusals, alternatives and
 * movements. Each form that the journal has for these is in it.
 */

const STRANGER = '0x8617E340B3D01FA5F11F306F4090FD50E238070D';
const THIRD = '0xde709f2102306220921060314715629080e2fb77';
const TRANSFER = '0xa9059cbb';
const APPROVE = '0x095ea7b3';

const pay = (source: 'shop' | 'stall', appOrderId: string, userId: string, orderAmount: string): RawRequest =>
  signed({ appKey: `demo-${source}`, appOrderId, userId, orderAmount });
const withdraw = (id: string, to: string, amount: string, more: object = {}): RawRequest =>
  cosign('/cosigner/withdraw', withdrawal({ request_id: id, to, amount, ...more }));
const word = (hexadecimal: string): string => hexadecimal.padStart(64, '0');
const move = (id: string, method: string, units: number): RawRequest => {
  const data = `${method}${word(STRANGER.slice(2).toLowerCase())}${word((units * 1_000_000).toString(16))}`;
  return cosign('/cosigner/web3', web3({ request_id: id, input_data: data }));
};

/** Requests by what they are, and commands: LOCKOUT stands for the id of the only lock-out. */
const STEPS: readonly (string | readonly [what: string, request: RawRequest])[] = [
  `list add partners ${PARTNER} --source vault --by ann`,
  ['a payment in the shop', pay('shop', 'L-1', '1', '900')],
  ['one of the same user in the stall', pay('stall', 'L-2', '1', '500')],
  ['one above the limit of the group', pay('shop', 'L-3', '1', '200')],
  ['one of a second user', pay('stall', 'L-4', '2', '10')],
  ['one of a third user, which are too many new ones', pay('stall', 'L-5', '3', '10')],
  ['one of a known user in the other source', pay('shop', 'L-6', '2', '10')],
  ['a second refusal, which locks the first user out', pay('shop', 'L-7', '1', '300')],
  ['a payment of the user who is locked out', pay('shop', 'L-8', '1', '1')],
  'lockout lift LOCKOUT --source shop --message golden\u00a0call --by ann',
  ['the same, after the lift', pay('shop', 'L-8', '1', '1')],
  'decisions release payment L-2 --source stall --message golden\u00a0ticket --by bob',
  ['the payment that was released', pay('stall', 'L-2', '1', '500')],
  ['one that has its room', pay('shop', 'L-9', '1', '400')],
  ['the first payment again', pay('shop', 'L-1', '1', '900')],
  ['a refusal of another user', pay('shop', 'L-10', '2', '1500')],
  ['the second, which locks that user out', pay('shop', 'L-11', '2', '1500')],
  ['a withdrawal by the first alternative', withdraw('w-1', PARTNER, '4')],
  ['one by the later alternative', withdraw('w-2', PARTNER, '2')],
  ['one by no alternative', withdraw('w-3', PARTNER, '3')],
  ['one to a second address', withdraw('w-4', STRANGER, '1')],
  ['one to a third address, which is one too many', withdraw('w-5', THIRD, '1')],
  [
    'a notification of success',
    withdraw('w-1', PARTNER, '4', { type: 'sign_success', txid: `0x${'ab'.repeat(32)}` }),
  ],
  ['a transfer of tokens', move('c-1', TRANSFER, 60)],
  ['an approval of more than is left', move('c-2', APPROVE, 41)],
  ['an approval of what is left', move('c-3', APPROVE, 40)],
];

/** Plays the story: the answer to each request, and the exit code of each command. */
export async function playLimits(
  world: World,
  serving: Serving,
): Promise<Readonly<Record<string, string | number | null>>> {
  const answers: Record<string, string | number | null> = {};
  for (const step of STEPS) {
    if (typeof step !== 'string') {
      const [what, request] = step;
      const bytes = await serving.request(serving.url, request);
      answers[what] = bytes.split('\r\n\r\n')[1] ?? bytes;
      continue;
    }
    const lockout = step.includes('LOCKOUT') ? await onlyLockout(world) : '';
    const words = step.split(' ').map((each) => each.replaceAll('\u00a0', ' ').replace('LOCKOUT', lockout));
    answers[step.replaceAll('\u00a0', ' ')] = (await world.run(words)).exitCode;
  }
  return answers;
}

async function onlyLockout(world: World): Promise<string> {
  const found: readonly { readonly id: string }[] = JSON.parse(
    (await world.run(['lockout', 'list', '--json'])).out,
  );
  return found[0]?.id ?? '';
}
