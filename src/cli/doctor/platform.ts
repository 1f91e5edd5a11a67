import { messageOf } from '../../errors.ts';
import { bill } from '../../../packages/platform/operations/bill.ts';
import { request } from '../../../packages/platform/request.ts';
import { dateAt, dateBefore } from '../../reconcile/day.ts';
import { platformWarning } from '../../settings/platform.ts';
import type { Settings } from '../../settings/schema.ts';
import { connect } from '../platform/connection.ts';
import { counted } from '../print.ts';
import type { SourceOf } from '../send/keys.ts';
import type { Session } from '../session.ts';
import type { Finding } from './finding.ts';

const TIMEOUT_MS = 5000;

/**
 * Checks the address of the platform, and the credentials of each payment source: whether the keys can be
 * read, and whether the platform answers a request for yesterday's bill. The service decides without the
 * platform, so what fails is a fault only if the service reconciles.
 */
export async function checkPlatform(session: Session, settings: Settings): Promise<readonly Finding[]> {
  if (settings.platform.url === undefined) return [];
  const weak = platformWarning(settings.platform);
  const sources = settings.sources.filter((source) => source.callback === 'payment');
  return [
    ...(weak === undefined ? [] : [finding('warning', weak)]),
    ...(await Promise.all(sources.map((source) => checkSource(session, settings, source)))),
  ];
}

async function checkSource(
  session: Session,
  { reconcile }: Settings,
  source: SourceOf<'payment'>,
): Promise<Finding> {
  const day = dateBefore(dateAt(session.clock(), reconcile.zone));
  try {
    const { connection, scheme } = connect(session, source, { timeoutMs: TIMEOUT_MS, retries: 0 });
    const { count } = await request(connection, bill, { day, pageNum: '1', pageSize: '1' });
    const { origin } = new URL(connection.base);
    const has = `its bill of ${day} has ${counted(count, 'record')}`;
    return finding('ok', `${origin} answers ${source.name} with ${scheme}; ${has}`);
  } catch (thrown) {
    const state = reconcile.directory === undefined ? 'warning' : 'fault';
    return finding(state, `${source.name}: ${messageOf(thrown)}`);
  }
}

const finding = (state: Finding['state'], because: string): Finding => ({
  check: 'platform',
  state,
  because,
});
