import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments, parseDocument, stringify } from 'yaml';
import { z } from 'zod';
import type { GeneratedFile, ReadFile } from './marks.ts';

const ROOT = join(import.meta.dirname, '../..');

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
  readonly namespace: string;
  readonly manifests: readonly Manifest[];
  /** The files that each generated ConfigMap is made of, by key. */
  readonly configMaps: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly images: readonly { readonly name: string; readonly newName: string; readonly newTag: string }[];
}

/**
 * What a kustomization is made of, with those that it refers to. Throws where a file is missing, or does not
 * lie within, and where a kustomization refers to a folder that contains it, as kustomize does.
 */
export function kustomized(folder: string): Kustomized {
  const read = parseDocument(readFileSync(join(ROOT, folder, 'kustomization.yaml'), 'utf8'));
  const { namespace, resources, configMapGenerator, images } = kustomization.parse(read.toJS());
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
    namespace,
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

const ONE_FILE = `# What \`kubectl kustomize deploy/kubernetes\` makes, in one file. Made by \`npm run generate\`: change
# deploy/kubernetes and deploy/redis instead. docs/deploy.md has the steps before and after
# \`kubectl apply -f deploy/countersign.yaml\`.
`;

/** deploy/kubernetes as one file, for \`kubectl apply -f\`. */
export function oneFile(): GeneratedFile {
  const documents = built('deploy/kubernetes').map((object) => stringify(object, { lineWidth: 0 }));
  return ['deploy/countersign.yaml', `${ONE_FILE}${documents.join('---\n')}`];
}

const RULE = `# The alerts of deploy/prometheus/alerts.yaml for the Prometheus operator. Made by \`npm run generate\`.
`;

/** The alerts as an object of the Prometheus operator. */
export function prometheusRule(read: ReadFile): GeneratedFile {
  const spec: unknown = parse(read('deploy/prometheus/alerts.yaml'));
  const metadata = { name: 'countersign', labels: { 'app.kubernetes.io/name': 'countersign' } };
  const object = { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule', metadata, spec };
  return ['deploy/monitoring/prometheus-rule.yaml', `${RULE}${stringify(object, { lineWidth: 0 })}`];
}

type Tree = Readonly<Record<string, unknown>>;

/** The objects that kustomize makes of the folder: the namespace first, then the generated ConfigMaps. */
function built(folder: string): readonly Tree[] {
  const { manifests, configMaps, images, namespace } = kustomized(folder);
  const generated = [...configMaps].map(([name, files]) => configMap(name, namespace, files));
  const names = new Map(generated.map(({ name, object }) => [name, object.metadata.name]));
  const tags = new Map(images.map(({ name, newName, newTag }) => [name, `${newName}:${newTag}`]));
  const objects = manifests.map(({ kind, object }) => {
    const replaced = withNames(object, names, tags) as Tree;
    if (kind === 'Namespace') return replaced;
    return { ...replaced, metadata: { ...Object(replaced['metadata']), namespace } };
  });
  const isNamespace = ({ kind }: Tree): boolean => kind === 'Namespace';
  return [
    ...objects.filter(isNamespace),
    ...generated.map(({ object }) => object),
    ...objects.filter((object) => !isNamespace(object)),
  ];
}

/** A ConfigMap whose name ends with a digest of its content, the one that kustomize computes. */
function configMap(name: string, namespace: string, files: ReadonlyMap<string, string>) {
  const keys = [...files].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const data = Object.fromEntries(keys.map(([key, path]) => [key, readFileSync(join(ROOT, path), 'utf8')]));
  // kustomize hashes it without its name, and Go escapes these characters in JSON.
  const escaped = JSON.stringify({ data, kind: 'ConfigMap', name: '' }).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const digest = createHash('sha256').update(escaped).digest('hex').slice(0, 10);
  const suffix = digest.replaceAll(
    /[013ae]/g,
    (digit) => ({ 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' })[digit] ?? '',
  );
  const metadata = { name: `${name}-${suffix}`, namespace };
  return { name, object: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } };
}

/** The tree with the names of generated ConfigMaps, and with the images and their tags. */
function withNames(
  tree: unknown,
  names: ReadonlyMap<string, string>,
  images: ReadonlyMap<string, string>,
): unknown {
  if (Array.isArray(tree)) return tree.map((each) => withNames(each, names, images));
  if (typeof tree !== 'object' || tree === null) return tree;
  return Object.fromEntries(
    Object.entries(tree).map(([key, value]: [string, unknown]) => {
      if (key === 'image' && typeof value === 'string') return [key, images.get(value) ?? value];
      const below = withNames(value, names, images);
      if (key !== 'configMap') return [key, below];
      const { name } = Object(value) as { name: string };
      return [key, { ...Object(below), name: names.get(name) ?? name }];
    }),
  );
}
