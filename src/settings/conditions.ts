import { z } from 'zod';
import type { FoundFault, SettingPath } from './faults.ts';
import { pluginConditions } from './plugins.ts';
import { PAYMENT_PATH } from './sources.ts';

/*
 * What must hold between settings. It is looked at even where single settings are faulty, so that all faults
 * come at once: whatever cannot be read here is taken as not written.
 */

const written = z.string().optional().catch(undefined);
const readable = z.object({
  public: z
    .object({
      host: written,
      port: written,
      trustedProxies: z.array(z.unknown()).catch([]),
      tls: z.object({ clientCa: z.unknown() }).optional().catch(undefined),
      limits: z.object({ headersTimeoutMs: written, requestTimeoutMs: written }).partial().catch({}),
    })
    .partial()
    .catch({}),
  ops: z.object({ host: written, port: written }).catch({}),
  store: z
    .object({
      url: written,
      username: z.unknown(),
      password: z.unknown(),
      tls: z.record(z.string(), z.unknown()).optional().catch(undefined),
      commandTimeoutMs: written,
      durability: z.object({ replicas: written, timeoutMs: written }).partial().catch({}),
      clock: z.object({ maxStepMs: written, maxGapMs: written }).partial().catch({}),
    })
    .partial()
    .catch({}),
  sources: z
    .array(
      z
        .object({
          name: written,
          callback: written,
          appKey: written,
          paths: z.object({ withdraw: written, web3: written }).catch({}).optional(),
          authenticate: z.array(z.unknown()).catch([]).optional(),
          answer: z
            .union([z.object({ success: written, failure: written }), z.string()])
            .optional()
            .catch(undefined),
        })
        .catch({}),
    )
    .catch([]),
});

type Readable = z.output<typeof readable>;
type Source = Readable['sources'][number];

/** The faults of a tree of settings as written, of which nothing is known to be right. */
export function brokenConditions(tree: unknown): readonly FoundFault[] {
  const settings = readable.parse(tree);
  return [
    ...portConditions(settings),
    ...timeoutConditions(settings.public.limits ?? {}),
    ...storeConditions(settings.store),
    ...unique(settings.sources, 'name', 'give every source a name of its own'),
    ...unique(
      settings.sources,
      'appKey',
      'give every appKey one source; two keys of one appKey are two signatures',
    ),
    ...settings.sources.flatMap((source, index) => sourceConditions(source, ['sources', index], settings)),
    ...answerConditions(settings.sources),
    ...pathConditions(settings.sources),
    ...pluginConditions(tree),
  ];
}

const EMBEDDED = 'embedded:';

function portConditions({ public: outer, ops }: Readable): readonly FoundFault[] {
  const port = ops.port ?? '9090';
  if (port === '0' || port !== (outer.port ?? '8080')) return [];
  return [
    { path: ['ops', 'port'], problem: 'is also public.port', cure: 'give the operator a port of its own' },
  ];
}

/**
 * Headers are part of the request, and Node's server does not start with more time for the part than for the
 * whole.
 */
function timeoutConditions({
  headersTimeoutMs = DEFAULT_TIMEOUT,
  requestTimeoutMs = DEFAULT_TIMEOUT,
}: NonNullable<Readable['public']['limits']>): readonly FoundFault[] {
  if (!(Number(headersTimeoutMs) > Number(requestTimeoutMs))) return [];
  return [
    {
      path: ['public', 'limits', 'headersTimeoutMs'],
      problem: `is ${headersTimeoutMs === DEFAULT_TIMEOUT ? `${DEFAULT_TIMEOUT}, its default, ` : ''}above requestTimeoutMs`,
      cure: 'write at most requestTimeoutMs, which is for the headers and the body together',
    },
  ];
}

/** Of both, as text. */
const DEFAULT_TIMEOUT = '5000';

