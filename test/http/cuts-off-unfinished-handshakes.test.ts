import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { type ServerLimits, listen } from '../../src/http/server.ts';
import { CERTIFICATE, CERTIFICATE_KEY } from '../cli/certificate.ts';
import { untilClosed } from '../raw-connection.ts';

const limits: ServerLimits = {
  headerBytes: 16_384,
  headersTimeoutMs: 100,
  requestTimeoutMs: 100,
  keepAliveTimeoutMs: 60_000,
  connections: 2,
  connectionsPerAddress: 2,
  requestsPerSocket: 0,
};

it.each([
  ['says nothing', ''],
  ['stops in the middle of its greeting', '\u0016\u0003\u0001\u0002\u0000'],
  ['does not speak TLS', 'POST / HTTP/1.1\r\nHost: a\r\n\r\n'],
])('does not keep a connection to the TLS port whose client %s', async (_what, said) => {
  const server = await listen((_request, response) => response.end(), {
    host: '127.0.0.1',
    port: 0,
    limits,
    tls: { cert: CERTIFICATE, key: CERTIFICATE_KEY, ca: undefined },
    setting: 'public',
  });
  onTestFinished(() => server.stop(0));
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1').resume();
  await once(socket, 'connect');
  socket.write(said);
  await untilClosed(socket);
  expect(await server.connections()).toBe(0);
});
