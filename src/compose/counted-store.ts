import type { Metrics } from '../observe/metrics.ts';
import type { Store } from '../store/store.ts';

/** Counts the rejections of each verb that the service uses. */
export function countFailures(store: Store, metrics: Pick<Metrics, 'storeFailed'>): Store {
  async function counted<T>(verb: string, pending: Promise<T>): Promise<T> {
    try {
      return await pending;
    } catch (thrown) {
      metrics.storeFailed(verb);
      throw thrown;
    }
  }
  return {
    ...store,
    settle: (request) => counted('settle', store.settle(request)),
    recordNotification: (request) => counted('notice', store.recordNotification(request)),
    record: (record) => counted('record', store.record(record)),
    control: () => counted('control', store.control()),
    document: (revision) => counted('document', store.document(revision)),
  };
}
