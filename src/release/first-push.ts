import { lossesIn } from '../store/freezes.ts';
import { type Store, filesOf } from '../store/store.ts';
import { readPolicyDirectory } from './files.ts';
import { keptFiles } from './sources.ts';

/**
 * Puts the policies of a directory in force if none are in force (`policies.push: when-empty`), without
 * running their tests. Returns whether it did. After a data loss it does nothing: an operator decides which
 * policies to use.
 */
export async function pushWhenEmpty(store: Store, directory: string, by: string): Promise<boolean> {
  const { revision: inForce, frozen } = await store.control();
  if (inForce !== '' || lossesIn(frozen).length > 0) return false;
  const { revision, document } = await readPolicyDirectory(directory);
  const files = await keptFiles(directory, document);
  const push = { revision, document, expected: '', by, message: `first start, from ${directory}` };
  const { outcome } = await store.push(
    files === undefined ? push : { ...push, beside: { [filesOf(revision)]: files } },
  );
  return outcome === 'in-force';
}
