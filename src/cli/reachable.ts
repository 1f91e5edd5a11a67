/**
 * Where a port of the service is reached from this machine; one on every address, by the loopback address.
 */
export function reachableUrl(scheme: 'http' | 'https', host: string, port: number): string {
  const reachable =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `${scheme}://${reachable}:${port}`;
}
