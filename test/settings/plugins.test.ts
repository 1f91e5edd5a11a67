import { describe, expect, it } from 'vitest';
import type { ModuleConfig, ServiceConfig } from '../../src/plugins/config.ts';
import { SHOP, linesOf, refusalOf, settingsOf } from './written.ts';

const DIGEST = 'a'.repeat(64);
const service = (rest = ''): string =>
  `{ name: risk, url: 'https://risk.example/ask', secret: { env: R }${rest} }`;
const module = (rest = ''): string => `{ name: own-check, file: own.mjs, sha256: ${DIGEST}${rest} }`;
const services = (...written: readonly string[]): string => `${SHOP}services: [${written.join(', ')}]\n`;
const modules = (...written: readonly string[]): string => `${SHOP}modules: [${written.join(', ')}]\n`;

describe('services and modules', () => {
  it('have defaults for all that the user need not choose', () => {
    const found: readonly ServiceConfig[] = settingsOf(services(service())).services;
    expect(found).toEqual([
      {
        name: 'risk',
        url: 'https://risk.example/ask',
        secret: { env: 'R' },
        timeoutMs: 500,
        concurrency: 32,
        waiting: 64,
        breaker: { failures: 5, cooldownMs: 5000 },
      },
    ]);
    const others: readonly ModuleConfig[] = settingsOf(modules(module())).modules;
    expect(others).toEqual([
      {
        name: 'own-check',
        file: expect.stringMatching(/^\/.*\/own\.mjs$/),
        sha256: DIGEST,
        timeoutMs: 200,
        memoryMb: 64,
        concurrency: 2,
        waiting: 64,
        breaker: { failures: 5, cooldownMs: 5000 },
      },
    ]);
  });

  it('default to none, and a service may share its name with a module', () => {
    expect(settingsOf(SHOP)).toMatchObject({ services: [], modules: [] });
    const yaml = `${services(service())}modules: [${module().replace('own-check', 'risk')}]\n`;
    expect(settingsOf(yaml).modules[0]?.name).toBe('risk');
  });

  it('can be written in variables', () => {
    const env = {
      COUNTERSIGN_SERVICES_0_NAME: 'risk',
      COUNTERSIGN_SERVICES_0_URL: 'http://127.0.0.1:9000',
      COUNTERSIGN_SERVICES_0_SECRET_ENV: 'COUNTERSIGN_RISK',
      COUNTERSIGN_RISK: 'hush',
      COUNTERSIGN_SERVICES_0_BREAKER_FAILURES: '7',
      COUNTERSIGN_MODULES_0_NAME: 'own',
      COUNTERSIGN_MODULES_0_FILE: 'own.mjs',
      COUNTERSIGN_MODULES_0_SHA256: DIGEST,
    };
    const { services: found, modules: others } = settingsOf(SHOP, env);
    expect(found[0]).toMatchObject({ name: 'risk', breaker: { failures: 7, cooldownMs: 5000 } });
    expect(others[0]).toMatchObject({ name: 'own', sha256: DIGEST });
  });

  it.each(['http://localhost:9000/ask', 'https://[::1]:9000/ask?version=1', 'https://risk'])(
    'a service may be at %s',
    (url) => {
      expect(settingsOf(services(service().replace('https://risk.example/ask', url))).services[0]?.url).toBe(
        url,
      );
    },
  );

  it.each([
    'risk.example/ask',
    'ftp://risk.example/',
    'file:///etc/passwd',
    'https://',
    'https://user:hush@risk.example/',
    'https://risk.example/#ask',
    'https://risk.example:99999/',
    'https://risk .example/',
    '',
  ])('but not at %j, which is not repeated', (url) => {
    const refusal = refusalOf(services(service().replace('https://risk.example/ask', url)));
    expect(refusal.faults).toHaveLength(1);
    expect(refusal.faults[0]).toMatchObject({ setting: 'services[0].url' });
    expect(refusal.faults[0]?.cure).toContain('write a URL such as https://risk.example/ask');
    expect(refusal.message).not.toContain('hush');
  });

  it.each([
    [services(service(', secret2: x')), 'services[0].secret2 is not a setting; did you mean secret?'],
    [
      services(service().replace('{ env: R }', 'hush')),
      'services[0].secret has an invalid value; write { file: PATH }',
    ],
    [services(service().replace('name: risk', 'name: Risk')), 'services[0].name has an invalid value'],
    [
      services(service(', timeoutMs: 49')),
      'services[0].timeoutMs has an invalid value; write a whole number from 50',
    ],
    [services(service(', concurrency: 0')), 'services[0].concurrency has an invalid value'],
    [services(service(', breaker: { failures: 0 }')), 'services[0].breaker.failures has an invalid value'],
    [
      modules(module().replace(DIGEST, DIGEST.slice(1))),
      'modules[0].sha256 has an invalid value; write the SHA-256',
    ],
    [modules(module().replace(DIGEST, DIGEST.toUpperCase())), 'modules[0].sha256 has an invalid value'],
    [
      modules(module(', memoryMb: 15')),
      'modules[0].memoryMb has an invalid value; write a whole number from 16',
    ],
    [modules(module(', timeoutMs: 9')), 'modules[0].timeoutMs has an invalid value'],
    [
      services(service(), service(', timeoutMs: 60')),
      'services[1].name is also the name of services[0]; give each of the services its own name',
    ],
    [
      modules(module(), module()),
      'modules[1].name is also the name of modules[0]; give each of the modules its own name',
    ],
    [
      services(service(', timeoutMs: 2000')),
      'services[0].timeoutMs is 2000, not below answerTimeoutMs, 2000; write less than 2000, or increase answerTimeoutMs',
    ],
    [
      `${modules(module())}answerTimeoutMs: 200\n`,
      'modules[0].timeoutMs is 200, not below answerTimeoutMs, 200',
    ],
    [
      `${services(service())}answerTimeoutMs: 500\n`,
      'services[0].timeoutMs is 500, not below answerTimeoutMs, 500',
    ],
  ])('%s', (yaml, fault) => {
    const lines = linesOf(refusalOf(yaml));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(fault);
  });

  it('may take any time below that for an answer', () => {
    expect(settingsOf(services(service(', timeoutMs: 1999'))).services[0]?.timeoutMs).toBe(1999);
    expect(settingsOf(`${modules(module())}answerTimeoutMs: 201\n`).modules[0]?.timeoutMs).toBe(200);
  });
});
