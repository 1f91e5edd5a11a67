import type { Control, Store } from '../store.ts';
import { type Assured, type Thing, createAssurance, lateIn } from './assurance.ts';
import { type Durability, createBarrier } from './barrier.ts';
import { type RedisServer, type RedisTimeouts, createConnection } from './connection.ts';
import type { RedisParts } from './parts.ts';
import { expectReply, texts } from './reply.ts';

/** The verbs that approve, and those that stop approvals. */
export type DurableVerbs = Pick<
  Store,
  | 'settle'
  | 'notice'
  | 'record'
  | 'push'
  | 'freeze'
  | 'unfreeze'
  | 'changeList'
  | 'changePrices'
  | 'cancelOrder'
>;

export interface DurableStore {
  readonly verbs: DurableVerbs;
  /** Resolves once its connection is made, or when the time for that is over. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The verbs, which now resolve with a SUCCESS, or with a change that may stop approvals, only when so many
 * replicas have it, and reject with STORE_UNREACHABLE otherwise: within the time for a command, after the
 * step itself. What was rejected so stands on the primary, and a repeat waits for the replicas again. A
 * failover to one of them then loses none.
 *
 * What is refused waits for nobody: losing a refusal approves nothing.
 */
export function createDurableStore(
  parts: RedisParts,
  server: RedisServer,
  timeouts: RedisTimeouts,
  durability: Durability,
  verbs: DurableVerbs,
): DurableStore {
  const connection = createConnection(server, timeouts);
  const barrier = createBarrier(connection, parts.keys, durability, timeouts.commandTimeoutMs);
  return {
    verbs: {
      ...approvals(createAssurance(barrier, durability, lateIn(verbs)), parts, verbs),
      ...changes(createAssurance(barrier, durability), parts, verbs),
    },
    settled: () => connection.settled(),
    close: () => connection.close(),
  };
}

function approvals(
  assured: Assured,
  { keys }: RedisParts,
  verbs: DurableVerbs,
): Pick<Store, 'settle' | 'notice' | 'record'> {
  const entry = (source: string, id: string, subject: string, terms: string): Thing => ({
    name: subject === '' ? `the entry ${source}/${id}` : `the SUCCESS of ${source} for ${subject}`,
    repeat: 'ask again, and it is given once they have it',
    approval: { source, id, subject },
    effects: [
      {
        source,
        keys: [keys.of(source).journal, keys.of(source).subject(subject)],
        args: ['entry', id, subject, terms],
      },
    ],
  });
  return {
    async settle(request) {
      const result = await verbs.settle(request);
      if ('verdict' in result && result.verdict === 'SUCCESS') {
        await assured(entry(request.source, result.id, request.subject, request.terms));
      }
      return result;
    },
    async notice(request) {
      const result = await verbs.notice(request);
      if (result.verdict === 'SUCCESS') {
        await assured(entry(request.source, result.id, request.subject, request.terms));
      }
      return result;
    },
    async record(record) {
      const id = await verbs.record(record);
      if (record.verdict === 'SUCCESS') await assured(entry(record.source, id, record.subject, ''));
      return id;
    },
  };
}

function changes(
  assured: Assured,
  parts: RedisParts,
  verbs: DurableVerbs,
): Omit<DurableVerbs, 'settle' | 'notice' | 'record'> {
  const { keys } = parts;
  /** A field of what is in force has reached this number: in its one place, and with every source. */
  async function inForce(what: string, field: 'sequence' | 'prices', number: number): Promise<void> {
    const known = await parts.connection.call('smembers', [keys.sources]);
    const args = ['least', field, String(number)] as const;
    const copies = expectReply(texts, 'the sources', known).map((source) => ({
      source,
      keys: [keys.of(source).control],
      args,
    }));
    await assured({
      name: what,
      repeat: 'make it once more',
      effects: [{ source: undefined, keys: [keys.inForce], args }, ...copies],
    });
  }
  const moved = (what: string, { sequence }: Control): Promise<void> => inForce(what, 'sequence', sequence);
  return {
    async push(push) {
      const result = await verbs.push(push);
      await moved(`the push of ${push.revision}`, result.control);
      return result;
    },
    async freeze(freeze) {
      const result = await verbs.freeze(freeze);
      await moved(`the freeze ${result.freeze.id}`, result.control);
      return result;
    },
    async unfreeze(unfreeze) {
      const result = await verbs.unfreeze(unfreeze);
      await moved(`the end of ${unfreeze.ids.join(', ')}`, result.control);
      return result;
    },
    async changePrices(change) {
      const table = await verbs.changePrices(change);
      await inForce('the change of prices', 'prices', table.version);
      return table;
    },
    async changeList(change) {
      const result = await verbs.changeList(change);
      const { list, version } = result.summary;
      const { source } = change;
      const args = ['least', list, String(version)] as const;
      await assured({
        name: `the change of the list ${list} of ${source}`,
        repeat: 'make it once more',
        effects: [{ source, keys: [keys.of(source).lists], args }],
      });
      return result;
    },
    async cancelOrder(cancel) {
      const result = await verbs.cancelOrder(cancel);
      const { source, subject } = cancel;
      if (result.order.state === 'cancelled') {
        const args = ['same', 'state', 'cancelled'] as const;
        await assured({
          name: `the cancellation of the order of ${source} for ${subject}`,
          repeat: 'make it once more',
          effects: [{ source, keys: [keys.of(source).order(subject)], args }],
        });
      }
      return result;
    },
  };
}
