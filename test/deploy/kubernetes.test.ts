import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { loadSettings } from '../../src/settings/load.ts';
import { runCall } from '../cli/terminal.ts';
import { startTestService } from '../service.ts';
import { ROOT, textOf } from './documents.ts';
import { schemaFaults } from './kubernetes-schemas.ts';
import { type Manifest, kustomized, manifestsIn, oneFile } from '../../tools/generate/manifests.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const { manifests, configMaps, images } = kustomized('deploy/kubernetes');
const secrets = manifestsIn('deploy/kubernetes/secrets.template.yaml');
const settings = loadSettings({ file: join(ROOT, 'deploy/kubernetes/settings/countersign.yaml'), env: {} });

function the(kind: string, name: string): Manifest {
  const [found, ...others] = manifests.filter((manifest) => manifest.kind === kind && manifest.name === name);
  if (found === undefined || others.length > 0) throw new Error(`${kind} ${name} is not there once`);
  return found;
}

describe('deploy/countersign.yaml', () => {
  const [path, current] = oneFile();

  it('is what `npm run generate` makes of deploy/kubernetes', () => {
    expect(textOf(path)).toBe(current);
  });

  it.each(manifestsIn(path).map((manifest) => [`${manifest.kind} ${manifest.name}`, manifest] as const))(
    '%s fits the schema of Kubernetes, with no field that it does not know',
    (_name, manifest) => {
      expect(schemaFaults(manifest)).toEqual([]);
    },
  );

  it('has all objects in the namespace, by the names that the pods mount, with the image of this version', () => {
    const objects = manifestsIn(path);
    const names = objects.map(({ kind, name }) => `${kind} ${name}`);
    expect(names[0]).toBe('Namespace countersign');
    expect(objects.filter(({ object }) => !/"namespace":"countersign"/.test(JSON.stringify(object)))).toEqual(
      objects.slice(0, 1),
    );
    const mounted = [...current.matchAll(/configMap:\n +name: (\S+)/g)].map(
      ([, name]) => `ConfigMap ${name}`,
    );
    expect(mounted.length).toBeGreaterThan(configMaps.size);
    expect(new Set(mounted)).toEqual(new Set(names.filter((name) => name.startsWith('ConfigMap'))));
    const tags = images.map(({ newName, newTag }) => `${newName}:${newTag}`);
    const used = [...current.matchAll(/ image: (.*)/g)].map(([, image]) => image);
    expect(new Set(used.filter((image = '') => !image.startsWith('redis:')))).toEqual(new Set(tags));
  });
});

