import { X509Certificate } from 'node:crypto';
import { readPem } from '../../settings/secrets.ts';
import { createPeople } from '../../console/sign-in/people.ts';
import { consoleAddress, isWithService, originOf } from '../../settings/console.ts';
import type { Settings } from '../../settings/schema.ts';
import type { Store } from '../../store/store.ts';
import type { Clock } from '../../values/clock.ts';
import { counted } from '../print.ts';
import type { Finding } from './finding.ts';

/** Checks whether browsers can use passkeys with these settings, and says who can enter. */
export async function checkConsole(
  { console, ops }: Settings,
  store: Store | undefined,
  clock: Clock,
): Promise<readonly Finding[]> {
  if (console === undefined) return [];
  const { passkeys, proxy } = console;
  // The console has the TLS of the ops port also on a port of its own.
  const port = isWithService(console)
    ? ({ name: 'the ops port', number: ops.port } as const)
    : ({ name: 'the port of the console', number: consoleAddress(console).port } as const);
  return [
    ...(passkeys === undefined ? [] : [checkOrigin(originOf(passkeys), ops.tls, port)]),
    ...(passkeys === undefined || store === undefined ? [] : [await whoHasPasskeys(store, clock)]),
    ...(proxy === undefined ? [] : [whoIsNamed(proxy)]),
  ];
}

const ok = (because: string): Finding => ({ check: 'console', state: 'ok', because });
const warning = (because: string): Finding => ({ check: 'console', state: 'warning', because });
const fault = (because: string): Finding => ({ check: 'console', state: 'fault', because });

function checkOrigin(
  origin: string,
  tls: Settings['ops']['tls'],
  port: { readonly name: string; readonly number: number },
): Finding {
  const { protocol, hostname, port: named } = new URL(origin);
  const address = `people sign in with passkeys at ${origin}/console/`;
  if (tls === undefined && protocol === 'https:') {
    return ok(`${address}; a proxy before ${port.name} must end TLS, because ops.tls is not set`);
  }
  if (tls !== undefined && !coversHost(tls.certificate, hostname)) {
    return fault(
      `${address}, but the certificate of ops.tls is not valid for ${hostname}; ` +
        'use one that has the name among its subject alternative names',
    );
  }
  const seen = named === '' ? '443' : named;
  return port.number === 0 || seen === `${port.number}`
    ? ok(address)
    : warning(
        `${address}, but ${port.name} is ${port.number}; write that port in console.passkeys.origin, unless ` +
          `something forwards ${seen} to it`,
      );
}

const coversHost = (file: string, host: string): boolean =>
  new X509Certificate(readPem(file, 'ops.tls.certificate')).checkHost(host) !== undefined;

async function whoHasPasskeys(store: Store, clock: Clock): Promise<Finding> {
  const people = await createPeople(store, clock).all();
  return people.length === 0
    ? ok('nobody has a passkey yet; invite somebody with `countersign console invite NAME --role operate`')
    : ok(
        `${counted(people.length, 'person', 'people')} with passkeys: \`countersign console people\` lists them`,
      );
}

const whoIsNamed = ({ header, addresses, people }: NonNullable<NonNullable<Settings['console']>['proxy']>) =>
  ok(
    `${addresses.join(', ')} may name ${counted(people.length, 'person', 'people')} in the header ${header}`,
  );
