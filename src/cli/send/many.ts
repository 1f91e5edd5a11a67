import { CountersignError } from '../../errors.ts';
import { type Amount, formatAmount, parseAmount } from '../../values/amount.ts';
import type { ExitCode } from '../command.ts';
import { counted } from '../print.ts';
import { type Outgoing, post } from './callback.ts';
import type { Session } from '../session.ts';

/** Users that many payments are spread over. */
const USERS = 250;
const AT_ONCE = 8;
/** How many hundredths there are in one whole unit, and in what an amount is counted. */
const HUNDREDTH: Amount = (parseAmount('1') ?? 0n) / 100n;

export interface Varied {
  readonly user: string;
  readonly amount: string;
}

/**
 * The members of the payment at `index`: the users from `user` on in turn, and amounts all over the range up
 * to `amount`. The same index gives the same payment. Throws USAGE for a user or an amount that can't be
 * counted from.
 */
export function variedPayment({ user, amount }: Varied, index: number): Varied {
  const most = parseAmount(amount);
  if (most === undefined || most < HUNDREDTH || !/^\d{1,30}$/.test(user)) {
    throw new CountersignError(
      'USAGE',
      '--count needs a --user of digits and an --amount of at least 0.01, to vary them',
    );
  }
  const steps = most / HUNDREDTH;
  // A step that shares no factor with 2 or 5 visits all of the range before it comes back.
  const step = 1n + ((BigInt(index) * 7_919_777n) % steps);
  return { user: String(BigInt(user) + BigInt(index % USERS)), amount: formatAmount(step * HUNDREDTH) };
}

/**
 * Posts many callbacks, some at once, and says how they were answered. 0 if each was answered SUCCESS or
 * FAILURE.
 */
export async function sendMany(
  session: Session,
  count: number,
  outgoingAt: (index: number) => Outgoing,
): Promise<ExitCode> {
  const answers = new Map<string, number>();
  let next = 0;
  const sendNext = async (): Promise<void> => {
    while (next < count) {
      const response = await post(outgoingAt(next++));
      const answer = await response.text();
      const answerText = answer === 'SUCCESS' || answer === 'FAILURE' ? answer : `HTTP ${response.status}`;
      answers.set(answerText, (answers.get(answerText) ?? 0) + 1);
      if (next % 100 === 0) session.progress(`${next} of ${count} sent`);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, sendNext));
  session.progress('');
  const counts = [...answers]
    .sort(([a], [b]) => (a < b ? 1 : -1))
    .map(([answer, times]) => `${times} ${answer}`);
  session.print(`${counted(count, 'callback')} sent: ${counts.join(', ')}`, {
    sent: count,
    answers: Object.fromEntries(answers),
  });
  return [...answers.keys()].every((answer) => answer === 'SUCCESS' || answer === 'FAILURE') ? 0 : 1;
}
