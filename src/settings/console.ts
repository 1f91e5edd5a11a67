import type { z } from 'zod';
import {
  addressRange,
  checkedText,
  flag,
  isHostName,
  list,
  listenHost,
  oneOf,
  section,
  text,
  wholeNumber,
} from './fields.ts';

const roles = list(oneOf(['read', 'operate']), 1, 2, 'roles').describe(
  'What the person may do: `read` looks, `operate` also freezes and changes lists, orders and prices.',
);

const personName = text(
  /^[^\s\p{C}](?:[^\p{C}]{0,126}[^\s\p{C}])?$/u,
  'write a name of at most 128 characters, without control characters or blanks around it',
);

const proxy = section({
  header: text(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'write the name of a header').describe(
    'The header in which the proxy names the person. The proxy must remove it from what it receives.',
  ),
  addresses: list(addressRange, 1, 64, 'addresses').describe(
    'Addresses from which the proxy calls the ops port. The header of any other caller is ignored.',
  ),
  people: list(
    section({
      name: personName.describe('The whole value of the header.'),
      roles,
    }),
    1,
    1000,
    'people',
  ).describe('Who may enter. Anybody else stays outside.'),
});

const passkeys = section({
  host: checkedText(
    /^(?:localhost|(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+)$/,
    isHostName,
    'write the host name by which browsers call the console, such as ops.example.com, or localhost; ' +
      'passkeys cannot be bound to an IP address',
  ).describe(
    'The host name by which browsers call the console. Passkeys are bound to it: with another name, people must ' +
      'be invited again.',
  ),
  origin: checkedText(
    /^(?:https:\/\/[a-z0-9.-]{1,253}(?::\d{1,5})?|http:\/\/localhost(?::\d{1,5})?)$/,
    isOrigin,
    'write https:// and the host name, as browsers send it: with the port only if it is not 443 (80 for http), ' +
      'and at most 65535; http:// only for localhost',
  )
    .optional()
    .meta({ title: 'origin' })
    .describe('What browsers show as the address, without a path. By default https:// and the host.'),
});

/** The origin that browsers show. */
export const originOf = ({
  host,
  origin = `https://${host}`,
}: {
  readonly host: string;
  readonly origin?: string | undefined;
}): string => origin;

/** Who may enter the console. Without it, there is no console. */
export const console = section({
  passkeys: passkeys
    .optional()
    .describe(
      'People sign in with passkeys. `countersign console invite` prints the link by which a person makes the ' +
        'first one. Browsers need TLS for passkeys, except on localhost.',
    ),
  proxy: proxy
    .optional()
    .describe('A single sign-on proxy in front of the ops port, which names the person in a header.'),
  push: flag
    .optional()
    .describe(
      'Whether people with the role `operate` may push policies from the console. Without it, the console prints ' +
        'the command.',
    ),
  withService: flag
    .optional()
    .describe(
      'Whether `countersign serve` starts the console, in a process of its own, and has it at `/console/` of the ' +
        'ops port. Without it, `serve` does. Write `false` where `countersign console serve` runs it alone.',
    ),
  host: listenHost
    .optional()
    .meta({ title: 'address or host name' })
    .describe('Address on which `countersign console serve` listens. Without it, 127.0.0.1.'),
  port: wholeNumber(0, 65535)
    .optional()
    .describe(
      'Port of `countersign console serve`; 0 takes any free port. Without it, 9091. It has the names and the TLS ' +
        'of the ops port (`ops.hosts`, `ops.tls`).',
    ),
});

type ConsoleSettings = z.output<typeof console>;

/** Whether `countersign serve` has the console at its ops port. */
export const isWithService = (settings: ConsoleSettings | undefined): boolean =>
  settings !== undefined && settings.withService !== false;

/** Where `countersign console serve` listens. */
export const consoleAddress = (
  settings: ConsoleSettings | undefined,
): { readonly host: string; readonly port: number } => ({
  host: settings?.host ?? '127.0.0.1',
  port: settings?.port ?? 9091,
});

/** Whether browsers send exactly this text as the origin of a page. */
function isOrigin(written: string): boolean {
  return URL.canParse(written) && new URL(written).origin === written;
}
