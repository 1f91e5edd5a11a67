import { expect, it } from 'vitest';
import { SHOP, refusalOf } from './written.ts';

const PROXY = { header: 'x-user', addresses: ['10.0.0.1'], people: [{ name: 'ada', roles: ['read'] }] };

it.each([
  [{}, 'console lets nobody in; set console.passkeys or console.proxy, or delete the section'],
  [{ proxy: { ...PROXY, people: [] } }, 'console.proxy.people'],
  [{ proxy: { ...PROXY, addresses: [] } }, 'console.proxy.addresses'],
  [{ proxy: { ...PROXY, addresses: ['proxy.example'] } }, 'console.proxy.addresses[0]'],
  [{ proxy: { ...PROXY, header: 'x user' } }, 'console.proxy.header'],
  [{ proxy: { ...PROXY, people: [{ name: ' ada', roles: ['read'] }] } }, 'console.proxy.people[0].name'],
  [{ proxy: { ...PROXY, people: [{ name: 'a\u202eb', roles: ['read'] }] } }, 'console.proxy.people[0].name'],
  [{ proxy: { ...PROXY, people: [{ name: 'ada', roles: [] }] } }, 'console.proxy.people[0].roles'],
  [{ proxy: { ...PROXY, people: [{ name: 'ada', roles: ['admin'] }] } }, 'console.proxy.people[0].roles[0]'],
  [{ passkey: {} }, 'console.passkey'],
  [{ passkeys: {} }, 'console.passkeys.host'],
  [{ passkeys: { host: '10.0.0.1' } }, 'passkeys cannot be bound to an IP address'],
  [{ passkeys: { host: 'ops.example' } }, 'console.passkeys.host is ops.example, which is not in ops.hosts'],
  [{ passkeys: { host: 'localhost' } }, 'console.passkeys.origin is missing; write http://localhost:9090'],
  [{ passkeys: { host: 'localhost', origin: 'http://ops.example' } }, 'console.passkeys.origin'],
  [{ passkeys: { host: 'localhost', origin: 'https://ops.example' } }, 'of another host than localhost'],
  [{ passkeys: { host: 'localhost', origin: 'http://localhost:9090/' } }, 'console.passkeys.origin'],
])('refuses a console %j', (console, setting) => {
  expect(refusalOf(`${SHOP}console: ${JSON.stringify(console)}\n`).message).toContain(setting);
});
