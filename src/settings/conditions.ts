import { z } from 'zod';
import { type SettingPath, settingName, valueAt } from './faults.ts';
import { type Settings, type SourceSettings, settingsSchema } from './schema.ts';
import { thresholdsOf } from './signers.ts';
import { PAYMENT_PATH } from './sources.ts';

/**
 * The settings with the conditions between them. Conditions are also checked if single settings are faulty,
 * so that one start reports all faults.
 */
export const checkedSettings = settingsSchema.superRefine(
  (found, context) => {
    const faulty = context.issues.filter(({ code }) => code !== 'unrecognized_keys');
    const paths = faulty.map(({ path }) => path ?? []);
    const settings = withoutFaulty(found, paths);
    const sources = (settings.sources ?? []).map((source): Source => source ?? {});
    const report: Report = (path, problem, fix) =>
      context.addIssue({ code: 'custom', path: [...path], params: { problem }, message: fix });
    for (const check of CHECKS) check({ ...settings, sources }, report);
  },
  { when: () => true },
);

/** A value in which every part may be undefined, because faulty parts are removed. */
type DeepPartial<T> = T extends readonly (infer E)[]
  ? readonly (DeepPartial<E> | undefined)[]
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> | undefined }
    : T;

type ValidSettings = DeepPartial<Settings>;
type Payment = Extract<SourceSettings, { callback: 'payment' }>;
type Cosigner = Extract<SourceSettings, { callback: 'cosigner' }>;
type Source = DeepPartial<
  Omit<Payment, 'callback'> & Omit<Cosigner, 'callback'> & Pick<SourceSettings, 'callback'>
>;
type Report = (path: SettingPath, problem: string, fix: string) => void;
type Check = (
  settings: Omit<ValidSettings, 'sources'> & { readonly sources: readonly Source[] },
  report: Report,
) => void;

function withoutFaulty(settings: unknown, paths: readonly (readonly PropertyKey[])[]): ValidSettings {
  const copy: unknown = structuredClone(settings);
  for (const path of paths) {
    const [parent, last] = [valueAt(copy, path.slice(0, -1)), path.at(-1)];
    if (typeof parent === 'object' && parent !== null && last !== undefined) {
      Reflect.set(parent, last, undefined);
    }
  }
  return asValid.parse(copy);
}

const asValid = z.custom<ValidSettings>((value) => typeof value === 'object' && value !== null);

/**
 * Whether a setting is written. A faulty setting counts as written, and so do all settings of a faulty
 * section.
 */
function isWritten(section: object | undefined, name: string): boolean {
  return section === undefined || name in section;
}

const checkPorts: Check = ({ public: publicServer, ops }, report) => {
  const port = ops?.port;
  if (port === undefined || port === 0 || port !== publicServer?.port) return;
  report(['ops', 'port'], `is ${port}, like public.port`, 'choose two different ports');
};

/** Node's server doesn't start if the time limit for the headers is above that for the whole request. */
const checkTimeouts: Check = ({ public: publicServer }, report) => {
  const { headersTimeoutMs = 0, requestTimeoutMs = Infinity } = publicServer?.limits ?? {};
  if (headersTimeoutMs <= requestTimeoutMs) return;
  report(
    ['public', 'limits', 'headersTimeoutMs'],
    `is ${headersTimeoutMs}, above requestTimeoutMs, ${requestTimeoutMs}`,
    `write at most ${requestTimeoutMs}, or increase requestTimeoutMs`,
  );
};

/** A section that lets nobody in is a mistake, and so is a name under which the ops port does not answer. */
const checkConsole: Check = ({ console, ops }, report) => {
  if (console === undefined) return;
  if (!isWritten(console, 'proxy') && !isWritten(console, 'passkeys')) {
    report(['console'], 'lets nobody in', 'set console.passkeys or console.proxy, or delete the section');
  }
  const people = console.proxy?.people?.map((person) => person?.name) ?? [];
  const peopleFix = 'list each person once, with all roles';
  reportRepeated(report, ['console', 'proxy', 'people'], 'name', people, peopleFix);
  const { host, origin } = console.passkeys ?? {};
  if (host === undefined) return;
  if (host !== 'localhost' && ops?.hosts?.some((each) => each?.toLowerCase() === host) === false) {
    report(['console', 'passkeys', 'host'], `is ${host}, which is not in ops.hosts`, 'add it to ops.hosts');
  }
  const reportOrigin = (problem: string, fix: string): void =>
    report(['console', 'passkeys', 'origin'], problem, fix);
  if (origin === undefined) {
    if (host !== 'localhost') return;
    const ports = 'the port of ops.port, or of console.port if console.withService is false';
    reportOrigin('is missing', `write http://localhost:9090, with ${ports}`);
  } else if (origin.startsWith('http:') && isWritten(ops, 'tls')) {
    const fix = 'write https:// in its place, or delete ops.tls';
    reportOrigin(`is ${origin}, but the ops port speaks TLS`, fix);
  } else if (new URL(origin).hostname !== host) {
    reportOrigin(`is ${origin}, of another host than ${host}`, `write https://${host}`);
  }
};

