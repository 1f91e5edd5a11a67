import { z } from 'zod';
import { jsonAnswer, plainAnswer } from '../callback/answer.ts';
import { KINDS, type Kind, OUTPUTS_MAX } from '../callback/callback.ts';
import { callbackKinds } from '../callback/kinds.ts';
import type { CallbackUrl } from '../http/public.ts';
import {
  type ApiRoute,
  REFUSALS,
  codesOf,
  REFUSED_ALWAYS,
  REFUSED_BODIES,
  type Route,
  apiRoutes,
  probeRoutes,
  refusal,
  statusOf,
} from '../http/routes.ts';
import { ORDER_MEMBERS } from '../policy/order-members.ts';
import { VERSION } from '../values/version.ts';
import { CALLBACK_SCHEMAS, VERDICT } from './callbacks.ts';
import { callbackExamples } from './examples.ts';
import { type Part, type Schemas, createSchemas, json, part, refTo } from './schemas.ts';

/** The OpenAPI document of Countersign's own ports, with the URLs for callbacks that it serves. */
export function serviceDocument(urls: readonly CallbackUrl[]): Part {
  const schemas = createSchemas();
  for (const [name, schema] of Object.entries(CALLBACK_SCHEMAS)) schemas.add(name, schema);
  schemas.add('Refusal', schemas.of(refusal));
  const paths: Record<string, Part> = {};
  const add = (path: string, port: Part, operation: Part): void => {
    paths[path] = { servers: [port], ...paths[path], ...operation };
  };
  for (const url of urls)
    add(url.secret ? `${url.path}/{secret}` : url.path, PUBLIC_PORT, { post: callbackOf(url) });
  for (const route of Object.values(probeRoutes))
    add(route.path, OPS_PORT, { [route.method]: probeOf(route, schemas) });
  for (const route of Object.values(apiRoutes))
    add(`/api${route.path}`, OPS_PORT, { [route.method]: apiOf(route, schemas) });
  return {
    openapi: '3.1.1',
    info: {
      title: 'Countersign',
      version: VERSION,
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    security: [],
    paths,
    components: {
      schemas: schemas.named,
      responses: UNSERVED,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'The token of the setting `ops.token`.' },
      },
    },
  };
}

const QUESTIONS: Readonly<Record<Kind, { readonly summary: string; readonly schemas: readonly string[] }>> = {
  payment: {
    summary: 'Ask whether a user may be debited for a payment (section 6.1).',
    schemas: ['Md5Payment', 'RsaPayment', 'PaymentEnvelope'],
  },
  transfer: {
    summary:
      'Ask whether a withdrawal may be signed (section 6.2), or whether both sides hold the same keys.',
    schemas: ['Withdrawal', 'SelfCheck'],
  },
  web3: {
    summary: 'Ask whether a web3 transaction may be signed (section 6.3).',
    schemas: ['Web3Transaction'],
  },
};

function callbackOf({ route, secret }: CallbackUrl): Part {
  const kinds = route.callback === 'payment' ? (['payment'] as const) : route.expected;
  const questions = kinds.map((kind) => QUESTIONS[kind]);
  const examples = Object.fromEntries(kinds.flatMap((kind) => Object.entries(callbackExamples(kind))));
  return {
    operationId: ['confirm', ...(route.callback === 'payment' ? [] : [route.source]), ...kinds].join('.'),
    tags: ['callbacks'],
    summary: questions.map(({ summary }) => summary).join(' '),
    ...(secret && { parameters: [SECRET] }),
    requestBody: {
      required: true,
      content: json({ anyOf: questions.flatMap((each) => each.schemas.map(refTo)) }, examples),
    },
    responses: {
      200: {
        description: 'SUCCESS approves. FAILURE refuses, for any cause.',
        content: { 'text/plain': { schema: VERDICT }, ...answersInJson(kinds) },
      },
      400: {
        description: 'The request is invalid HTTP, or incomplete.',
        content: { 'text/plain': { schema: { const: plainAnswer.failure } } },
      },
    },
  };
}