describe('every object of deploy/kubernetes and deploy/redis', () => {
  const all = [...manifests, ...secrets, ...manifestsIn('deploy/redis/restore.yaml')];

  it.each(all.map((manifest) => [`${manifest.kind} ${manifest.name}`, manifest] as const))(
    '%s fits the schema of Kubernetes, with no field that it does not know',
    (_name, manifest) => {
      expect(schemaFaults(manifest)).toEqual([]);
    },
  );

  it('is there once', () => {
    const names = all.map(({ kind, name }) => `${kind} ${name}`);
    expect(names.length).toBeGreaterThan(15);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each<[string, (spec: Record<string, unknown>) => void, string]>([
    ['a misspelt field', (spec) => (spec['replica'] = 3), 'has no field spec.replica'],
    ['a wrong type', (spec) => (spec['replicas'] = 'three'), '/spec/replicas'],
    ['a missing field', (spec) => delete spec['selector'], 'selector'],
  ])('and one with %s is found', (_fault, change, expected) => {
    const broken = structuredClone(the('Deployment', 'countersign'));
    const spec = z.record(z.string(), z.unknown()).parse(broken.object['spec']);
    change(spec);
    const faults = schemaFaults({ ...broken, object: { ...broken.object, spec } });
    expect(faults.join('\n')).toContain(expected);
  });

  it('and one with a misspelt field deep within is found', () => {
    const { object } = the('Deployment', 'countersign');
    const text = JSON.stringify(object).replace('"readOnlyRootFilesystem"', '"readOnlyRootFileSystem"');
    const broken = { ...the('Deployment', 'countersign'), object: JSON.parse(text) as Manifest['object'] };
    expect(schemaFaults(broken)).toEqual([
      'deploy/kubernetes/deployment.yaml: Deployment has no field spec.template.spec.containers.0.securityContext.readOnlyRootFileSystem',
    ]);
  });

  it('and one of an API that is no more, or of a kind without a schema, is found', () => {
    const budget = the('PodDisruptionBudget', 'countersign');
    const old = { ...budget, object: { ...budget.object, apiVersion: 'policy/v1beta1' } };
    expect(schemaFaults(old)).toEqual([
      'deploy/kubernetes/disruption-budget.yaml: PodDisruptionBudget is of policy/v1beta1, not policy/v1',
    ]);
    expect(schemaFaults({ ...budget, kind: 'Budget' })).toEqual([
      'deploy/kubernetes/disruption-budget.yaml: Budget is a kind without a schema here',
    ]);
  });
});

const labels = z.record(z.string(), z.string());
const probe = z.object({
  httpGet: z.object({ path: z.string(), port: z.string() }),
  timeoutSeconds: z.number().default(1),
});
const container = z.object({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()).default([]),
  env: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })).default([]),
  startupProbe: z.unknown().optional(),
  livenessProbe: z.unknown().optional(),
  readinessProbe: z.unknown().optional(),
  securityContext: z.unknown(),
  volumeMounts: z.array(
    z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() }),
  ),
});
const item = z.object({ key: z.string(), path: z.string() });
const configMapRef = z.object({ name: z.string(), items: z.array(item).optional() });
const secretRef = z.object({ name: z.string(), items: z.array(item).optional() });
const volume = z.object({
  name: z.string(),
  persistentVolumeClaim: z.object({ claimName: z.string() }).optional(),
  configMap: configMapRef.optional(),
  secret: z.object({ secretName: z.string(), defaultMode: z.number() }).optional(),
  projected: z
    .object({
      sources: z.array(z.object({ configMap: configMapRef.optional(), secret: secretRef.optional() })),
    })
    .optional(),
});
const workload = z.object({
  selector: z.object({ matchLabels: labels }),
  template: z.object({
    metadata: z.object({ labels }),
    spec: z.object({
      terminationGracePeriodSeconds: z.number().default(30),
      automountServiceAccountToken: z.literal(false),
      securityContext: z.unknown(),
      containers: z.tuple([container]),
      volumes: z.array(volume),
      topologySpreadConstraints: z
        .array(z.object({ labelSelector: z.object({ matchLabels: labels }) }))
        .default([]),
    }),
  }),
  volumeClaimTemplates: z.array(z.object({ metadata: z.object({ name: z.string() }) })).default([]),
});

const job = z.object({
  jobTemplate: z.object({
    spec: z.looseObject({ template: z.object({ metadata: z.object({ labels }) }).loose() }),
  }),
});

const WORKLOADS = manifests.filter(({ kind }) => ['Deployment', 'StatefulSet', 'CronJob'].includes(kind));
const specOf = ({ kind, object }: Manifest): z.output<typeof workload> => {
  if (kind !== 'CronJob') return workload.parse(object['spec']);
  // Kubernetes gives a job its selector.
  const { spec } = job.parse(object['spec']).jobTemplate;
  return workload.parse({ ...spec, selector: { matchLabels: spec.template.metadata.labels } });
};
const service = specOf(the('Deployment', 'countersign'));
const [serving] = service.template.spec.containers;

/** The keys of a ConfigMap or a Secret; undefined where there is none. */
function keysOf(kind: 'ConfigMap' | 'Secret', name: string): readonly string[] | undefined {
  if (kind === 'ConfigMap') {
    const files = configMaps.get(name);
    return files === undefined ? undefined : [...files.keys()];
  }
  const secret = secrets.find((each) => each.name === name);
  return secret === undefined ? undefined : Object.keys(labels.parse(secret.object['stringData']));
}

/** The paths of files that a volume has, within it. */
function pathsIn({ configMap, secret, projected }: z.output<typeof volume>): readonly string[] {
  const from = (kind: 'ConfigMap' | 'Secret', name: string, items?: readonly z.output<typeof item>[]) => {
    const keys = keysOf(kind, name);
    if (keys === undefined) throw new Error(`there is no ${kind} ${name}`);
    for (const { key } of items ?? []) expect(keys).toContain(key);
    return items === undefined ? keys : items.map(({ path }) => path);
  };
  return [
    ...(configMap === undefined ? [] : from('ConfigMap', configMap.name, configMap.items)),
    ...(secret === undefined ? [] : from('Secret', secret.secretName)),
    ...(projected?.sources ?? []).flatMap((source) => [
      ...(source.configMap === undefined
        ? []
        : from('ConfigMap', source.configMap.name, source.configMap.items)),
      ...(source.secret === undefined ? [] : from('Secret', source.secret.name, source.secret.items)),
    ]),
  ];
}

