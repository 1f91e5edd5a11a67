import type { Command } from 'commander';
import { perform } from '../../act/act.ts';
import { EXPIRES, cancelOrder, expectOrder } from '../../act/orders.ts';
import { subjectOf } from '../../callback/callback.ts';
import { messageOf } from '../../errors.ts';
import { START } from '../../journal/cursor.ts';
import { searchJournal } from '../../journal/search.ts';
import { objectText, parametersOf } from '../../../packages/platform/commands/commands.ts';
import { type Platform, PlatformError, createPlatform } from '../../../packages/platform/index.ts';
import { checkParameters, pay } from '../../../packages/platform/specification.ts';
import { actParts } from '../act.ts';
import { type Call, type ExitCode, byOption, fourEyesKey } from '../command.ts';
import type { Session } from '../session.ts';
import { openConnection } from './connection.ts';

export function payOptions(command: Command): void {
  fourEyesKey(byOption(command)).option(
    '--expires <when>',
    'until when the confirmation is expected',
    EXPIRES,
  );
}

/**
 * Announces the order, so that its confirmation is expected when it arrives, and pays. If the platform said
 * no, or nothing was sent, the announcement is cancelled. If the outcome is unknown, it stays, since the
 * confirmation may still come. Throws a PlatformError, or the error of the announcement.
 */
export async function announceAndPay(session: Session, call: Call): Promise<ExitCode> {
  const { config, parts, source } = openConnection(session, call);
  const platform = createPlatform(config, parts);
  const checked = checkParameters(pay, parametersOf(session, call, pay), session.clock());
  const text = (name: string): string => checked.get(name) ?? '';
  const payment = {
    userId: text('userId'),
    appOrderId: text('appOrderId'),
    orderAmount: text('orderAmount'),
    payCoinSymbol: text('payCoinSymbol'),
  };
  const order = {
    source,
    kind: 'payment' as const,
    id: payment.appOrderId,
    members: {
      userId: payment.userId,
      symbol: payment.payCoinSymbol,
      amount: payment.orderAmount,
      scheme: config.credentials.scheme,
    },
    expires: call.option('expires'),
  };
  const { outcome } = await perform(expectOrder, await actParts(session), order, session);
  try {
    const data = await platform.payments.create(payment);
    const { userId, appOrderId, orderAmount, payCoinSymbol } = payment;
    const words = `Paid: ${orderAmount} ${payCoinSymbol} by ${userId}, order ${appOrderId}.`;
    session.print(data === null ? words : `${words}\n${objectText(data)}`, { paid: payment, data });
    return 0;
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
    if (thrown.code === 'PLATFORM_REFUSED') await reportOwnRefusal(session, source, payment.appOrderId);
    if (thrown.data.outcome === 'unknown') {
      session.report(await lookUp(platform, payment));
    } else if (outcome === 'expected') {
      session.report(await withdraw(session, { platform, source, payment }));
    } else {
      session.report('The order was announced before this call, so its announcement stays.');
    }
    throw thrown;
  }
}

/** Says it if the payment failed because this receiver answered FAILURE to its confirmation. */
async function reportOwnRefusal(session: Session, source: string, id: string): Promise<void> {
  const subject = subjectOf({ kind: 'payment', id });
  try {
    const { entries } = await searchJournal(await session.store(), {
      streams: [{ source, subject }],
      newestFirst: true,
      period: {},
      cursor: START,
      filter: { type: 'decision' },
      limit: 1,
    });
    const [last] = entries;
    if (last?.verdict !== 'FAILURE') return;
    const entry = `${last.source}/${last.id}`;
    session.report(
      `This receiver answered FAILURE to the confirmation of ${id}: ${last.code}, entry ${entry}. ` +
        `\`countersign decisions explain ${entry}\` shows why.`,
    );
  } catch (failed) {
    session.report(`Whether this receiver refused ${id} can't be read: ${messageOf(failed)}.`);
  }
}

interface Payment {
  readonly appOrderId: string;
  readonly userId: string;
}

/** Says whether the bill has the payment. */
async function lookUp(platform: Platform, { appOrderId, userId }: Payment): Promise<string> {
  const stays = `The announcement of ${appOrderId} stays, because its confirmation may still come.`;
  // The operation takes a user only as a number.
  const user = /^[1-9]\d{0,17}$/.test(userId) ? { userId } : {};
  try {
    const found = await platform.payments.find({ appOrderId, ...user });
    if (found === undefined) {
      return `${stays} The bill does not have it yet, which is no proof: look again before you pay again.`;
    }
    const { orderAmount, payCoinSymbol, createTime } = found;
    return `The bill has it: ${orderAmount} ${payCoinSymbol}, created ${createTime}. Don't pay again.`;
  } catch (failed) {
    return `${stays} The bill can't be read: ${messageOf(failed)}.`;
  }
}

/** An order that was confirmed can't be cancelled, and may be debited whatever the platform said. */
async function withdraw(
  session: Session,
  { platform, source, payment }: { platform: Platform; source: string; payment: Payment },
): Promise<string> {
  const id = payment.appOrderId;
  try {
    const named = { source, kind: 'payment' as const, id };
    const { outcome, order } = await perform(cancelOrder, await actParts(session), named, session);
    return outcome !== 'cancelled' && order.state === 'used'
      ? `The order was confirmed with SUCCESS before, so it may be debited. ${await lookUp(platform, payment)} ` +
          `Once it has failed for good, \`countersign decisions release payment ${id} --source ${source}\` gives ` +
          'back what it counts in limits.'
      : `The announcement of ${id} is cancelled.`;
  } catch (failed) {
    return (
      `The announcement of ${id} can't be cancelled: ${messageOf(failed)}. ` +
      `Cancel it with \`countersign orders cancel payment ${id} --source ${source}\`.`
    );
  }
}
