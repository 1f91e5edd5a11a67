import { compileRelease } from '../policy/compile.ts';
import type { Release } from '../policy/release.ts';
import type { Store } from '../store/store.ts';

/**
 * The policies of a revision, compiled. Undefined for no revision, if the store no longer has it, or if this version
 * of the program can't compile it.
 */
export async function storedRelease(
  store: Pick<Store, 'document'>,
  revision: string,
): Promise<Release | undefined> {
  const document = revision === '' ? undefined : await store.document(revision);
  const compiled = document === undefined ? undefined : compileRelease(document);
  return compiled?.ok === true ? compiled.release : undefined;
}

/** The policies in force, as {@link storedRelease} gives them. */
export async function releaseInForce(
  store: Pick<Store, 'document' | 'control'>,
): Promise<Release | undefined> {
  const { revision } = await store.control();
  return storedRelease(store, revision);
}
