import { checkedText, headerName, isUrl, list, secretReference, section, wholeNumberOr } from './fields.ts';

const endpoint = checkedText(
  /^(?=.{1,2048}$)https?:\/\/[^\s#@?]+$/,
  (written) => isUrl(written) && !/\/v1\/traces\/?$/.test(written),
  'write a URL such as http://collector:4318, without /v1/traces, user, password, query or fragment',
).meta({ title: 'http or https URL' });

/** Where traces are sent, and how many. */
export const tracing = section({
  endpoint: endpoint
    .optional()
    .describe(
      'The collector. Without it, no traces are made. Spans are sent to `/v1/traces` below it, by OTLP over HTTP as JSON.',
    ),
  headers: list(
    section({
      name: headerName.describe('Name of the header.'),
      secret: secretReference.describe('The whole value of the header.'),
    }),
    0,
    16,
    'headers',
  )
    .default([])
    .describe('Headers that the collector asks for, such as `authorization`.'),
  samplePercent: wholeNumberOr(100, 1, 100).describe(
    'Of 100 traces, how many are sent. A callback with a `traceparent` is sent if its caller says so there.',
  ),
})
  .prefault({})
  .describe('Traces of callbacks, sent to an OpenTelemetry collector. See docs/tracing.md.');
