import { z } from 'zod';
import { CountersignError } from '../errors.ts';
import type { Store } from '../store/store.ts';
import { counted, jsonOrText } from '../values/text.ts';
import { yamlText } from '../values/written-yaml.ts';
import { shortRevision } from './push.ts';

const json = z.json();
const contentShape = z.object({
  policies: z.array(z.record(z.string(), json)),
  lists: z.record(z.string(), z.array(z.string())),
  files: z.record(z.string(), z.string()).optional(),
  assets: json.optional(),
});

export type Content = z.output<typeof contentShape>;

/**
 * The policies of a revision as they were written, even if this version of the program can't compile them.
 */
export async function contentOf(store: Pick<Store, 'document'>, revision: string): Promise<Content> {
  return contentIn(await store.document(revision), revision);
}

/** The same in a document that was read. */
export function contentIn(document: string | undefined, revision: string): Content {
  const content = contentShape.safeParse(document === undefined ? undefined : jsonOrText(document));
  if (content.success) return content.data;
  throw new CountersignError(
    'STORE_CORRUPT',
    `revision ${shortRevision(revision)} in the store has no policies. Push the policies again`,
    { revision },
  );
}

export function contentText({ policies, lists }: Content): string {
  const files = Object.entries(lists).map(
    ([file, values]) => `# ${file}: ${counted(values.length, 'value')}\n`,
  );
  return [files.join(''), policies.map(policyText).join('---\n')].join('').trimEnd();
}

/** A policy as YAML, with its members in the usual order. The store has them in alphabetical order. */
export function policyText(policy: Content['policies'][number]): string {
  const { policy: name, description, callback, when, refusals, rules, ...others } = policy;
  const written = { policy: name, description, callback, when, refusals, ...others, rules };
  const given = Object.entries(written).filter(([, value]) => value !== undefined);
  return yamlText(Object.fromEntries(given));
}
