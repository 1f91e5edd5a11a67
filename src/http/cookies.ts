import type { Request } from 'express';

/** The cookies. Of two with the same name none counts: an attacker may have set one of them. */
export function cookiesOf(request: Request): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  const twice = new Set<string>();
  for (const pair of (request.get('cookie') ?? '').split('; ')) {
    const [, name, value] = /^([^=\s]+)=(.*)$/.exec(pair) ?? [];
    if (name === undefined || value === undefined) continue;
    if (cookies.has(name)) twice.add(name);
    cookies.set(name, value);
  }
  for (const name of twice) cookies.delete(name);
  return cookies;
}
