import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments, parseDocument } from 'yaml';
import { z } from 'zod';
import { ROOT } from './documents.ts';

/** One object of Kubernetes, with the file that it is written in. */
export interface Manifest {
  readonly file: string;
  readonly kind: string;
  readonly name: string;
  readonly object: Readonly<Record<string, unknown>>;
}

const head = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});

/** The objects of one file. Throws where it is no YAML, or an object has no kind or name. */
export function manifestsIn(file: string): readonly Manifest[] {
  const documents = parseAllDocuments(readFileSync(join(ROOT, file), 'utf8'));
  if ('empty' in documents) throw new Error(`${file} holds nothing`);
  return documents.map((document) => {
    const [fault] = [...document.errors, ...document.warnings];
    if (fault !== undefined) throw fault;
    const object: unknown = document.toJS();
    const { kind, metadata } = head.parse(object);
    return { file, kind, name: metadata.name, object: head.parse(object) };
  });
}

const generator = z.strictObject({ name: z.string(), files: z.array(z.string()) });
const kustomization = z.strictObject({
  apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
  kind: z.literal('Kustomization'),
  namespace: z.string(),
  resources: z.array(z.string()),
  images: z.array(z.strictObject({ name: z.string(), newName: z.string(), newTag: z.string() })).default([]),
  configMapGenerator: z.array(generator).default([]),
});

export interface Kustomized {
  readonly manifests: readonly Manifest[];
  /** The files that each generated ConfigMap is made of, by key. */
  readonly configMaps: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly images: readonly { readonly name: string; readonly newTag: string }[];
}

/**
 * What a kustomization is made of, with those that it refers to. Throws where a file is missing, or does not
 * lie within, and where a kustomization refers to a folder that contains it, as kustomize does.
 */
export function kustomized(folder: string): Kustomized {
  const read = parseDocument(readFileSync(join(ROOT, folder, 'kustomization.yaml'), 'utf8'));
  const { resources, configMapGenerator, images } = kustomization.parse(read.toJS());
  const within = resources.map((resource) => {
    const path = join(folder, resource);
    if (`${folder}/`.startsWith(`${path}/`))
      throw new Error(`${path} contains ${folder}, which refers to it`);
    return resource.endsWith('.yaml')
      ? { manifests: manifestsIn(path), configMaps: new Map(), images: [] }
      : kustomized(path);
  });
  const made = configMapGenerator.map(({ name, files }) => [name, keysOf(folder, files)] as const);
  return {
    manifests: within.flatMap(({ manifests }) => manifests),
    configMaps: new Map([...within.flatMap(({ configMaps }) => [...configMaps]), ...made]),
    images: [...images, ...within.flatMap((each) => each.images)],
  };
}

function keysOf(folder: string, files: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    files.map((file) => {
      const path = join(folder, file);
      if (file.startsWith('..') || !existsSync(join(ROOT, path))) throw new Error(`there is no ${path}`);
      return [file.split('/').at(-1) ?? '', path];
    }),
  );
}
