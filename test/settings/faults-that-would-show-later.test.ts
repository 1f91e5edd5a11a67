import { describe, expect, it } from 'vitest';
import { SHOP, refusalOf, settingsOf } from './written.ts';

/*
 * Values of the right shape that nothing could use: the service would start, and fail when it listens, when
 * it connects, or when somebody signs in.
 */

const passkeys = (host: string, origin: string): string =>
  `ops: { hosts: [${host}] }\nconsole: { passkeys: { host: ${host}, origin: "${origin}" } }\n`;
const person = (name: string, role: string): string => `{ name: ${name}, roles: [${role}] }`;
const proxy = (rest: string): string => `console: { proxy: { header: x-user, ${rest} } }\n`;
const service = (url: string): string => `services: [{ name: risk, url: "${url}", secret: { env: S } }]\n`;

describe('is refused at the start:', () => {
  it.each([
    // Browsers leave the default port out, so no page would ever have this origin.
    ['an origin with the default port', passkeys('o.example', 'https://o.example:443'), 'passkeys.origin'],
    ['an origin on http with its port', passkeys('localhost', 'http://localhost:80'), 'passkeys.origin'],
    [
      'an origin with a port above 65535',
      passkeys('o.example', 'https://o.example:99999'),
      'passkeys.origin',
    ],
    [
      'an origin with a port that starts with 0',
      passkeys('o.example', 'https://o.example:0443'),
      'passkeys.origin',
    ],
    ['passkeys for an address', passkeys('10.0.0.1', 'https://10.0.0.1'), 'passkeys.host'],
    ['passkeys for an impossible address', passkeys('10.0.0.256', 'https://o.example'), 'passkeys.host'],
    [
      'a person twice, with different roles',
      proxy(`addresses: [10.0.0.1], people: [${person('ada', 'read')}, ${person('ada', 'operate')}]`),
      'console.proxy.people[1].name is also the name of console.proxy.people[0]; list each person once',
    ],
    ['a mapped address of a proxy', 'public: { trustedProxies: ["::ffff:10.0.0.1"] }\n', 'trustedProxies[0]'],
    [
      'a mapped address of a sign-on proxy',
      proxy(`addresses: ["::ffff:10.0.0.0/104"], people: [${person('ada', 'read')}]`),
      'proxy.addresses[0] has an invalid value; write it as an IPv4 address or range',
    ],
    ['an impossible address to listen on', 'public: { host: 10.0.0.256 }\n', 'public.host'],
    ['a port in the address to listen on', 'ops: { host: "127.0.0.1:9090" }\n', 'ops.host'],
    ['brackets in the address to listen on', 'public: { host: "[::1]" }\n', 'public.host'],
    ['a zone in the address to listen on', 'public: { host: "fe80::1%eth0" }\n', 'public.host'],
    ['half an address to listen on', 'public: { host: "10.0.0" }\n', 'public.host'],
    ['a label that begins with a hyphen', 'public: { host: -a.example }\n', 'public.host'],
    ['an impossible address of the store', 'store: redis://10.0.0.256/0\n', 'store.url'],
    ['half an address of the store', 'store: redis://10.0.0:6379/0\n', 'store.url'],
    ['an impossible IPv6 address of the store', 'store: "redis://[::::1]:6379/0"\n', 'store.url'],
    ['a sentinel without a label', 'store: redis-sentinel://a..b:26379/main\n', 'store.url'],
    ['a node of a Cluster that is a hyphen', 'store: redis-cluster://a:7000,-:7001\n', 'store.url'],
    ['port 0 of the platform', 'platform: { url: "https://openapi.example:0" }\n', 'platform.url'],
    ['port 0 of a service', service('https://risk.example:0/ask'), 'services[0].url'],
    ['an impossible port of a service', service('https://risk.example:65536/ask'), 'services[0].url'],
    ['an impossible address of a service', service('https://10.0.0.256/ask'), 'services[0].url'],
    // Node would keep idle connections for ever.
    [
      'no time at all for idle connections',
      'public: { limits: { keepAliveTimeoutMs: 0 } }\n',
      'keepAliveTimeoutMs',
    ],
    ['a host that is half an address', 'ops: { hosts: ["10.0.0.256"] }\n', 'ops.hosts[0]'],
  ])('%s', (_, yaml, fault) => {
    expect(refusalOf(SHOP + yaml).message).toContain(fault);
  });
});

describe('is accepted:', () => {
  it.each([
    ['an origin with another port', passkeys('o.example', 'https://o.example:8443')],
    ['an origin of this machine', passkeys('localhost', 'http://localhost:9090')],
    ['IPv6 addresses', 'public: { host: "::" }\nops: { host: "::1" }\n'],
    ['a host name to listen on', 'public: { host: cosigner.internal }\n'],
    ['host names with an underscore and a number', 'store: redis-sentinel://redis_1:26379,2.redis/main\n'],
    ['a service with a port and a query', service('http://127.0.0.1:8081/ask?for=shop')],
  ])('%s', (_, yaml) => {
    expect(() => settingsOf(SHOP + yaml)).not.toThrow();
  });
});