/** Every file that a pod of the workload has. */
function filesOf({ template: { spec } }: z.output<typeof workload>): readonly string[] {
  return spec.containers[0].volumeMounts.flatMap(({ name, mountPath }) => {
    const mounted = spec.volumes.find((each) => each.name === name);
    return mounted === undefined ? [] : pathsIn(mounted).map((path) => `${mountPath}/${path}`);
  });
}

describe('the workloads', () => {
  it.each(WORKLOADS.map((manifest) => [manifest.name, manifest] as const))(
    '%s selects its own pods, and spreads them',
    (_name, manifest) => {
      const { selector, template } = specOf(manifest);
      expect(template.metadata.labels).toMatchObject(selector.matchLabels);
      for (const { labelSelector } of template.spec.topologySpreadConstraints) {
        expect(labelSelector.matchLabels).toEqual(selector.matchLabels);
      }
      const others = WORKLOADS.filter((other) => other !== manifest);
      for (const other of others) {
        expect(specOf(other).template.metadata.labels).not.toMatchObject(selector.matchLabels);
      }
    },
  );

  it.each(WORKLOADS.map((manifest) => [manifest.name, manifest] as const))(
    '%s mounts what there is: every ConfigMap, Secret and key',
    (_name, manifest) => {
      const { template, volumeClaimTemplates } = specOf(manifest);
      const { volumes, containers } = template.spec;
      const names = [
        ...volumes.map(({ name }) => name),
        ...volumeClaimTemplates.map(({ metadata }) => metadata.name),
      ];
      expect(containers[0].volumeMounts.map(({ name }) => name).sort()).toEqual([...names].sort());
      for (const { persistentVolumeClaim } of volumes)
        if (persistentVolumeClaim !== undefined)
          the('PersistentVolumeClaim', persistentVolumeClaim.claimName);
      const files = volumes.filter((each) => each.persistentVolumeClaim === undefined);
      for (const each of files) expect(pathsIn(each).length).toBeGreaterThan(0);
    },
  );

  it.each(WORKLOADS.map((manifest) => [manifest.name, manifest] as const))(
    '%s runs without root, rights and a writable root file system, and its secrets are not for all',
    (_name, manifest) => {
      const { spec } = specOf(manifest).template;
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(spec.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      const modes = spec.volumes.flatMap(({ secret }) => secret?.defaultMode.toString(8) ?? []);
      for (const mode of modes) expect(mode).toBe('440');
    },
  );

  it('every secret of the template is used, and holds no value', () => {
    const texts = WORKLOADS.map(({ object }) => JSON.stringify(object)).join('');
    for (const { name, object } of secrets) {
      expect(texts).toContain(`"${name}"`);
      expect(Object.values(labels.parse(object['stringData'])).join('')).toBe('');
    }
  });

  it('every ConfigMap that is generated is used', () => {
    const texts = WORKLOADS.map(({ object }) => JSON.stringify(object)).join('');
    for (const name of configMaps.keys()) expect(texts).toContain(`"name":"${name}"`);
  });
});

/** Every file that a setting names. */
function filesIn(node: unknown): readonly string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([name, child]: [string, unknown]) =>
    name === 'file' && typeof child === 'string' ? [child] : filesIn(child),
  );
}

describe('the settings of the pods', () => {
  it('load, and are those that the pods are started with', () => {
    const file = '/etc/countersign/countersign.yaml';
    expect(filesOf(service)).toContain(file);
    expect(serving.args).toEqual(['serve', '--config', file]);
    expect(serving.env).toContainEqual({ name: 'COUNTERSIGN_CONFIG', value: file });
    expect(configMaps.get('countersign-settings')?.get('countersign.yaml')).toBe(
      'deploy/kubernetes/settings/countersign.yaml',
    );
  });

  it('name only files that the pods have', () => {
    const named = filesIn(settings);
    expect(named.length).toBeGreaterThan(3);
    for (const file of named) expect(filesOf(service)).toContain(file);
  });

  it('are those of the operator as well, but for its user of Redis', () => {
    const operator = specOf(the('Deployment', 'countersign-operator'));
    const [{ env }] = operator.template.spec.containers;
    const over = loadSettings({
      file: join(ROOT, 'deploy/kubernetes/settings/countersign.yaml'),
      env: Object.fromEntries(
        env.filter(({ name }) => name !== 'COUNTERSIGN_CONFIG').map(({ name, value }) => [name, value]),
      ),
    });
    expect(over.store).toMatchObject({ ...settings.store, username: 'countersign-operator' });
    expect(filesOf(operator)).toContain(filesIn(over.store)[0]);
    const directory = `${settings.policies.directory}/`;
    const policies = filesOf(operator).filter((path) => path.startsWith(directory));
    expect(policies.map((path) => path.slice(directory.length)).sort()).toEqual([
      'payments.yaml',
      'tests/payments.test.yaml',
      'tests/transfers.test.yaml',
      'transfers.yaml',
    ]);
  });

  it('have a service that never begins anew by itself, and that listens for its pod and not for itself alone', () => {
    expect(settings.policies.push).toBe('never');
    expect([settings.public.host, settings.ops.host]).toEqual(['0.0.0.0', '0.0.0.0']);
  });

  it('leave time to stop: shorter than terminationGracePeriodSeconds', () => {
    const { shutdownDelayMs, shutdownGraceMs } = settings.public;
    const { terminationGracePeriodSeconds } = service.template.spec;
    expect(shutdownDelayMs).toBeGreaterThanOrEqual(2000);
    expect(shutdownGraceMs).toBeGreaterThan(settings.answerTimeoutMs);
    // The grace is given to callers, and then once more to what is still with the store.
    expect(terminationGracePeriodSeconds * 1000).toBeGreaterThan(shutdownDelayMs + 2 * shutdownGraceMs);
  });
});

