import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';

/** Why a request is not answered. */
export interface HostRefusal {
  readonly status: 400 | 421;
  /** A sentence, for whoever called. */
  readonly because: string;
}

const AUTHORITY = /^(\[[^[\]]+\]|[^[\]:]+)(?::(\d{1,5}))?$/;
const ABSOLUTE = /^[a-z][a-z0-9+.-]*:\/\//i;
const SHOWN_MAX = 80;

/**
 * Looks for the host by which a port was called. A page that a browser shows can have its own name point to
 * this machine, and then ask and read whatever is here; but the browser sends that name. So a request is
 * answered only if it calls the port `localhost`, by an IP address, or by one of `names`. None is called by
 * no name in HTTP/1.0, as simple probes do and no browser does.
 */
export function createHostCheck(
  names: readonly string[],
): (request: IncomingMessage) => HostRefusal | undefined {
  const allowed = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);

  function isAllowed(authority: string): boolean {
    const [, host = '', port = '0'] = AUTHORITY.exec(authority) ?? [];
    if (Number(port) > 65_535) return false;
    if (host.startsWith('[')) return isIPv6(host.slice(1, -1)) && !host.includes('%');
    return isIPv4(host) || allowed.has(host.toLowerCase().replace(/\.$/, ''));
  }

  return ({ url = '', rawHeaders, httpVersion }) => {
    const hosts = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'host');
    const target = targetAuthority(url);
    const [host = target] = hosts;
    if (hosts.length > 1) return { status: 400, because: 'there is more than one Host header: send one' };
    if (hosts.length === 0 && httpVersion !== '1.0')
      return { status: 400, because: 'there is no Host header: send one' };
    for (const authority of [host, target])
      if (authority !== undefined && !isAllowed(authority)) return misdirected(authority);
    return undefined;
  };
}

/**
 * Of a target such as `http://localhost:9090/readyz`, which counts more than the Host header; undefined for a
 * path.
 */
function targetAuthority(url: string): string | undefined {
  if (!ABSOLUTE.test(url)) return undefined;
  const [scheme = '', rest = ''] = url.split('://', 2);
  const [authority = ''] = rest.split(/[/?#\\]/, 1);
  return /^https?$/i.test(scheme) ? authority : url;
}

function misdirected(authority: string): HostRefusal {
  const shown = JSON.stringify(authority.slice(0, SHOWN_MAX));
  const because = `${shown} is not a name of this port: call it as localhost or by its IP address, or add the name to ops.hosts`;
  return { status: 421, because };
}
