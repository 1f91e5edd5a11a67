import { spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';

/*
 * Keys and signatures of SSH: real ones by ssh-keygen, those of a security key as its device makes them
 * (PROTOCOL.u2f of OpenSSH), and the parts of a signature, to put together what no program would write.
 */

export interface SigningKey {
  /** The line of the file that ends in .pub. */
  readonly line: string;
  /** An armored signature. */
  sign(message: Uint8Array, namespace: string, digest?: string): string;
}

export function sshKeygen(args: readonly string[], input: Uint8Array = Buffer.alloc(0), env = process.env) {
  const { status, stdout, stderr } = spawnSync('ssh-keygen', args, { input, env, timeout: 60_000 });
  return { status, stdout: stdout.toString(), stderr: stderr.toString() };
}

function done(args: readonly string[], input?: Uint8Array, env?: NodeJS.ProcessEnv): string {
  const { status, stdout, stderr } = sshKeygen(args, input, env);
  if (status === 0) return stdout;
  throw new Error(`ssh-keygen ${args.join(' ')}: ${stderr}`);
}

/** A key that ssh-keygen makes, such as `-t ecdsa -b 384`, and with which it signs. */
export function createSshKey(...kind: readonly string[]): SigningKey & { readonly privateKey: string } {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-key-'));
  try {
    const file = join(folder, 'key');
    done(['-q', '-N', '', '-C', 'ada@laptop', '-f', file, ...kind]);
    const privateKey = readFileSync(file, 'utf8');
    return {
      privateKey,
      line: readFileSync(`${file}.pub`, 'utf8').trimEnd(),
      sign(message, namespace, digest = 'sha512') {
        const signingFile = join(temporaryFolder(), 'key');
        writeFileSync(signingFile, privateKey, { mode: 0o600 });
        return done(
          ['-q', '-Y', 'sign', '-O', `hashalg=${digest}`, '-n', namespace, '-f', signingFile],
          message,
        );
      },
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The same key, of which only an agent has the private half, until the test is over. */
export function inAgent(
  { line, privateKey }: ReturnType<typeof createSshKey>,
  ...options: readonly string[]
): SigningKey {
  const { stdout } = spawnSync('ssh-agent', ['-s'], { encoding: 'utf8' });
  const [, socket, pid] = /SSH_AUTH_SOCK=([^;]+);[^]*SSH_AGENT_PID=(\d+);/.exec(stdout) ?? [];
  if (pid === undefined) throw new Error(`ssh-agent has not started: ${stdout}`);
  onTestFinished(() => void process.kill(Number(pid)));
  const env = { ...process.env, SSH_AUTH_SOCK: socket };
  const added = spawnSync('ssh-add', ['-q', '-'], { env, input: privateKey, encoding: 'utf8' });
  if (added.status !== 0) throw new Error(added.stderr);
  const file = join(temporaryFolder(), 'key.pub');
  writeFileSync(file, `${line}\n`);
  return {
    line,
    sign: (message, namespace) =>
      done(['-q', '-Y', 'sign', ...options, '-n', namespace, '-f', file], message, env),
  };
}

/** Whether ssh-keygen takes it for a signature by the key in it. */
export function passesSshKeygen(armored: string, message: Uint8Array, namespace: string): boolean {
  const file = join(temporaryFolder(), 'message.sig');
  writeFileSync(file, armored);
  return sshKeygen(['-Y', 'check-novalidate', '-n', namespace, '-s', file], message).status === 0;
}

interface Touch {
  readonly application: string;
  readonly flags: number;
  readonly counter: number;
}

type Over = Partial<Touch & { readonly digest: string }>;

/** A security key: a device that signs if it is touched. */
export function createSecurityKey(
  curve: 'ed25519' | 'nistp256',
  made: Touch = { application: 'ssh:', flags: 1, counter: 7 },
): SigningKey & { signTouched(message: Uint8Array, namespace: string, over: Over): string } {
  const isEcdsa = curve === 'nistp256';
  const { privateKey, publicKey } = isEcdsa
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('ed25519');
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const type = isEcdsa ? 'sk-ecdsa-sha2-nistp256@openssh.com' : 'sk-ssh-ed25519@openssh.com';
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  const key = wire(type, ...(isEcdsa ? [curve, point] : [Buffer.from(x, 'base64url')]), made.application);
  function signTouched(message: Uint8Array, namespace: string, over: Over): string {
    const { application, flags, counter, digest } = { ...made, digest: 'sha512', ...over };
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    const touch = Buffer.concat([Buffer.of(flags), count]);
    const parts = { ...PARTS, key, namespace: Buffer.from(namespace), digest };
    const data = Buffer.concat([
      sha('sha256', application),
      touch,
      sha('sha256', signedText(parts, message)),
    ]);
    const bytes = isEcdsa
      ? ecdsaPair(sign('sha256', data, { key: privateKey, dsaEncoding: 'ieee-p1363' }))
      : sign(null, data, privateKey);
    return armor(blobOf({ ...parts, signature: Buffer.concat([wire(type, bytes), touch]) }));
  }
  return {
    line: `${type} ${key.toString('base64')} ada@key`,
    sign: (message, namespace, digest = 'sha512') => signTouched(message, namespace, { digest }),
    signTouched,
  };
}

/** What a signature consists of, before it is armored. */
export interface SignatureParts {
  readonly magic: string;
  readonly version: number;
  readonly key: Uint8Array;
  readonly namespace: Uint8Array;
  readonly reserved: Uint8Array;
  readonly digest: string;
  readonly signature: Uint8Array;
  readonly after: Uint8Array;
}

const NONE = Buffer.alloc(0);
/** Of which key, namespace and signature are missing. */
export const PARTS: SignatureParts = {
  magic: 'SSHSIG',
  version: 1,
  key: NONE,
  namespace: NONE,
  reserved: NONE,
  digest: 'sha512',
  signature: NONE,
  after: NONE,
};

export function blobOf({ magic, version, after, ...parts }: SignatureParts): Buffer {
  const { key, namespace, reserved, digest, signature } = parts;
  const number = Buffer.alloc(4);
  number.writeUInt32BE(version);
  return Buffer.concat([
    Buffer.from(magic),
    number,
    wire(key, namespace, reserved, digest, signature),
    after,
  ]);
}

export function partsOf(armored: string): SignatureParts {
  const [key = NONE, namespace = NONE, reserved = NONE, digest = NONE, signature = NONE] = stringsIn(
    blobIn(armored).subarray(10),
  );
  return { ...PARTS, key, namespace, reserved, digest: digest.toString(), signature };
}

/** What the key signs, for any private key of node:crypto. */
export function signedText(
  { namespace, reserved, digest }: Pick<SignatureParts, 'namespace' | 'reserved' | 'digest'>,
  message: Uint8Array,
): Buffer {
  return Buffer.concat([Buffer.from('SSHSIG'), wire(namespace, reserved, digest, sha(digest, message))]);
}

export function armor(blob: Uint8Array): string {
  const lines = Buffer.from(blob)
    .toString('base64')
    .replaceAll(/.{1,70}/g, '$&\n');
  return `-----BEGIN SSH SIGNATURE-----\n${lines}-----END SSH SIGNATURE-----\n`;
}

export const blobIn = (armored: string): Buffer =>
  Buffer.from(armored.replaceAll(/-----[A-Z ]+-----|\n/g, ''), 'base64');

/** Strings of the wire format, one after the other. */
export function wire(...values: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(
    values.flatMap((value) => {
      const bytes = Buffer.from(value);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );
}

export function stringsIn(bytes: Buffer): readonly Buffer[] {
  const strings: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    strings.push(bytes.subarray(at + 4, (at += 4 + length)));
  }
  return strings;
}

/** A whole number from 0 as bytes in two's complement. */
export function mpint(number: Uint8Array): Buffer {
  const digits = Buffer.from(number);
  const from = digits.findIndex((byte) => byte !== 0);
  if (from === -1) return NONE;
  const shortest = digits.subarray(from);
  return (shortest[0] ?? 0) < 128 ? shortest : Buffer.concat([Buffer.of(0), shortest]);
}

/** The largest number of so many bits. */
export const ones = (bits: number): Buffer => {
  const digits = (2n ** BigInt(bits) - 1n).toString(16);
  return mpint(Buffer.from(digits.padStart(2 * Math.ceil(digits.length / 2), '0'), 'hex'));
};

/** r and s, each half of the bytes. */
function ecdsaPair(bytes: Uint8Array): Buffer {
  const half = bytes.length / 2;
  return wire(mpint(bytes.subarray(0, half)), mpint(bytes.subarray(half)));
}

export const sha = (digest: string, bytes: string | Uint8Array): Buffer =>
  createHash(digest).update(bytes).digest();

export const someText = (): Buffer =>
  Buffer.from(`countersign-test/1\nvalue ${randomBytes(8).toString('hex')}\n`);
