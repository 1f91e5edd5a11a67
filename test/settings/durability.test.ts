import { describe, expect, it } from 'vitest';
import { SHOP, refuses, settingsOf } from './written.ts';

const redis = 'url: redis://redis:6379/0';
const NAME_REDIS = 'name a Redis with replicas in store.url, or delete store.durability';
const REPLICAS = 'write a whole number from 0 to 16, or delete the line for the default, 0';
const TIMEOUT = 'write a whole number from 10 to 10000, or delete the line for the default, 100';

describe('the durability of a store', () => {
  it('defaults to the memory of the primary', () => {
    expect(settingsOf(SHOP).store.durability).toEqual({ replicas: 0, timeoutMs: 100 });
  });

  it('is that of the file, or of the environment', () => {
    const written = `${SHOP}store: { ${redis}, durability: { replicas: 2, timeoutMs: 250 } }\n`;
    expect(settingsOf(written).store.durability).toEqual({ replicas: 2, timeoutMs: 250 });
    const env = { COUNTERSIGN_STORE_DURABILITY_REPLICAS: '1' };
    expect(settingsOf(written, env).store.durability).toEqual({ replicas: 1, timeoutMs: 250 });
  });

  it.each([
    'redis-sentinel://a,b/main',
    'redis-cluster://a,b',
    'rediss://a',
    'rediss-sentinel://a/main',
    'rediss-cluster://a',
  ])('may wait for replicas on %s', (url) => {
    const written = `${SHOP}store: { url: "${url}", durability: { replicas: 1 } }\n`;
    expect(settingsOf(written).store.durability.replicas).toBe(1);
  });

  it('may be set for an embedded store only to 0 replicas', () => {
    const written = `${SHOP}store: { url: "embedded:a.db", durability: { replicas: 0, timeoutMs: 5000 } }\n`;
    expect(settingsOf(written).store.durability.replicas).toBe(0);
  });

  refuses(
    `
{ url: "embedded:a.db", durability: { replicas: 1 } }
! FILE:2:46: store.durability.replicas has no effect on an embedded store; ${NAME_REDIS}
{ durability: { replicas: 1 } }
! FILE:2:24: store.durability.replicas has no effect on an embedded store; ${NAME_REDIS}
{ ${redis}, durability: { replicas: 1, timeoutMs: 1000 } }
! FILE:2:37: store.durability has a timeoutMs of 1000, not below store.commandTimeoutMs, 1000; write a timeoutMs below 1000, or increase store.commandTimeoutMs
{ ${redis}, commandTimeoutMs: 100, durability: { replicas: 1 } }
! FILE:2:60: store.durability has a timeoutMs of 100, not below store.commandTimeoutMs, 100; write a timeoutMs below 100, or increase store.commandTimeoutMs
{ ${redis}, durability: { replicas: -1 } }
! FILE:2:51: store.durability.replicas has an invalid value; ${REPLICAS}
{ ${redis}, durability: { replicas: 1.5 } }
! FILE:2:51: store.durability.replicas has an invalid value; ${REPLICAS}
{ ${redis}, durability: { replicas: 1, timeoutMs: 0 } }
! FILE:2:64: store.durability.timeoutMs has an invalid value; ${TIMEOUT}
{ ${redis}, durability: { replicas: 1, timeoutMs: long } }
! FILE:2:64: store.durability.timeoutMs has an invalid value; ${TIMEOUT}
`,
    (store) => `${SHOP}store: ${store}`,
  );
});