function answersInJson(kinds: readonly Kind[]): Part {
  const schemas = [
    ...(kinds.includes('payment')
      ? [
          {
            description: 'With `answer: json` in the settings of the source.',
            enum: [jsonAnswer.success, jsonAnswer.failure].map((body) => part.parse(JSON.parse(body))),
          },
        ]
      : []),
    ...(kinds.includes('transfer') ? [refTo('SelfCheckAnswer')] : []),
  ];
  return schemas.length === 0 ? {} : { 'application/json': { schema: { anyOf: schemas } } };
}

const TEXT: Part = { 'text/plain': { schema: { type: 'string' } } };

function probeOf(route: Route, schemas: Schemas): Part {
  const { id, summary } = route;
  return {
    operationId: id,
    tags: ['probes'],
    summary,
    responses: {
      ...answersOf(route, schemas),
      400: { description: NO_HOST, content: TEXT },
      421: OTHER_HOST,
    },
  };
}

const NO_HOST = 'The request has no Host header, has two, or is invalid HTTP.';
const OTHER_HOST: Part = {
  description: 'The request names a host that is not listed in the setting `ops.hosts`.',
  content: TEXT,
};

function answersOf({ answers, contentType = 'application/json' }: Route, schemas: Schemas): Part {
  const written = Object.entries(answers).map(([status, schema]): [string, Part] => [
    status,
    { description: schema.description, content: { [contentType]: { schema: schemas.of(schema) } } },
  ]);
  return Object.fromEntries(written);
}

function apiOf(route: ApiRoute, schemas: Schemas): Part {
  const { id, summary, parameters, body, example } = route;
  const content = body && json(bodyOf(id, body, schemas), example === undefined ? {} : { example });
  return {
    operationId: id,
    tags: ['api'],
    summary,
    security: [{ token: [] }],
    ...(parameters && { parameters: pathParameters(parameters, schemas) }),
    ...(content && { requestBody: { required: true, content } }),
    responses: { ...answersOf(route, schemas), ...refusalsOf(route), 421: OTHER_HOST },
  };
}

function refusalsOf({ refusals, body }: ApiRoute): Part {
  const statuses = new Set([...refusals.map(statusOf), ...REFUSED_ALWAYS, ...(body ? REFUSED_BODIES : [])]);
  const rows = Object.entries(REFUSALS).filter(([status]) => statuses.has(Number(status)));
  const written = rows.map(([status, meaning]): [string, Part] => {
    const codes = codesOf(Number(status));
    const own = codes.filter((code) => refusals.some((each) => each === code));
    return [status, { description: meaning, content: refusedWith(own.length === 0 ? codes : own) }];
  });
  const { 400: fault, ...others } = Object.fromEntries(written);
  return {
    400: { description: NO_HOST, ...fault, content: { ...part.parse(fault?.['content'] ?? {}), ...TEXT } },
    ...others,
    401: { ...others['401'], headers: { 'WWW-Authenticate': { schema: { const: 'Bearer' } } } },
  };
}

/** An internal error may have any code. */
function refusedWith(codes: readonly string[]): Part {
  const code = codes.includes('INTERNAL') ? { type: 'string', examples: codes } : { enum: codes };
  const schema = { allOf: [refTo('Refusal'), { properties: { error: { properties: { code } } } }] };
  return { 'application/json': { schema } };
}

function pathParameters(parameters: z.ZodObject, schemas: Schemas): readonly Part[] {
  const { properties } = objectSchema.parse(schemas.of(parameters));
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema,
  }));
}

/** An order names other members for each kind of callback. */
function bodyOf(id: string, body: z.ZodObject, schemas: Schemas): Part {
  const schema = objectSchema.parse(schemas.of(body));
  if (id !== apiRoutes.announceOrder.id) return schema;
  const named = KINDS.map((kind) => {
    const properties = { ...schema.properties, kind: { const: kind }, members: orderMembers(kind) };
    return [kind, schemas.add(`${capitalized(kind)}Order`, { ...schema, properties })] as const;
  });
  const mapping = Object.fromEntries(named.map(([kind, { $ref }]) => [kind, $ref]));
  return { oneOf: named.map(([, ref]) => ref), discriminator: { propertyName: 'kind', mapping } };
}

const objectSchema = z.looseObject({ properties: z.record(z.string(), part) });

