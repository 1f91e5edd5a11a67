import { addressRange, filePath, list, secretReference, section, text, wholeNumberOr } from './fields.ts';

const host = text(/^[A-Za-z0-9.:_-]{1,253}$/, 'write an address or a host name to listen on')
  .default('127.0.0.1')
  .meta({ title: 'address or host name' });

const tls = section({
  certificate: filePath.describe('PEM file of the certificate, followed by those between it and the root.'),
  key: secretReference.describe('The private key of the certificate, in PEM.'),
  clientCa: filePath
    .optional()
    .describe(
      'PEM file of the authorities whose client certificates are accepted. With it, every caller is asked for one.',
    ),
});

const limits = section({
  headerBytes: wholeNumberOr(16384, 1024, 65536).describe(
    'Size of all headers of a request together. A request with a hundred of them is refused.',
  ),
  bodyBytes: wholeNumberOr(65536, 1024, 65536).describe('Size of a callback.'),
  headersTimeoutMs: wholeNumberOr(5000, 100, 60000).describe('Time for the headers of a request to arrive.'),
  requestTimeoutMs: wholeNumberOr(5000, 100, 60000).describe(
    'Time for a whole request to arrive, and for its answer to be read.',
  ),
  keepAliveTimeoutMs: wholeNumberOr(65000, 0, 600000).describe(
    'Time for which an idle connection is kept. It should be longer than the gateway keeps its own, often 60 s: else the gateway may send a callback into a connection that is just being closed.',
  ),
  connections: wholeNumberOr(1024, 1, 65536).describe('Connections open at once; more are turned away.'),
  connectionsPerAddress: wholeNumberOr(512, 1, 65536).describe(
    'Connections of one address (of IPv6, one /64) open at once; more are turned away. Those of trustedProxies are bounded by `connections` alone.',
  ),
  callbacks: wholeNumberOr(512, 1, 65536).describe(
    'Callbacks under way at once; to more the answer is FAILURE at once. That many within answerTimeoutMs is the slowest pace at which all are still in time: 512 within 2 s are 256 a second. More only makes more of them late.',
  ),
  failuresPerSecond: wholeNumberOr(200, 1, 100000).describe(
    'Callbacks of one address (of IPv6, one /64) that may fail to authenticate within a second; for the rest of that second the answer to all of its callbacks is FAILURE, and they are not read. An envelope that does not decipher counts ten times. Requests that are answered 404 or 405 count as well, and a connection that is closed for what it did (requests sent before the one before was answered, an answer left unread, no HTTP) ten times; connections of a stranger that does so are then closed unread. An IPv6 /48 has ten times as much as a /64. An address from which a callback was decided within a day has a budget of its own. One from which a sender was authenticated within a minute may have ten times as many fail, since others may call through the same gateway: list gateways in trustedProxies, so that each caller is counted by itself.',
  ),
  outputs: wholeNumberOr(200, 1, 1000).describe(
    'Outputs of one withdrawal; one with more is refused (TOO_MANY_OUTPUTS). Each limit by address counts for each of them, and the store does nothing else meanwhile.',
  ),
  requestsPerSocket: wholeNumberOr(0, 0, 1000000).describe(
    'Requests after which a connection is closed; 0 for any number.',
  ),
});

/** The port for the platform and the co-signer. */
export const publicPort = section({
  host: host.describe(
    'Address to listen on. 0.0.0.0 is every IPv4 address of the machine, as a container needs it.',
  ),
  port: wholeNumberOr(8080, 0, 65535).describe('Port for callbacks; 0 takes any that is free.'),
  trustedProxies: list(addressRange, 0, 64, 'addresses')
    .default([])
    .describe('Gateways whose X-Forwarded-For is believed. The address of any other peer is its own.'),
  tls: tls
    .optional()
    .describe('TLS ended by Countersign itself. Leave it out where the gateway in front does that.'),
  limits: limits.prefault({}).describe('What one caller may take of the service.'),
  shutdownDelayMs: wholeNumberOr(0, 0, 120000).describe(
    'Time for which callbacks are still taken after the service was told to stop, while /readyz says that it is not ready: as long as the load balancer needs to notice that, such as 5000 on Kubernetes. Each answer then ends its connection.',
  ),
  shutdownGraceMs: wholeNumberOr(10000, 0, 600000).describe(
    'Time for callbacks under way to be answered once no more are taken.',
  ),
});

const hostName = text(
  /^(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?)*$/,
  'write a host name such as countersign-ops.example.com, without port',
);

/** The port for the operator: health, readiness, metrics, and the API. */
export const opsPort = section({
  host: host.describe(
    'Address to listen on. Health and metrics have no authentication of their own: do not let it be reached from outside.',
  ),
  port: wholeNumberOr(9090, 0, 65535).describe(
    'Port for health, readiness, metrics and the API; 0 takes any that is free.',
  ),
  hosts: list(hostName, 0, 64, 'host names')
    .default([])
    .describe(
      'Names by which the port may be called, such as that of a service in front of it. localhost and every IP address may be used without being listed. A request by any other name is answered 421, so that no web page can reach the port through a browser by pointing its own name here.',
    ),
  token: secretReference
    .optional()
    .describe(
      'The token that callers of the API must send, as `Authorization: Bearer TOKEN`. Without it, the API is off.',
    ),
});
