import type { z } from 'zod';
import { console } from './console.ts';
import {
  addressRange,
  checkedText,
  filePath,
  flagOr,
  isHostName,
  listenHost,
  list,
  oneOf,
  TWO_SECRETS,
  secretReference,
  section,
  text,
  wholeNumberOr,
} from './fields.ts';
import { notifications } from './notifications.ts';
import { platform } from './platform.ts';
import { modules, services } from './plugins.ts';
import { reconcile } from './reconcile.ts';
import { fourEyes, signers } from './signers.ts';
import { source } from './sources.ts';
import { store } from './store.ts';
import { tracing } from './tracing.ts';

const host = listenHost.default('127.0.0.1').meta({ title: 'address or host name' });

const serverTls = {
  certificate: filePath.describe('PEM file of the certificate, followed by the intermediate certificates.'),
  key: secretReference.describe('The private key of the certificate, in PEM.'),
};

const publicTls = section({
  ...serverTls,
  clientCa: filePath
    .optional()
    .describe(
      'PEM file of the authorities whose client certificates are accepted. ' +
        'With it, every caller is asked for a client certificate.',
    ),
});

const limits = section({
  headerBytes: wholeNumberOr(16384, 1024, 65536).describe(
    'Size of all headers of a request together. A request with 100 headers or more is refused.',
  ),
  bodyBytes: wholeNumberOr(65536, 1024, 65536).describe('Size of a callback.'),
  headersTimeoutMs: wholeNumberOr(5000, 100, 60000).describe(
    'Time limit for the headers of a request. At most requestTimeoutMs.',
  ),
  requestTimeoutMs: wholeNumberOr(5000, 100, 60000).describe(
    'Time limit for a whole request to arrive, and for its answer to be read.',
  ),
  keepAliveTimeoutMs: wholeNumberOr(65000, 1, 600000).describe(
    'How long an idle connection is kept. Make it longer than the idle time-out of the gateway, ' +
      'often 60 s. Otherwise the gateway may send a callback on a connection that is being closed.',
  ),
  connections: wholeNumberOr(1024, 1, 65536).describe('Open connections; more are closed.'),
  connectionsPerAddress: wholeNumberOr(512, 1, 65536).describe(
    'Open connections of one address (one /64 of IPv6); more are closed. ' +
      'Connections of trustedProxies are limited only by `connections`.',
  ),
  callbacks: wholeNumberOr(512, 1, 65536).describe(
    'Callbacks in flight at once; one more is answered FAILURE at once. To answer 512 callbacks within ' +
      '2 s (answerTimeoutMs), the service must decide 256 a second. A higher number only makes more of ' +
      'them late.',
  ),
  held: wholeNumberOr(100, 0, 10000).describe(
    'Callbacks held open at once until people have approved them: see `wait` of the rule approval. They do not ' +
      'count in `callbacks`. One more is answered FAILURE at once, and 0 holds none open.',
  ),
  failuresPerSecond: wholeNumberOr(200, 1, 100000).describe(
    'Callbacks of one address (one /64 of IPv6) that may fail to authenticate in a second. For the rest ' +
      "of that second, all its callbacks are answered FAILURE unread. An envelope that can't be decrypted " +
      'counts ten times. A request that is answered 404 or 405 counts too. A connection that is closed for ' +
      'misuse counts ten times: a request sent before the last one was answered, an answer left unread, or ' +
      'no HTTP. Further connections of an unknown address that does this are then closed unread. An IPv6 ' +
      '/48 has ten times the budget of a /64. An address from which a callback was decided has a budget of ' +
      'its own, until a day passes without an authenticated callback. It has ten times the budget for a ' +
      'minute after each authenticated callback, since other callers may use the same gateway. List ' +
      'gateways in trustedProxies, so that each caller is counted alone.',
  ),
  outputs: wholeNumberOr(200, 1, 1000).describe(
    'Outputs of one withdrawal; more are refused (TOO_MANY_OUTPUTS). ' +
      'The store checks all outputs of a withdrawal in one step, and decides nothing else meanwhile.',
  ),
  requestsPerSocket: wholeNumberOr(0, 0, 1000000).describe(
    'Requests after which a connection is closed; 0 for any number.',
  ),
});

