import { z } from 'zod';
import { type Operation, operations, platformCodes } from '../../packages/platform/specification.ts';
import { VERSION } from '../values/version.ts';
import { exchangesOf } from './examples.ts';
import { BASE64, type Part, type Schemas, createSchemas, json, part, refTo } from './schemas.ts';

/** The OpenAPI document of the platform's operations. */
export function platformDocument(): Part {
  const schemas = createSchemas();
  for (const [name, schema] of Object.entries(ENVELOPES)) schemas.add(name, schema);
  return {
    openapi: '3.1.1',
    info: { title: 'Merchant Open Platform API', version: VERSION, description: DESCRIPTION },
    servers: [
      {
        url: '{baseUrl}/platformapi/{segment}/open',
        variables: {
          baseUrl: { default: 'https://openapi.example.com', description: 'The base address.' },
          segment: { default: 'vendor', description: 'As the platform gave it to you.' },
        },
      },
    ],
    // The credentials are members of the body, for which OpenAPI has no security scheme.
    security: [],
    paths: Object.fromEntries(
      operations.map((operation) => [`/${operation.path}`, { post: operationOf(operation, schemas) }]),
    ),
    components: { schemas: schemas.named },
  };
}

function operationOf(operation: Operation, schemas: Schemas): Part {
  const { name, section, summary, notes = [], oneOf, body, answer } = operation;
  const typeName = name.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase());
  const parameters = parametersOf(operation, schemas);
  const plaintext = schemas.add(
    `${typeName}Parameters`,
    body === 'encrypted' ? withMembers(parameters, { appKey: APP_KEY }) : parameters,
  );
  const flat =
    body === 'encrypted'
      ? refTo('EncryptedCode')
      : schemas.add(`${typeName}Flat`, withMembers(parameters, { appKey: APP_KEY, sign: FLAT_SIGN }));
  const data = schemas.add(`${typeName}Data`, schemas.of(operation.data));
  const answers = [
    schemas.add(`${typeName}Answer`, answerWith(data, operation)),
    ...(answer === 'bare' ? [data] : []),
    refTo('EncryptedAnswer'),
    refTo('Refusal'),
  ];
  const groups = oneOf && `Give at least one of ${oneOf.join(', ')}; the first given one counts.`;
  const { md5, 'rsa-envelope': envelope } = exchangesOf(operation);
  return {
    operationId: name,
    tags: [name.split('.')[0]],
    summary,
    description: [`Section ${section} of the specification.`, ...notes, groups].join('\n').trim(),
    requestBody: {
      required: true,
      content: json(
        { oneOf: [flat, refTo('EncryptedRequest')] },
        { md5: md5.request, 'rsa-envelope': envelope.request },
      ),
    },
    responses: {
      200: {
        description: 'The data, or a refusal.',
        content: json(
          { anyOf: answers },
          { md5: md5.answer, 'rsa-envelope': envelope.answer, refusal: REFUSED },
        ),
      },
    },
    'x-plaintext': { request: plaintext, answer: data },
  };
}

interface ObjectSchema extends Part {
  readonly properties: Part;
  readonly required: readonly string[];
}

/** The parameters as they are sent. */
function parametersOf(operation: Operation, schemas: Schemas): ObjectSchema {
  const { numbers = [], oneOf } = operation;
  const { properties, required, ...schema } = parametersSchema.parse(schemas.of(operation.parameters));
  const isRequired = (name: string): boolean =>
    required.includes(name) || properties[name]?.requiredBySpecification === true;
  const sent = Object.entries(properties).map(([name, property]): [string, Part] => [
    name,
    numbers.includes(name) ? asNumber(property) : asText(property),
  ]);
  return {
    ...schema,
    properties: Object.fromEntries(sent),
    required: Object.keys(properties).filter(isRequired),
    ...(oneOf && { anyOf: oneOf.map((name) => ({ required: [name] })) }),
  };
}

const parameterSchema = z.looseObject({
  asNumber: part.optional(),
  requiredBySpecification: z.boolean().optional(),
  description: z.string(),
  enum: z.array(z.string()).optional(),
  default: z.string().optional(),
});
const parametersSchema = z.looseObject({
  properties: z.record(z.string(), parameterSchema),
  required: z.array(z.string()).default([]),
});

