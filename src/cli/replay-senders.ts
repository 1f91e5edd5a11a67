import { readFileSync, statSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { plainAnswer } from '../callback/answer.ts';
import { CountersignError, messageOf, usageError } from '../errors.ts';
import { type Mapping, MAPPED_MEMBERS, MAPPED_SOURCES } from '../replay/mapping.ts';
import type { SenderOf, SourceSender } from '../replay/resend.ts';
import { PAYMENT_PATH } from '../settings/sources.ts';
import { readPrivateKey, readPublicKey } from '../signature/keys.ts';
import type { Signer } from '../signature/scheme.ts';
import { compileSigner } from '../signature/schemes.ts';
import { answerFormatOf } from '../start/sources.ts';
import { closestMatch } from '../values/closest-match.ts';
import type { ReadSecret } from '../values/secret.ts';
import { type SourceOf, cosignerCredentials, cosignerPath, keyFile, platformSigner } from './sender-keys.ts';
import type { Session } from './session.ts';

/**
 * The senders for the sources of the settings. Their keys are read on first use. `key` is the file of
 * `--key`.
 */
export function replaySenders(session: Session, key: string | undefined, mapping: Mapping): SenderOf {
  const { sources } = session.settings();
  const { read } = session.secrets();
  const platformKey = memoize(() => (key === undefined ? undefined : keyFile(key)));
  const senders = new Map<string, SourceSender>();
  return (recorded) => {
    const name = mapping.source(recorded);
    const known = senders.get(name);
    if (known !== undefined) return known;
    const source = sources.find((each) => each.name === name);
    if (source === undefined) {
      const names = sources.map((each) => each.name).join(', ');
      throw usageError(
        `${session.settingsFile} has no source ${name}. Its sources: ${names}. Map the name with ` +
          '--map, under source',
      );
    }
    const sender =
      source.callback === 'payment' ? paymentSender(source, read, platformKey) : cosignerSender(source, read);
    senders.set(name, sender);
    return sender;
  };
}

function paymentSender(
  source: SourceOf<'payment'>,
  read: ReadSecret,
  platformKey: () => string | undefined,
): SourceSender {
  const signers = new Map<string, Signer>();
  return {
    callback: 'payment',
    name: source.name,
    path: PAYMENT_PATH,
    appKey: source.appKey,
    answer: answerFormatOf(source),
    signer(scheme) {
      const signer =
        signers.get(scheme) ?? compileSigner(signerConfig(source, scheme, { read, platformKey }));
      signers.set(scheme, signer);
      return signer;
    },
  };
}

function signerConfig(
  { name, signatures }: SourceOf<'payment'>,
  scheme: string,
  { read, platformKey }: { readonly read: ReadSecret; readonly platformKey: () => string | undefined },
): ReturnType<typeof platformSigner> {
  const accepted = signatures.filter((each) => each.scheme === scheme);
  const [first] = accepted;
  if (first === undefined) {
    const schemes = [...new Set(signatures.map((each) => each.scheme))].join(' and ');
    throw usageError(
      `the record has callbacks signed by ${scheme || 'an unknown scheme'}, but the source ${name} ` +
        `accepts only ${schemes}. Add ${scheme || 'the scheme'} to its signatures`,
    );
  }
  if (first.scheme === 'md5') return platformSigner(first, read, () => '');
  const key = platformKey();
  if (key === undefined) {
    throw usageError(
      `the record has callbacks signed by ${scheme}. Give the private key of the platformKey of ` +
        `source ${name} with --key`,
    );
  }
  const { fingerprint } = readPrivateKey(key);
  const paired = accepted.find(
    (each) => each.scheme !== 'md5' && readPublicKey(read(each.platformKey)).fingerprint === fingerprint,
  );
  if (paired !== undefined) return platformSigner(paired, read, () => key);
  throw usageError(
    `--key has the fingerprint ${fingerprint}, but no platformKey of ${name} for ${scheme} has it. ` +
      'Give the private key of that platformKey',
  );
}

function cosignerSender(source: SourceOf<'cosigner'>, read: ReadSecret): SourceSender {
  const { headers, segment } = cosignerCredentials(source, read);
  const certificate = source.authenticate.some(
    (credential) => typeof credential === 'object' && 'certificate' in credential,
  );
  return {
    callback: 'cosigner',
    name: source.name,
    answer: plainAnswer,
    headers,
    path(kind) {
      const path = cosignerPath(source, kind);
      if (certificate) {
        throw usageError(
          `the source ${source.name} requires a client certificate, which replay can't send. ` +
            'Configure a header at the instance instead',
        );
      }
      return `${path}${segment}`;
    },
  };
}

function memoize<T>(make: () => T): () => T {
  let computed: { readonly value: T } | undefined;
  return () => (computed ??= { value: make() }).value;
}

const MAX_BYTES = 16 * 1024 * 1024;
const mapShape = z.record(z.string(), z.record(z.string(), z.string().min(1)));

/**
 * The tables of `--map`: for each member, new texts by old. Throws USAGE for an unreadable file or an unknown
 * member.
 */
export function readMap(file: string | undefined): ReadonlyMap<string, ReadonlyMap<string, string>> {
  if (file === undefined) return new Map();
  const read = mapShape.safeParse(treeOf(file));
  if (!read.success) {
    const [issue] = read.error.issues;
    const fault = issue?.code === 'too_small' ? 'is empty' : 'has the wrong form';
    throw wrong(
      file,
      `${issue?.path.join('.') || 'the file'} ${fault}. Write members, and below each new texts by old, ` +
        'as --help shows',
    );
  }
  const known = [MAPPED_SOURCES, ...MAPPED_MEMBERS];
  const unknown = Object.keys(read.data).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const meant = closestMatch(unknown, known);
    const suggestion = meant === undefined ? '' : `Did you mean ${meant}? `;
    throw wrong(file, `${unknown} can't be mapped. ${suggestion}Write one of ${known.join(', ')}`);
  }
  return new Map(Object.entries(read.data).map(([name, table]) => [name, new Map(Object.entries(table))]));
}

function treeOf(file: string): unknown {
  let text: string;
  try {
    if (statSync(file).size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
    text = readFileSync(file, 'utf8');
  } catch (thrown) {
    throw wrong(file, messageOf(thrown));
  }
  const document = parseDocument(text, { schema: 'failsafe' });
  const [fault] = [...document.errors, ...document.warnings];
  if (fault !== undefined) throw wrong(file, fault.message);
  return document.toJS({ maxAliasCount: 0 });
}

function wrong(file: string, what: string): CountersignError {
  return usageError(`--map ${file}: ${what}`, { file });
}