const servicePort = z.object({ name: z.string(), port: z.number(), targetPort: z.string() });
const serviceSpec = z.object({ selector: labels, ports: z.tuple([servicePort]) });

describe('ports', () => {
  it('of the container are those of the settings', () => {
    expect(serving.ports).toEqual([
      { name: 'public', containerPort: settings.public.port },
      { name: 'ops', containerPort: settings.ops.port },
    ]);
  });

  it.each([
    ['countersign', 'public', settings.public.port, service],
    ['countersign-ops', 'ops', settings.ops.port, service],
    ['countersign-redis', 'redis', 6379, specOf(the('StatefulSet', 'countersign-redis'))],
  ] as const)('of the service %s lead to %s', (name, target, port, { template }) => {
    const { selector, ports } = serviceSpec.parse(the('Service', name).object['spec']);
    expect(template.metadata.labels).toMatchObject(selector);
    expect(ports).toMatchObject([{ port, targetPort: target }]);
    const there = template.spec.containers[0].ports.map((each) => each.name);
    expect(there).toContain(target);
  });

  it('and the address of Redis in the settings is that service', () => {
    expect(settings.store.url).toBe('redis://countersign-redis:6379/0');
  });

  it('are probed on paths that the ops port has', async () => {
    const running = await startTestService();
    try {
      for (const [name, given] of Object.entries({
        startup: serving.startupProbe,
        liveness: serving.livenessProbe,
        readiness: serving.readinessProbe,
      })) {
        const { httpGet, timeoutSeconds } = probe.parse(given);
        expect([name, httpGet.port]).toEqual([name, 'ops']);
        expect(httpGet.path).toBe(name === 'readiness' ? '/readyz' : '/healthz');
        expect((await fetch(`${running.ops}${httpGet.path}`)).status).toBe(200);
        // Each look of /readyz takes at most a second.
        expect(timeoutSeconds).toBeGreaterThan(name === 'readiness' ? 1 : 0);
      }
    } finally {
      await running.stop();
    }
  });
});