const checkSigners: Check = ({ signers, fourEyes = [], deployment }, report) => {
  if (deployment === undefined && (signers !== undefined || fourEyes.length > 0)) {
    report(['deployment'], 'is missing', 'name the deployment: signatures are for one deployment alone');
  }
  if (signers === undefined) return;
  const { threshold, tighten } = thresholdsOf(signers);
  if (tighten < threshold && !isWritten(signers, 'state')) {
    report(
      ['signers', 'state'],
      'is missing',
      'name a file: fewer signatures suffice only for a service that remembers what was in force',
    );
  }
  if (tighten <= threshold) return;
  report(
    ['signers', 'tighten'],
    `is ${tighten}, above threshold, ${threshold}`,
    `write at most ${threshold}`,
  );
};

/** Reports each element of a list that has the same value of a setting as an earlier one. */
function reportRepeated(
  report: Report,
  list: SettingPath,
  name: string,
  values: readonly (string | undefined)[],
  fix: string,
): void {
  for (const [index, value] of values.entries()) {
    const first = values.indexOf(value);
    if (value === undefined || first === index) continue;
    report([...list, index, name], `is also the ${name} of ${settingName(list)}[${first}]`, fix);
  }
}

const checkStore: Check = ({ store = {} }, report) => {
  const { url, tls } = store;
  if (isWritten(store, 'tls') && url !== undefined && !url.startsWith('rediss')) {
    const fix = 'write rediss instead of redis in the URL, or delete store.tls';
    report(['store', 'tls'], 'has no effect on this store.url', fix);
  }
  if (tls !== undefined && isWritten(tls, 'certificate') !== isWritten(tls, 'key')) {
    report(['store', 'tls'], 'has only one of certificate and key', 'write both, or neither');
  }
  if (isWritten(store, 'username') && !isWritten(store, 'password')) {
    report(['store', 'username'], 'has no password', 'add store.password');
  }
};

const checkDurability: Check = ({ store: { url, durability, commandTimeoutMs = Infinity } = {} }, report) => {
  const { replicas = 0, timeoutMs = 0 } = durability ?? {};
  if (replicas === 0) return;
  if (url?.startsWith('embedded:') === true) {
    const fix = 'name a Redis with replicas in store.url, or delete store.durability';
    report(['store', 'durability', 'replicas'], 'has no effect on an embedded store', fix);
  } else if (timeoutMs >= commandTimeoutMs) {
    report(
      ['store', 'durability'],
      `has a timeoutMs of ${timeoutMs}, not below store.commandTimeoutMs, ${commandTimeoutMs}`,
      `write a timeoutMs below ${commandTimeoutMs}, or increase store.commandTimeoutMs`,
    );
  }
};

const checkClock: Check = ({ store }, report) => {
  const { maxStepMs = 0, maxGapMs = Infinity } = store?.clock ?? {};
  if (maxGapMs >= maxStepMs) return;
  report(
    ['store', 'clock', 'maxGapMs'],
    `is ${maxGapMs}, below store.clock.maxStepMs, ${maxStepMs}`,
    `write a maxGapMs of at least ${maxStepMs}, or a smaller maxStepMs`,
  );
};