type ParameterSchema = z.output<typeof parameterSchema>;

/** JSON leaves undefined members out. */
function asText(schema: ParameterSchema): Part {
  return {
    ...schema,
    asNumber: undefined,
    requiredBySpecification: undefined,
    // Only the client accepts instants. It converts them.
    description: schema.description.replace(
      'in milliseconds or as an instant',
      'in milliseconds since the epoch',
    ),
    default: schema.requiredBySpecification === true ? undefined : schema.default,
  };
}

function asNumber(schema: ParameterSchema): Part {
  return {
    ...asText(schema),
    type: 'integer',
    format: 'int64',
    pattern: undefined,
    ...schema.asNumber,
    enum: schema.enum?.map(Number),
    default: schema.default && Number(schema.default),
  };
}

function withMembers({ properties, required, ...schema }: ObjectSchema, members: Part): ObjectSchema {
  return {
    ...schema,
    properties: { ...members, ...properties },
    required: [...Object.keys(members), ...required],
  };
}

/** An answer with `data` as it is. An answer with encrypted data fits `EncryptedAnswer`. */
function answerWith(data: Part, { data: reading, answer }: Operation): Part {
  return {
    type: 'object',
    properties: { code: refTo('SuccessCode'), ...WORDS, data },
    required: [
      ...(answer === 'bare' ? [] : ['code']),
      ...(z.safeParse(reading, null).success ? [] : ['data']),
    ],
  };
}

const APP_KEY: Part = {
  type: 'string',
  pattern: '^[\\x21-\\x7e]{1,128}$',
  description: 'The key of the merchant application.',
};
const FLAT_SIGN: Part = {
  type: 'string',
  // An RSA signature has at least 256 bytes.
  pattern: `^(?:[0-9a-fA-F]{32}|[A-Za-z0-9+/_-]{342,}={0,2})$`,
  description: 'The signature of `md5` or `rsa`; see the description of this document.',
};
const RSA_SIGN: Part = {
  type: 'string',
  pattern: `^${BASE64}$`,
  description: "The merchant's signature of the plaintext; see the description of this document.",
};
const ENCRYPTED: Part = { type: 'string', pattern: `^${BASE64}$`, description: 'The encrypted plaintext.' };
const WORDS: Part = {
  msg: { type: ['string', 'null'], description: 'A few words; for a refusal, its reason.' },
  message: { type: ['string', 'null'], description: 'Some operations also have this member.' },
};

const DOCUMENTED = Object.entries(platformCodes);

const ENVELOPES: Readonly<Record<string, Part>> = {
  EncryptedRequest: {
    description: 'The scheme `rsa-envelope`. `x-plaintext` of the operation has the schema of the plaintext.',
    type: 'object',
    properties: {
      app_id: APP_KEY,
      time: {
        type: ['integer', 'string'],
        pattern: '^(?:\\d{10}|\\d{13})$',
        minimum: 1_000_000_000,
        maximum: 9_999_999_999_999,
        description: 'Now, in milliseconds or seconds since the epoch. It is not signed.',
      },
      data: ENCRYPTED,
      sign: RSA_SIGN,
    },
    required: ['app_id', 'time', 'data', 'sign'],
    additionalProperties: false,
  },
  EncryptedCode: {
    description: 'Section 4.1 with `md5` and `rsa`: the plaintext of `data` has appKey and code.',
    type: 'object',
    properties: { appKey: APP_KEY, data: ENCRYPTED, sign: FLAT_SIGN },
    required: ['appKey', 'data', 'sign'],
    additionalProperties: false,
  },
  EncryptedAnswer: {
    description:
      'The answer to a request with `rsa-envelope`. `x-plaintext` of the operation has the schema of the ' +
      'plaintext. `data` and `sign` are empty if there is no data.',
    type: 'object',
    properties: {
      code: refTo('SuccessCode'),
      ...WORDS,
      data: { type: 'string', pattern: `^(?:${BASE64})?$` },
      sign: { type: 'string', pattern: `^(?:${BASE64})?$`, description: "The platform's signature." },
    },
    required: ['code', 'data', 'sign'],
  },
  Refusal: {
    type: 'object',
    properties: { code: refTo('ErrorCode'), ...WORDS },
    required: ['code'],
  },
  SuccessCode: { enum: ['0', 0] },
  ErrorCode: {
    description: 'Any code but 0 is a failure.',
    anyOf: [
      ...DOCUMENTED.map(([code, { meaning }]) => ({ const: code, description: meaning })),
      { type: ['string', 'integer'], minLength: 1, not: { enum: ['0', 0] }, description: 'not documented' },
    ],
  },
};

