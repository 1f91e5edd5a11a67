import { describe, expect, it } from 'vitest';
import { holdsCredentials, storeAddress } from '../../src/settings/store.ts';

const node = (host: string, port = 6379): { host: string; port: number } => ({ host, port });

describe('a store URL', () => {
  it.each([
    ['embedded:data/countersign.db', { kind: 'embedded', path: 'data/countersign.db' }],
    ['embedded:/var/lib/c:d.db', { kind: 'embedded', path: '/var/lib/c:d.db' }],
    ['redis://redis', { kind: 'redis', tls: false, nodes: [node('redis')], database: 0 }],
    ['redis://redis/', { kind: 'redis', tls: false, nodes: [node('redis')], database: 0 }],
    ['rediss://10.0.0.1:6380/3', { kind: 'redis', tls: true, nodes: [node('10.0.0.1', 6380)], database: 3 }],
    ['redis://[fd00::1]:6380/0', { kind: 'redis', tls: false, nodes: [node('fd00::1', 6380)], database: 0 }],
    [
      'redis-sentinel://a,b:26380/main/2',
      {
        kind: 'sentinel',
        tls: false,
        nodes: [node('a', 26379), node('b', 26380)],
        primary: 'main',
        database: 2,
      },
    ],
    [
      'rediss-sentinel://a/main',
      { kind: 'sentinel', tls: true, nodes: [node('a', 26379)], primary: 'main', database: 0 },
    ],
    [
      'rediss-cluster://a:7000,b:7001',
      { kind: 'cluster', tls: true, nodes: [node('a', 7000), node('b', 7001)] },
    ],
  ])('%s is read', (url, address) => {
    expect(storeAddress(url)).toEqual(address);
  });

  it.each([
    '',
    'embedded:',
    'redis:',
    'redis://',
    'redis:///0',
    'REDIS://redis',
    'redis://a,b/0',
    'redis://redis/x',
    'redis://redis/-1',
    'redis://redis/0/1',
    'redis://redis:0',
    'redis://redis:65536',
    'redis://redis:x',
    'redis://redis/0?tls=true',
    'redis://redis/0#x',
    'redis://user@redis/0',
    'redis-sentinel://a',
    'redis-sentinel://a/main/x',
    'redis-cluster://a/1',
    'redis-cluster://a,,b',
    'redis-other://a',
    'http://redis',
  ])('%j is none', (url) => {
    expect(storeAddress(url)).toBeUndefined();
  });

  it.each(['redis://:p@h', 'rediss://u:p@h/0', 'redis-cluster://u:p@h', 'REDIS://:p@h'])(
    '%s holds credentials',
    (url) => {
      expect(holdsCredentials(url)).toBe(true);
    },
  );

  it('of a file may have an @', () => {
    expect(holdsCredentials('embedded:a@b.db')).toBe(false);
  });
});