describe('network policies', () => {
  const rule = z.object({ ports: z.array(z.object({ port: z.union([z.string(), z.number()]) })) });
  const policy = z.object({
    podSelector: z.object({ matchLabels: labels.default({}) }),
    policyTypes: z.array(z.string()),
    ingress: z.array(rule.extend({ from: z.array(z.unknown()).min(1) })).default([]),
    egress: z.array(rule.extend({ to: z.array(z.unknown()).min(1) })).default([]),
  });
  const of = (name: string): z.output<typeof policy> =>
    policy.parse(the('NetworkPolicy', name).object['spec']);

  it('shut everything that is not opened', () => {
    const spec = of('nothing-else');
    expect(spec).toEqual({
      podSelector: { matchLabels: {} },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
      egress: [],
    });
  });

  it.each([
    ['countersign', ['public', 'ops'], [6379, 53, 53]],
    ['countersign-operator', [], [6379, 53, 53]],
    ['countersign-redis', ['redis'], []],
    ['countersign-redis-backup', [], [6379, 53, 53]],
  ])('open for %s what it needs, to somebody named', (name, inwards, outwards) => {
    const spec = of(name);
    const workloadOf = WORKLOADS.find((each) => each.name === name);
    if (workloadOf === undefined) throw new Error(`there is no ${name}`);
    expect(specOf(workloadOf).template.metadata.labels).toMatchObject(spec.podSelector.matchLabels);
    expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
    expect(spec.ingress.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual(inwards);
    expect(spec.egress.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual(outwards);
    const named = specOf(workloadOf).template.spec.containers[0].ports.map((each) => each.name);
    for (const port of inwards) expect(named).toContain(port);
  });

  it('let gateway and monitoring each to one port', () => {
    const [fromGateway, fromMonitoring, ...others] = of('countersign').ingress;
    expect(others).toEqual([]);
    expect(JSON.stringify(fromGateway)).toContain('"gateway"');
    expect(fromGateway?.ports).toEqual([{ port: 'public' }]);
    expect(JSON.stringify(fromMonitoring)).toContain('"monitoring"');
    expect(fromMonitoring?.ports).toEqual([{ port: 'ops' }]);
  });
});

describe('the policies', () => {
  /** A folder as the kubelet makes it: what is seen are links to links, so that all of it changes at once. */
  function mounted(): string {
    const folder = temporaryFolder();
    cpSync(join(ROOT, 'deploy/kubernetes/policies'), join(folder, '..2026_11_21'), { recursive: true });
    symlinkSync('..2026_11_21', join(folder, '..data'));
    for (const name of ['payments.yaml', 'transfers.yaml', 'tests']) {
      symlinkSync(join('..data', name), join(folder, name));
    }
    return folder;
  }

  it('are valid, and pass their tests, as they are mounted', async () => {
    const folder = mounted();
    const config = ['--config', join(ROOT, 'deploy/kubernetes/settings/countersign.yaml'), '--json'];
    const validated = await runCall(['policy', 'validate', folder, ...config]);
    expect({ code: validated.code, err: validated.err }).toEqual({ code: 0, err: '' });
    const { code, json } = await runCall(['policy', 'test', folder, ...config]);
    expect(code).toBe(0);
    expect(json()).toMatchObject({ passed: 5, failed: 0 });
  });
});

describe('the rest', () => {
  it('keeps all but one of the replicas through a disruption', () => {
    const spec = z
      .object({ maxUnavailable: z.literal(1), selector: z.object({ matchLabels: labels }) })
      .parse(the('PodDisruptionBudget', 'countersign').object['spec']);
    expect(spec.selector.matchLabels).toEqual(service.selector.matchLabels);
    expect(
      z.object({ replicas: z.number().min(3) }).parse(the('Deployment', 'countersign').object['spec']),
    ).toBeTruthy();
  });

  it('runs the version of package.json, by the name that the kustomization gives a tag', () => {
    const { version } = z
      .object({ version: z.string() })
      .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
    expect(images).toMatchObject([{ name: 'countersign', newTag: version }]);
    expect(serving.image).toBe('countersign');
  });
});

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

describe.skipIf(!hasKubectl)('kubectl itself (skipped where there is no `kubectl`)', () => {
  const built = z.object({ kind: z.string(), metadata: z.object({ name: z.string() }) });

  it.each(['deploy/kubernetes', 'deploy/kubernetes-ingress', 'deploy/monitoring'])(
    'would apply all objects of %s',
    (folder) => {
      const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', folder], {
        cwd: ROOT,
        encoding: 'utf8',
      });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      const names = parseAllDocuments(stdout).map((document) => {
        const { kind, metadata } = built.parse(document.toJS());
        // A generated ConfigMap has a digest of its content in its name.
        return `${kind} ${kind === 'ConfigMap' ? metadata.name.replace(/-[a-z0-9]{10}$/, '') : metadata.name}`;
      });
      const own = kustomized(folder);
      const expected = [
        ...own.manifests.map(({ kind, name }) => `${kind} ${name}`),
        ...[...own.configMaps.keys()].map((name) => `ConfigMap ${name}`),
      ];
      expect(names.toSorted()).toEqual(expected.toSorted());
    },
  );

  it('makes of deploy/kubernetes what deploy/countersign.yaml has', () => {
    const { stdout } = spawnSync('kubectl', ['kustomize', 'deploy/kubernetes'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    const objectsOf = (text: string): readonly unknown[] =>
      parseAllDocuments(text)
        .map((document): unknown => document.toJS())
        .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
    const nameOf = (object: unknown): string => {
      const { kind, metadata } = built.parse(object);
      return `${kind} ${metadata.name}`;
    };
    expect(objectsOf(textOf('deploy/countersign.yaml'))).toEqual(objectsOf(stdout));
  });
});