/** The members of an announced order. A member has one of its names. */
function orderMembers(kind: Kind): Part {
  const { names, required } = ORDER_MEMBERS[kind];
  const aliases = Object.entries(callbackKinds[kind].aliases);
  const spellings = (name: string): readonly string[] => [
    name,
    ...aliases.flatMap(([alias, canonical]) => (canonical === name ? [alias] : [])),
  ];
  const described = names.flatMap((name) =>
    spellings(name).map((spelling): [string, Part] => [spelling, MEMBER[name] ?? { type: 'string' }]),
  );
  // A source that accepts only one scheme implies it.
  const groups = required.map((group) => group.flatMap(spellings)).filter(([name]) => name !== 'scheme');
  return {
    type: 'object',
    properties: Object.fromEntries(described),
    additionalProperties: false,
    required: groups.flatMap(([name = '', ...others]) => (others.length === 0 ? [name] : [])),
    allOf: groups
      .filter((group) => group.length > 1)
      .map((group) => ({ oneOf: group.map((name) => ({ required: [name] })) })),
    // Call data has a meaning only for the contract that it calls.
    ...(kind === 'web3' && {
      anyOf: [{ required: ['interactive_contract'] }, { properties: { input_data: { const: '' } } }],
    }),
  };
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const MEMBER: Readonly<Record<string, Part>> = {
  outputs: {
    type: 'array',
    minItems: 1,
    maxItems: OUTPUTS_MAX,
    items: {
      type: 'object',
      properties: { to: { type: 'string' }, amount: { type: 'string' } },
      required: ['to', 'amount'],
      additionalProperties: false,
    },
  },
};

const server = (port: string, name: string): Part => ({
  url: 'http://{host}:{port}',
  description: name,
  variables: { host: { default: '127.0.0.1' }, port: { default: port } },
});
const PUBLIC_PORT = server('8080', 'The public port.');
const OPS_PORT = server('9090', 'The ops port.');

const SECRET: Part = {
  name: 'secret',
  in: 'path',
  required: true,
  description: 'The secret last segment, which only the co-signer knows.',
  schema: { type: 'string' },
};

/** The answers to requests that no operation describes. */
const UNSERVED: Part = {
  PublicMethodNotAllowed: {
    description: 'Another method on the path of a callback. The body is empty.',
    headers: { Allow: { schema: { const: 'POST' } } },
  },
  PublicNotFound: { description: 'Any other path of the public port. The body is empty.' },
  OpsNotFound: { description: 'Any other path or method of the ops port.', content: TEXT },
  ApiNotFound: { description: 'Any other path or method below /api.', content: refusedWith(['NOT_FOUND']) },
};

const DESCRIPTION = `The two ports of Countersign. The co-signer's paths, the hosts and the ports are settings.

# The public port

The platform and the co-signer send callbacks to it. The answer to a callback is status 200 and \`SUCCESS\` or
\`FAILURE\`. It never says why: the log and the journal do. Only status 200 with exactly \`SUCCESS\` is an
approval, unless the setting \`answer\` of a payment source defines another body. A callback that is not
authentic, or that is not valid by its schema, is answered \`FAILURE\` like any other refusal.

A payment is signed by one of three schemes. For \`md5\` and \`rsa\`, the signed text has the names and values of
all members except \`sign\`, sorted by name in code-point order and joined without separators. \`md5\` is the MD5
of this text and the secret, in hexadecimal. \`rsa\` is the platform's signature of this text (RSASSA-PKCS1-v1_5
with SHA-256) in base64url. For \`rsa-envelope\`, \`data\` is the plaintext, encrypted with the merchant's public
key in blocks (RSAES-PKCS1-v1_5), and \`sign\` is the platform's signature of the MD5 of the plaintext in lower-case
hexadecimal. \`docs/callbacks.md\` defines them byte by byte.

A co-signer proves its identity as the setting \`authenticate\` says: by its address, a header, a secret last
segment of the path, or a client certificate.

Another method on the path of a callback is answered 405, any other path 404, and invalid HTTP 400.

# The ops port

It answers only to \`localhost\`, to IP addresses and to the names in the setting \`ops.hosts\`. Paths below
\`/api\` need the token of the setting \`ops.token\`. Any other path or method is answered 404.
`;
