import type { Command } from 'commander';
import { usageError } from '../../errors.ts';
import {
  type PlatformConfig,
  type PlatformCredentials,
  type PlatformParts,
  systemParts,
} from '../../../packages/platform/index.ts';
import { platformWarning } from '../../settings/platform.ts';
import type { SecretRef } from '../../values/secret.ts';
import type { Call } from '../command.ts';
import type { SourceOf } from '../sender-keys.ts';
import type { Session } from '../session.ts';
import { sourceFor } from '../sources.ts';

type Signature = SourceOf<'payment'>['signatures'][number];

/** The options that select the application and its scheme. */
export function connectionOptions(command: Command): Command {
  return command
    .option('--source <name>', 'the payment source whose credentials are used (default: the first)')
    .option(
      '--scheme <scheme>',
      'md5, rsa or rsa-envelope (default: the first with which the source can sign)',
    )
    .option('--timeout <ms>', 'time limit for one request, in milliseconds (default: platform.timeoutMs)');
}

export interface PlatformCall {
  readonly config: PlatformConfig;
  readonly parts: PlatformParts;
  /** The name of the payment source. */
  readonly source: string;
}

const TIMEOUT_BOUNDS = { least: 1, most: 300_000 };

/**
 * The connection of the settings, as the payment source of `--source`. Warns on standard error if others on the
 * network can read along. Throws USAGE, or KEY_UNREADABLE.
 */
export function openConnection(session: Session, call: Call): PlatformCall {
  reportWeakPlatform(session);
  return connect(session, sourceFor(session, 'payment', call.option('source')), {
    scheme: call.option('scheme'),
    timeoutMs: call.count('timeout', TIMEOUT_BOUNDS),
  });
}

export function reportWeakPlatform(session: Session): void {
  const weak = platformWarning(session.settings().platform);
  if (weak !== undefined) session.report(`Warning: ${weak}.`);
}

interface ConnectOptions {
  /** By default the first that the source has. */
  readonly scheme?: string | undefined;
  /** By default those of the settings. */
  readonly timeoutMs?: number | undefined;
  readonly retries?: number;
}

/** The connection of the settings, as a payment source. Throws USAGE, or KEY_UNREADABLE. */
export function connect(
  session: Session,
  source: SourceOf<'payment'>,
  { scheme, timeoutMs, retries }: ConnectOptions = {},
): PlatformCall {
  const { platform } = session.settings();
  const { url, segment } = platform;
  if (url === undefined) {
    throw usageError(
      `${session.settingsFile} has no platform.url. Write the base address of the platform there, or set ` +
        'COUNTERSIGN_PLATFORM_URL',
    );
  }
  return {
    config: {
      url,
      segment,
      retries: retries ?? platform.retries,
      timeoutMs: timeoutMs ?? platform.timeoutMs,
      credentials: credentialsOf(source, session, scheme),
    },
    parts: { ...systemParts, clock: session.clock },
    source: source.name,
  };
}

function credentialsOf(
  { name, appKey, signatures }: SourceOf<'payment'>,
  session: Session,
  wanted: string | undefined,
): PlatformCredentials {
  const { read } = session.secrets();
  const usable = signatures.filter(isUsable);
  const chosen = usable.find(({ scheme }) => wanted === undefined || scheme === wanted);
  if (chosen === undefined) {
    const schemes = usable.map(({ scheme }) => scheme).join(', ') || 'no scheme';
    throw usageError(
      `the source ${name} has no ${wanted ?? 'md5, rsa or rsa-envelope'} credentials for requests, for which ` +
        `rsa needs a merchantKey. It can sign with ${schemes}`,
    );
  }
  if (chosen.scheme === 'rsa-envelope') {
    const { scheme, merchantKey, platformKey } = chosen;
    return { scheme, appKey, merchantKey: read(merchantKey), platformKey: read(platformKey) };
  }
  if (chosen.scheme === 'rsa') {
    const { merchantKey, platformKey, ...rest } = chosen;
    return { ...rest, appKey, merchantKey: read(merchantKey), platformKey: read(platformKey) };
  }
  // The code exchange (4.1) encrypts with the platform's key, which an RSA entry of the source names.
  const keyed = signatures.find((each) => each.scheme !== 'md5');
  return {
    scheme: 'md5',
    appKey,
    secret: read(chosen.secret),
    emptyValues: chosen.emptyValues,
    ...(keyed === undefined ? {} : { platformKey: read(keyed.platformKey) }),
  };
}

type Usable =
  | Exclude<Signature, { readonly scheme: 'rsa' }>
  | (Extract<Signature, { readonly scheme: 'rsa' }> & { readonly merchantKey: SecretRef });

/** Callbacks with `rsa` need no key of the merchant, and requests do. */
function isUsable(signature: Signature): signature is Usable {
  return signature.scheme !== 'rsa' || signature.merchantKey !== undefined;
}