const checkNames: Check = ({ services = [], modules = [], notifications = [], sources }, report) => {
  const names = sources.map(({ name }) => name);
  const appKeys = sources.map(({ appKey }) => appKey);
  const appKeyFix = 'give each appKey one source; two keys of one appKey are two entries of signatures';
  reportRepeated(report, ['sources'], 'name', names, 'give each source its own name');
  reportRepeated(report, ['sources'], 'appKey', appKeys, appKeyFix);
  for (const [of, plugins] of Object.entries({ services, modules })) {
    const own = plugins.map((plugin) => plugin?.name);
    reportRepeated(report, [of], 'name', own, `give each of the ${of} its own name`);
  }
  const urls = notifications.map((receiver) => receiver?.url);
  reportRepeated(report, ['notifications'], 'url', urls, 'list all events of a receiver in one entry');
};

const checkPluginTimeouts: Check = ({ answerTimeoutMs = Infinity, services = [], modules = [] }, report) => {
  for (const [of, plugins] of Object.entries({ services, modules })) {
    for (const [index, plugin] of plugins.entries()) {
      const timeoutMs = plugin?.timeoutMs ?? 0;
      if (timeoutMs < answerTimeoutMs) continue;
      report(
        [of, index, 'timeoutMs'],
        `is ${timeoutMs}, not below answerTimeoutMs, ${answerTimeoutMs}`,
        `write less than ${answerTimeoutMs}, or increase answerTimeoutMs`,
      );
    }
  }
};

interface AnswerTexts {
  readonly success: string;
  readonly failure: string;
}

/** The answers of a source without texts of its own; see src/callback/answer.ts. */
const PLAIN: AnswerTexts = { success: 'SUCCESS', failure: 'FAILURE' };
const JSON_ANSWER: AnswerTexts = {
  success: '{"code":"0","msg":"success","data":"success"}',
  failure: '{"code":"1","msg":"failure","data":"failure"}',
};

/**
 * An unauthenticated sender may get the refusal of another payment source, or the plain one. So no approval
 * may have the same text as one of these refusals.
 */
const checkAnswers: Check = ({ sources }, report) => {
  const payments = sources.filter(({ callback }) => callback !== 'cosigner');
  for (const [index, { answer }] of sources.entries()) {
    if (typeof answer !== 'object' || answer.success === undefined) continue;
    const { success, failure } = textsOf(answer);
    if (success === failure) {
      report(['sources', index, 'answer', 'failure'], 'is the same as success', 'write two different texts');
    }
    const others = payments.flatMap((other) => (other.answer === answer ? [] : textsOf(other.answer)));
    if ([PLAIN, ...others].some((other) => other.failure === success)) {
      const fix = 'write a text that no payment source sends as a refusal';
      report(['sources', index, 'answer', 'success'], 'is also a refusal on the same path', fix);
    }
    if ([PLAIN, JSON_ANSWER].some((other) => other.success === failure)) {
      const fix = 'write a text that no other source sends as an approval';
      report(['sources', index, 'answer', 'failure'], 'is the approval of plain or json answers', fix);
    }
  }
};

function textsOf(answer: Source['answer']): AnswerTexts {
  if (typeof answer !== 'object') return answer === 'json' ? JSON_ANSWER : PLAIN;
  return {
    success: answer.success?.trim() ?? PLAIN.success,
    failure: answer.failure?.trim() ?? PLAIN.failure,
  };
}

const checkCredentials: Check = ({ public: publicServer, sources }, report) => {
  for (const [index, { authenticate = [] }] of sources.entries()) {
    const path = ['sources', index, 'authenticate'];
    const none = authenticate.indexOf('none');
    if (none !== -1 && authenticate.length > 1) {
      const fix = 'delete the entry `none`, so that the others are required';
      report([...path, none], 'is listed with other credentials', fix);
    }
    for (const [at, credential] of authenticate.entries()) {
      if (typeof credential !== 'object' || !('certificate' in credential)) continue;
      checkCertificate(credential.certificate, publicServer, (problem, fix) =>
        report([...path, at, 'certificate'], problem, fix),
      );
    }
  }
};