function storeConditions(store: Readable['store']): readonly FoundFault[] {
  const faults: FoundFault[] = [];
  const url = store.url ?? '';
  if (store.tls !== undefined && !url.startsWith('rediss')) {
    faults.push({
      path: ['store', 'tls'],
      problem: 'has no effect on this store.url',
      cure: 'write rediss in place of redis, or delete store.tls',
    });
  }
  if (
    store.tls !== undefined &&
    (store.tls['certificate'] === undefined) !== (store.tls['key'] === undefined)
  ) {
    faults.push({
      path: ['store', 'tls'],
      problem: 'has half of a client certificate',
      cure: 'write certificate and key, or neither',
    });
  }
  if (store.username !== undefined && store.password === undefined) {
    faults.push({ path: ['store', 'username'], problem: 'has no password', cure: 'add store.password' });
  }
  return [...faults, ...durabilityConditions(store), ...clockConditions(store)];
}

function durabilityConditions({
  url = EMBEDDED,
  durability = {},
  commandTimeoutMs = '1000',
}: Readable['store']): readonly FoundFault[] {
  const { replicas = '0', timeoutMs = '100' } = durability;
  if (replicas === '0') return [];
  if (url.startsWith(EMBEDDED)) {
    const cure = 'name a Redis with replicas in store.url, or delete store.durability';
    return [
      { path: ['store', 'durability', 'replicas'], problem: 'has no effect on an embedded store', cure },
    ];
  }
  if (!(Number(timeoutMs) >= Number(commandTimeoutMs))) return [];
  return [
    {
      path: ['store', 'durability'],
      problem: 'waits for replicas for no less than store.commandTimeoutMs',
      cure: `write a timeoutMs below ${commandTimeoutMs}, or raise store.commandTimeoutMs`,
    },
  ];
}

function clockConditions({ clock = {} }: Readable['store']): readonly FoundFault[] {
  const { maxStepMs = '60000', maxGapMs = '3600000' } = clock;
  if (!(Number(maxGapMs) < Number(maxStepMs))) return [];
  const cure = `write a maxGapMs of at least ${maxStepMs}, or a smaller maxStepMs`;
  return [{ path: ['store', 'clock', 'maxGapMs'], problem: 'is below store.clock.maxStepMs', cure }];
}

function unique(sources: readonly Source[], name: 'name' | 'appKey', cure: string): readonly FoundFault[] {
  return sources.flatMap((source, index) => {
    const first = sources.findIndex((other) => other[name] === source[name]);
    if (source[name] === undefined || first === index) return [];
    return [{ path: ['sources', index, name], problem: `is that of sources[${first}] as well`, cure }];
  });
}

/** How answers without texts of their own say no; see src/callback/answer.ts. */
const PLAIN_NO = 'FAILURE';
const JSON_NO = '{"code":"1","msg":"failure","data":"failure"}';

/** Who is not authenticated may get the text for no of another payment source, or the plain one. */
function answerConditions(sources: readonly Source[]): readonly FoundFault[] {
  const payments = sources.filter(({ callback }) => callback !== 'cosigner');
  return sources.flatMap(({ answer: own }, index) => {
    if (typeof own !== 'object') return [];
    const others = payments.filter(({ answer }) => answer !== own).map(({ answer }) => refusalIn(answer));
    if (own.success === undefined || ![PLAIN_NO, ...others].includes(own.success.trim())) return [];
    return [
      {
        path: ['sources', index, 'answer', 'success'],
        problem: 'is the text for no of an answer on the same path',
        cure: 'write a text that no payment source is refused with',
      },
    ];
  });
}

function refusalIn(answer: Source['answer']): string | undefined {
  if (typeof answer === 'object') return answer.failure?.trim();
  return answer === 'json' ? JSON_NO : PLAIN_NO;
}