/** The port for the platform and the co-signer. */
const publicPort = section({
  host: host.describe(
    'Address to listen on. 0.0.0.0 is every IPv4 address of the machine, which a container needs.',
  ),
  port: wholeNumberOr(8080, 0, 65535).describe('Port for callbacks; 0 takes any free port.'),
  trustedProxies: list(addressRange, 0, 64, 'addresses')
    .default([])
    .describe(
      "Gateways whose X-Forwarded-For is trusted. For other connections, the client's address is that of " +
        'the connection.',
    ),
  tls: publicTls
    .optional()
    .describe('TLS terminated by Countersign itself. Omit it if a gateway terminates TLS.'),
  limits: limits.prefault({}).describe('Limits on what callers may use.'),
  shutdownDelayMs: wholeNumberOr(0, 0, 120000).describe(
    'How long callbacks are still accepted after the signal to stop, while /readyz reports not ready. ' +
      'The load balancer needs this time to notice, such as 5000 on Kubernetes. ' +
      'Each answer then closes its connection.',
  ),
  shutdownGraceMs: wholeNumberOr(10000, 0, 600000).describe(
    'Time limit for answering callbacks in flight once no more are accepted.',
  ),
});

const hostName = checkedText(
  /^[^\s/]{1,253}$/,
  isHostName,
  'write a host name such as countersign-ops.example.com, without port; IP addresses are always allowed',
);

/** The port for operators: health, readiness, metrics, and the API. */
const opsPort = section({
  host: host.describe(
    'Address to listen on. Health and metrics have no authentication: do not expose this port to the ' +
      'outside.',
  ),
  port: wholeNumberOr(9090, 0, 65535).describe(
    'Port for health, readiness, metrics and the API; 0 takes any free port.',
  ),
  hosts: list(hostName, 0, 64, 'host names')
    .default([])
    .describe(
      'Host names by which the port may be called, such as that of a service in front of it. ' +
        'localhost and all IP addresses are always allowed. A request with any other name is answered 421, ' +
        'so that no web page can reach the port through a browser with a name that resolves to it.',
    ),
  tls: section(serverTls)
    .optional()
    .describe(
      'TLS terminated by Countersign itself, such as for passkeys in browsers of other machines. Health checks ' +
        'and the monitoring must use https then.',
    ),
  token: secretReference
    .optional()
    .describe(
      'The token that API calls must send, as `Authorization: Bearer TOKEN`. Without it, the API is off. ' +
        TWO_SECRETS,
    ),
  releases: flagOr(false).describe(
    'Whether the API may release approvals of operations that failed. A caller with the token can then make ' +
      'limits count less than was approved. The command `decisions release` does not need this setting.',
  ),
});

/**
 * All settings, in the order of the reference. Each has a description, and a default unless only the user can
 * know the value. Conditions between settings are in conditions.ts.
 */
export const settingsSchema = section({
  public: publicPort.prefault({}).describe('The port that the platform and the co-signer call.'),
  ops: opsPort.prefault({}).describe('The port for operators.'),
  store: store
    .prefault({})
    .describe('Where decisions are kept. A plain text is the url: `store: redis://redis:6379/0`.'),
  answerTimeoutMs: wholeNumberOr(2000, 100, 60000).describe(
    'Time limit from the arrival of a callback to its answer. It includes the time that the callback may ' +
      'have waited to be read, and its connection to be accepted. After it, the answer is FAILURE. A ' +
      'connection for which the queue of the operating system has no room has not arrived yet.',
  ),
  policies: section({
    directory: filePath
      .default('policies')
      .describe('Directory of the policy files.')
      .meta({ title: 'directory' }),
    push: oneOf(['when-empty', 'never'])
      .default('when-empty')
      .describe('Whether a start puts the files in force if no revision is in force.'),
    pollMs: wholeNumberOr(1000, 100, 60000).describe(
      'Time between checks of the revision in force, in case a change message was lost. ' +
        'Even with a long time, a stale revision never decides.',
    ),
  })
    .prefault({})
    .describe('Where policies come from.'),
  deployment: text(
    /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/,
    'write a name of lower-case letters, digits, points and hyphens, such as acme-prod',
  )
    .optional()
    .describe(
      'Name of this deployment. What people sign names it, so that a signature for staging does not count for production.',
    ),
  signers: signers
    .optional()
    .describe(
      'Who must sign policies. Without it, each person who may push decides alone. See docs/signatures.md.',
    ),
  fourEyes,
  log: section({
    level: oneOf(['error', 'warn', 'info'])
      .default('info')
      .describe('The least important level that is written.'),
    unauthenticatedPerMinute: wholeNumberOr(60, 0, 100000).describe(
      'Lines a minute about callbacks from unauthenticated senders. The others are only counted.',
    ),
  })
    .prefault({})
    .describe(
      'The log, on standard output: JSON lines or, on a terminal, lines for people. If nobody reads them, they are ' +
        'dropped and counted.',
    ),
  tracing,
  console: console.optional().describe('The console at `/console/` of the ops port, and who may enter it.'),
  platform,
  reconcile,
  services,
  modules,
  notifications,
  sources: list(source, 1, 64, 'sources').describe('Who may call, and how each caller authenticates.'),
});

export type Settings = z.output<typeof settingsSchema>;
export type SourceSettings = Settings['sources'][number];
export type StoreSettings = Settings['store'];
