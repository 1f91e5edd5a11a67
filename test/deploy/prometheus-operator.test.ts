import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { readHere } from '../../tools/generate/marks.ts';
import { kustomized, manifestsIn, prometheusRule } from '../../tools/generate/manifests.ts';
import { ALERTS_FILE, alertRules } from './alert-rules.ts';
import { textOf } from './documents.ts';

const labels = z.record(z.string(), z.string());
const metadata = z.strictObject({ name: z.literal('countersign'), labels });
const apiVersion = z.literal('monitoring.coreos.com/v1');
/** The fields of the operator's resources that the files use. */
const podMonitor = z.strictObject({
  apiVersion,
  kind: z.literal('PodMonitor'),
  metadata,
  spec: z.strictObject({
    selector: z.strictObject({ matchLabels: labels }),
    podMetricsEndpoints: z.tuple([z.strictObject({ port: z.string(), path: z.literal('/metrics') })]),
  }),
});
const deployment = z.object({
  template: z.object({
    metadata: z.object({ labels }),
    spec: z.object({
      containers: z.tuple([z.object({ ports: z.array(z.object({ name: z.string() })) })]),
    }),
  }),
});

describe('deploy/monitoring', () => {
  const { manifests, namespace } = kustomized('deploy/monitoring');
  const [monitor, rule, ...others] = manifests;

  it('has the two objects of the operator, in the namespace of the service', () => {
    expect([monitor?.kind, rule?.kind, others, namespace]).toEqual([
      'PodMonitor',
      'PrometheusRule',
      [],
      kustomized('deploy/kubernetes').namespace,
    ]);
  });

  it('scrapes the ops port of the pods of the service, under a job that the alerts know', () => {
    const { spec } = podMonitor.parse(monitor?.object);
    const [service] = manifestsIn('deploy/kubernetes/deployment.yaml');
    const { template } = deployment.parse(service?.object['spec']);
    expect(spec.selector.matchLabels).toEqual(template.metadata.labels);
    const ports = template.spec.containers[0].ports.map(({ name }) => name);
    expect(ports).toContain(spec.podMetricsEndpoints[0].port);
    const [, job = ''] = /up\{job=~"(.*?)"\}/.exec(textOf(ALERTS_FILE)) ?? [];
    expect(`${namespace}/${monitor?.name}`).toMatch(new RegExp(`^${job}$`));
  });

  it('has all alerts of deploy/prometheus/alerts.yaml as they are there', () => {
    const [path, current] = prometheusRule(readHere);
    expect(textOf(path)).toBe(current);
    expect(rule?.object).toEqual({
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PrometheusRule',
      metadata: { name: 'countersign', labels: { 'app.kubernetes.io/name': 'countersign' } },
      spec: parse(textOf(ALERTS_FILE)),
    });
    expect(alertRules.length).toBeGreaterThan(30);
  });
});