function sourceConditions(source: Source, path: SettingPath, settings: Readable): readonly FoundFault[] {
  const faults: FoundFault[] = [];
  const { authenticate = [], paths } = source;
  const answer = typeof source.answer === 'object' ? source.answer : {};
  if (answer.success !== undefined && answer.success.trim() === answer.failure?.trim()) {
    faults.push({
      path: [...path, 'answer', 'failure'],
      problem: 'is the same as success',
      cure: 'write two texts that differ',
    });
  }
  if (
    source.callback === 'cosigner' &&
    paths !== undefined &&
    paths.withdraw === undefined &&
    paths.web3 === undefined
  ) {
    faults.push({
      path: [...path, 'paths'],
      problem: 'names no path',
      cure: 'write withdraw, web3 or both, or delete paths for the defaults',
    });
  }
  if (authenticate.length > 1 && authenticate.includes('none')) {
    const index = authenticate.indexOf('none');
    faults.push({
      path: [...path, 'authenticate', index],
      problem: 'stands beside proofs',
      cure: 'delete none, so that the proofs count',
    });
  }
  for (const [index, credential] of authenticate.entries()) {
    faults.push(
      ...certificateConditions(credential, [...path, 'authenticate', index, 'certificate'], settings.public),
    );
  }
  return faults;
}

const certificateCredential = z.object({
  certificate: z.object({ header: z.unknown(), fingerprints: z.unknown(), subjects: z.unknown() }).partial(),
});

function certificateConditions(
  credential: unknown,
  path: SettingPath,
  outer: Readable['public'],
): readonly FoundFault[] {
  const { data } = certificateCredential.safeParse(credential);
  if (data === undefined) return [];
  const { header, fingerprints, subjects } = data.certificate;
  const faults: FoundFault[] = [];
  if (fingerprints === undefined && subjects === undefined) {
    faults.push({ path, problem: 'accepts any certificate', cure: 'write fingerprints, subjects or both' });
  }
  if (header === undefined && outer.tls?.clientCa === undefined) {
    faults.push({
      path,
      problem: 'needs the certificate of the connection',
      cure: 'set public.tls.clientCa, or name the header in which the gateway passes it on',
    });
  }
  if (header !== undefined && (outer.trustedProxies ?? []).length === 0) {
    faults.push({
      path,
      problem: 'believes a header from anybody',
      cure: 'name the gateway in public.trustedProxies',
    });
  }
  return faults;
}

interface ServedPath {
  readonly source: number;
  readonly setting: SettingPath;
  readonly served: string;
  readonly secret: boolean;
}

/** A URL leads to one source. A path secret takes all that is one segment below its source's paths. */
function pathConditions(sources: readonly Source[]): readonly FoundFault[] {
  const payment: ServedPath = { source: -1, setting: [], served: PAYMENT_PATH.toLowerCase(), secret: false };
  const paths = [payment, ...sources.flatMap(servedPaths)];
  return paths.flatMap((path, index) => {
    for (const other of paths.slice(0, index)) {
      const name =
        other.source === -1 ? 'the path of payment confirmations' : `a path of sources[${other.source}]`;
      const [shorter, longer] = path.served.length < other.served.length ? [path, other] : [other, path];
      if (path.source !== other.source && path.served === other.served) {
        return [{ path: path.setting, problem: `is ${name}`, cure: 'give every source paths of its own' }];
      }
      if (shorter.secret && longer.served.startsWith(`${shorter.served}/`)) {
        return [
          {
            path: path.setting,
            problem: `lies above or below ${name}, where a path secret is expected`,
            cure: 'write paths of which none is the beginning of another',
          },
        ];
      }
    }
    return [];
  });
}

function servedPaths(source: Source, index: number): readonly ServedPath[] {
  if (source.callback !== 'cosigner') return [];
  const secret = (source.authenticate ?? []).some(
    (credential) => typeof credential === 'object' && credential !== null && 'path' in credential,
  );
  const paths = source.paths ?? { withdraw: '/cosigner/withdraw', web3: '/cosigner/web3' };
  return (['withdraw', 'web3'] as const).flatMap((name) => {
    const served = paths[name]?.toLowerCase();
    return served === undefined
      ? []
      : [{ source: index, setting: ['sources', index, 'paths', name], served, secret }];
  });
}