function checkCertificate(
  certificate: { readonly header?: string | undefined } | undefined,
  publicServer: ValidSettings['public'],
  report: (problem: string, fix: string) => void,
): void {
  if (certificate === undefined) return;
  const [fingerprints, subjects] = [
    isWritten(certificate, 'fingerprints'),
    isWritten(certificate, 'subjects'),
  ];
  if (!fingerprints && !subjects) {
    report('accepts any certificate', 'write fingerprints, subjects or both');
  }
  if (isWritten(certificate, 'header')) {
    if (publicServer?.trustedProxies?.length === 0) {
      report('trusts a header from any caller', 'list the gateway in public.trustedProxies');
    }
    if (fingerprints && subjects) {
      const fix = 'list fingerprints or subjects, whichever the gateway sends';
      report('expects a fingerprint and a subject in one header', fix);
    }
    if (subjects && certificate.header?.toLowerCase() === 'x-forwarded-client-cert') {
      report(
        'reads subjects from X-Forwarded-Client-Cert, which clients can write',
        'list fingerprints instead',
      );
    }
  } else if (!isWritten(publicServer, 'tls') || !isWritten(publicServer?.tls, 'clientCa')) {
    const fix = 'set public.tls.clientCa, or name the header in which the gateway passes the certificate on';
    report('needs client certificates on the connection', fix);
  }
}

interface ServedPath {
  /** Undefined for the path of payment confirmations. */
  readonly source?: number;
  readonly setting: SettingPath;
  readonly served: string;
  /** Whether a secret segment follows. */
  readonly secret: boolean;
}

/** A URL belongs to one source. A source with a path secret owns all URLs one segment below its paths. */
const checkPaths: Check = ({ sources }, report) => {
  for (const [index, { callback, paths }] of sources.entries()) {
    if (callback !== 'cosigner' || isWritten(paths, 'withdraw') || isWritten(paths, 'web3')) continue;
    const fix = 'write withdraw, web3 or both, or delete paths for the defaults';
    report(['sources', index, 'paths'], 'contains no path', fix);
  }
  const payment: ServedPath = { setting: [], served: PAYMENT_PATH.toLowerCase(), secret: false };
  const paths = [payment, ...sources.flatMap(servedPaths)];
  for (const [index, path] of paths.entries()) {
    const before = paths.slice(0, index);
    const clash = before.map((other) => clashOf(path, other)).find((each) => each !== undefined);
    if (clash !== undefined) report(path.setting, clash.problem, clash.fix);
  }
};

function clashOf(path: ServedPath, other: ServedPath): { problem: string; fix: string } | undefined {
  const name =
    other.source === undefined ? 'the path of payment confirmations' : `a path of sources[${other.source}]`;
  const [shorter, longer] = path.served.length < other.served.length ? [path, other] : [other, path];
  if (path.source !== other.source && path.served === other.served) {
    return { problem: `is ${name}`, fix: 'give each source its own paths' };
  }
  if (!shorter.secret || !longer.served.startsWith(`${shorter.served}/`)) return undefined;
  return {
    problem: `overlaps ${name}, where a path secret follows`,
    fix: 'write paths that do not begin with each other',
  };
}

function servedPaths({ callback, authenticate = [], paths = {} }: Source, index: number): ServedPath[] {
  if (callback !== 'cosigner') return [];
  const secret = authenticate.some((credential) => typeof credential === 'object' && 'path' in credential);
  return (['withdraw', 'web3'] as const).flatMap((name) => {
    const served = paths[name]?.toLowerCase();
    return served === undefined
      ? []
      : [{ source: index, setting: ['sources', index, 'paths', name], served, secret }];
  });
}

/** The bill of a payment source is read with a scheme that requests can have. */
const checkReconcile: Check = ({ reconcile, platform, sources }, report) => {
  if (reconcile?.directory === undefined) return;
  for (const [index, { callback, signatures = [] }] of sources.entries()) {
    if (callback !== 'payment') continue;
    if (platform !== undefined && !isWritten(platform, 'url')) {
      const fix = 'write platform.url, from which the bill is read, or delete reconcile.directory';
      report(['reconcile', 'directory'], 'has no effect without the address of the platform', fix);
      return;
    }
    const canRequest = signatures.some(
      (signature) => signature?.scheme !== 'rsa' || isWritten(signature, 'merchantKey'),
    );
    if (signatures.length === 0 || canRequest) continue;
    const fix =
      'add the merchantKey that signs requests, or an md5 or rsa-envelope entry, or delete reconcile.directory';
    const problem = 'has no key for requests to the platform, such as the bill';
    report(['sources', index, 'signatures'], problem, fix);
  }
};

const CHECKS: readonly Check[] = [
  checkPorts,
  checkConsole,
  checkTimeouts,
  checkStore,
  checkDurability,
  checkClock,
  checkSigners,
  checkNames,
  checkPluginTimeouts,
  checkAnswers,
  checkCredentials,
  checkPaths,
  checkReconcile,
];
