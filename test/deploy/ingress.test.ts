import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadSettings } from '../../src/settings/load.ts';
import { PAYMENT_PATH } from '../../src/settings/sources.ts';
import { ROOT } from './documents.ts';
import { schemaFaults } from './kubernetes-schemas.ts';
import { kustomized, manifestsIn } from '../../tools/generate/manifests.ts';

const { manifests } = kustomized('deploy/kubernetes-ingress');
const settings = loadSettings({ file: join(ROOT, 'deploy/kubernetes/settings/countersign.yaml'), env: {} });

const ingress = z.object({
  metadata: z.object({ annotations: z.record(z.string(), z.string()) }),
  spec: z.object({
    tls: z.array(z.object({ hosts: z.array(z.string()), secretName: z.string() })).min(1),
    rules: z.array(
      z.object({
        host: z.string(),
        http: z.object({
          paths: z.array(
            z.object({
              path: z.string(),
              pathType: z.literal('Exact'),
              backend: z.object({
                service: z.object({ name: z.string(), port: z.object({ name: z.string() }) }),
              }),
            }),
          ),
        }),
      }),
    ),
  }),
});
const found = manifests.filter(({ kind }) => kind === 'Ingress');
const read = found.map(({ object }) => ingress.parse(object));

describe('the Ingress of deploy/kubernetes-ingress', () => {
  it.each(found.map((manifest) => [manifest.name, manifest] as const))(
    '%s fits the schema of Kubernetes, with no field that it does not know',
    (_name, manifest) => {
      expect(schemaFaults(manifest)).toEqual([]);
    },
  );

  it.each([
    ['a misspelt field', '"ingressClassName"', '"ingressClass"', 'has no field spec.ingressClass'],
    ['a number that is too large', '{"name":"public"}', '{"number":"public"}', 'number'],
  ])('and one with %s is found', (_fault, from, to, expected) => {
    const [first] = manifestsIn('deploy/kubernetes-ingress/ingress.yaml');
    const text = JSON.stringify(first?.object);
    expect(text).toContain(from);
    const object = JSON.parse(text.replace(from, to)) as Record<string, unknown>;
    const faults = schemaFaults({ file: 'ingress.yaml', kind: 'Ingress', name: 'broken', object });
    expect(faults.join('\n')).toContain(expected);
  });

  it('lets in the paths of the settings, each once, and nothing else', () => {
    const paths = read.flatMap(({ spec }) =>
      spec.rules.flatMap(({ http }) => http.paths.map(({ path }) => path)),
    );
    const served = settings.sources.flatMap((source) =>
      source.callback === 'cosigner' ? [source.paths.withdraw, source.paths.web3] : [PAYMENT_PATH],
    );
    expect(new Set(paths)).toEqual(new Set(served));
    expect(paths.length).toBe(served.length);
  });

  it('leads to a port that the service has', () => {
    for (const { spec } of read) {
      for (const { service } of spec.rules.flatMap(({ http }) => http.paths.map(({ backend }) => backend))) {
        const named = manifests.find(({ kind, name }) => kind === 'Service' && name === service.name);
        expect(named?.object).toMatchObject({ spec: { ports: [{ name: service.port.name }] } });
      }
    }
  });

  it('has TLS for each of its hosts, and a host of its own for the co-signer, who shows a certificate', () => {
    const hosts = read.map(({ spec }) => spec.rules.map(({ host }) => host));
    expect(read.map(({ spec }) => spec.tls.flatMap(({ hosts: secured }) => secured))).toEqual(hosts);
    expect(new Set(hosts.flat()).size).toBe(2);
    const verified = read.filter(({ metadata }) =>
      Object.keys(metadata.annotations).some((name) => name.endsWith('/auth-tls-secret')),
    );
    expect(
      verified.flatMap(({ spec }) => spec.rules.flatMap(({ http }) => http.paths)).map(({ path }) => path),
    ).toEqual(['/cosigner/withdraw', '/cosigner/web3']);
  });

  it('waits longer than an answer takes, and takes as much as the service reads', () => {
    for (const { metadata } of read) {
      const annotation = (name: string): string =>
        metadata.annotations[`nginx.ingress.kubernetes.io/${name}`] ?? '';
      expect(Number(annotation('proxy-read-timeout')) * 1000).toBeGreaterThan(settings.answerTimeoutMs);
      expect(annotation('proxy-body-size')).toBe(`${settings.public.limits.bodyBytes / 1024}k`);
    }
  });
});
