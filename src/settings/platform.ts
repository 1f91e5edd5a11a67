import { isLoopback } from '../values/loopback.ts';
import { checkedText, isUrl, section, text, wholeNumberOr } from './fields.ts';

const URL_FIX =
  'write the base address of the platform such as https://openapi.example.com, without user, password, ' +
  'query or fragment; http is for a sandbox on this machine';

/** The platform's own interface, which `countersign platform` calls. */
export const platform = section({
  url: checkedText(/^(?=.{1,2048}$)https?:\/\/[^\s#?@]+$/, isUrl, URL_FIX)
    .optional()
    .meta({ title: 'http or https URL' })
    .describe('The base address of the platform. Without it, no operation can be called.'),
  segment: text(
    /^(?!\.+$)[A-Za-z0-9._~-]{1,64}$/,
    'write one segment of a path, such as vendor, as the platform gave it to you',
  )
    .default('vendor')
    .describe('The second segment of the path of every operation: /platformapi/SEGMENT/open/.'),
  timeoutMs: wholeNumberOr(30000, 100, 300000).describe(
    'Time limit for one request and its whole answer. After it, the outcome of a payment is unknown.',
  ),
  retries: wholeNumberOr(2, 0, 10).describe(
    'How often an operation that only reads is sent again after a fault that may pass. ' +
      'A payment is never sent again.',
  ),
})
  .prefault({})
  .describe(
    "The platform's own interface, for `countersign platform`. The credentials are those of a payment source.",
  );

/** A warning about an address over which others can read and change requests and answers. */
export function platformWarning({ url }: { readonly url?: string | undefined }): string | undefined {
  if (url === undefined) return undefined;
  const { protocol, hostname, origin } = new URL(url);
  if (protocol === 'https:' || isLoopback(hostname)) return undefined;
  return (
    `platform.url is ${origin}, where others on the network can read and change requests and answers; ` +
    'use https'
  );
}