const REFUSED = { code: '50005', msg: 'signature error', data: null };

const DESCRIPTION = `The operations by which a merchant calls the platform, and the refresh of tokens. Sections are
those of the Merchant Open Platform API Specification. Each operationId is a method of Countersign's client, from
whose schemas this document is generated.

# Requests

Every request is a POST of a JSON object. Its members carry the credentials. An appKey uses one of three schemes.
The specification doesn't show how the signed text is made (section 5, rule 6); these are the rules of the
platform's published samples, apart from \`rsa\`, of which there is no sample.

## The scheme \`md5\`

The body has \`appKey\`, the parameters and \`sign\` (section 5, rules 1 and 2).

1. Take every member except \`sign\`. Leave out members that are \`null\`.
2. Sort the members by name, in code-point order: capital letters come before small letters.
3. Join the name and the value of each member, without any separator: no \`=\`, no \`&\`, no quotes, no URL
   encoding. A string counts as its content, and a number as it is written in the body. An empty string adds only
   its name.
4. Append the secret that the platform issued with the appKey.
5. \`sign\` is the MD5 of the UTF-8 bytes, as 32 lower-case hexadecimal digits.

Answers are not signed: only TLS protects them.

## The scheme \`rsa\`

The body is that of \`md5\`, and so is the text of steps 1 to 3. There is no secret: \`sign\` is a signature of the
text with the merchant's private key (RSASSA-PKCS1-v1_5 with SHA-256) in base64. Answers are those of \`md5\`.

## The scheme \`rsa-envelope\`

The body has \`app_id\`, \`time\`, \`data\` and \`sign\`. \`app_id\` is the appKey.

1. The plaintext is a JSON object in UTF-8 with the parameters, without appKey and sign. \`x-plaintext\` of each
   operation names its schema.
2. Cut the plaintext into blocks of at most the size of the platform's key less 11 bytes: 245 bytes for a key of
   2048 bits. Encrypt each block with the platform's public key (RSAES-PKCS1-v1_5). \`data\` is all results in
   their order, in base64url without padding.
3. \`sign\` is a signature with the merchant's private key (RSASSA-PKCS1-v1_5 with SHA-256) in base64url without
   padding. It covers the MD5 of the plaintext, written as 32 lower-case hexadecimal digits of ASCII.

The \`data\` of an answer is encrypted with the merchant's public key and signed with the platform's private key
in the same way. Verify the signature of the decrypted bytes before you read them.

## The login

Section 4.1 always encrypts its parameters (section 5, rule 3). Its plaintext also has appKey. With \`md5\` and \`rsa\`, the
body has appKey, \`data\` and \`sign\`, which covers the first two.

## Check your implementation

The examples are protected with the demo credentials of Countersign (\`config/demo\`). \`countersign sandbox\`
has the same credentials and accepts their signatures. \`docs/callbacks.vectors.json\` has vectors of both schemes.

# Answers

The HTTP status is 200, also for a refusal (section 7). \`code\` is 0 for a success. Other statuses are not
documented: the platform may have done what you requested.

- An id or an amount may be a number or a string. Both have the same meaning.
- A member that may be null may also be missing or empty.
- There may be members that the specification doesn't name.
- Names are spelled as the platform spells them: \`cuerrentUser\`, \`sellerCommnetGrade\`, \`persentTypeArr\`,
  \`qoute…\`.

# Error codes

| code | meaning | may have been done |
| --- | --- | --- |
${DOCUMENTED.map(([code, { meaning, doubtful }]) => `| ${code} | ${meaning} | ${doubtful === true ? 'yes' : 'no'} |`).join('\n')}
| any other | not documented | yes |
`;
