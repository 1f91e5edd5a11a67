import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { StatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import { CronJob } from 'kubernetes-models/batch/v1/CronJob';
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { Namespace } from 'kubernetes-models/v1/Namespace';
import { PersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim';
import { Pod } from 'kubernetes-models/v1/Pod';
import { Secret } from 'kubernetes-models/v1/Secret';
import { Service } from 'kubernetes-models/v1/Service';
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount';
import type { Manifest } from '../../tools/generate/manifests.ts';

/** The schemas of Kubernetes' own OpenAPI document, as kubernetes-models carries them. */
const models = {
  Deployment,
  StatefulSet,
  CronJob,
  Ingress,
  NetworkPolicy,
  PodDisruptionBudget,
  ConfigMap,
  Namespace,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
  ServiceAccount,
};

/**
 * What is wrong with an object by the schema of its kind, a sentence each. The schemas let unknown fields
 * pass, which the server would drop without a word; so what no schema has looked at while it validated is a
 * fault as well.
 */
export function schemaFaults({ file, kind, object }: Manifest): readonly string[] {
  if (!Object.hasOwn(models, kind)) return [`${file}: ${kind} is a kind without a schema here`];
  const Model = models[kind as keyof typeof models];
  if (object['apiVersion'] !== Model.apiVersion)
    return [`${file}: ${kind} is of ${String(object['apiVersion'])}, not ${Model.apiVersion}`];
  const { watched, unread } = watch(object);
  try {
    // Its constructor would make a copy, of which nothing could be noted.
    const model: { validate(): void } = Object.assign(Object.create(Model.prototype), watched);
    model.validate();
  } catch (thrown) {
    return [`${file}: ${kind} ${thrown instanceof Error ? thrown.message : String(thrown)}`];
  }
  return unread().map((path) => `${file}: ${kind} has no field ${path}`);
}

/** A view of a tree that notes which of its fields were read. */
function watch(tree: Readonly<Record<string, unknown>>) {
  const all = new Set<string>();
  const read = new Set<string>();
  const view = (value: unknown, path: string): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    for (const name of Object.keys(value)) if (!Array.isArray(value)) all.add(`${path}.${name}`);
    const views = new Map(
      Object.entries(value).map(([name, child]) => [name, view(child, `${path}.${name}`)]),
    );
    return new Proxy(value, {
      get(target, name, receiver) {
        if (typeof name === 'string' && views.has(name)) {
          read.add(`${path}.${name}`);
          return views.get(name);
        }
        return Reflect.get(target, name, receiver);
      },
    });
  };
  const watched = Object.fromEntries(Object.entries(tree).map(([name, child]) => [name, view(child, name)]));
  return { watched, unread: () => [...all].filter((path) => !read.has(path)) };
}
