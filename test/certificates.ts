import { spawnSync } from 'node:child_process';
import { X509Certificate, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate with its key: PEM texts, and the files that hold them. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** SHA-256, with colons. */
  readonly fingerprint: string;
}

export interface CertificateAuthority {
  readonly certificate: Certificate;
  /** `/O=Vault/CN=cosigner`; valid for 127.0.0.1, as a server and as a client. */
  issue(subject: string): Certificate;
  /** Removes its files. */
  close(): void;
}

const MISSING =
  'These tests make certificates and there is no `openssl` on the PATH: install OpenSSL 1.1.1 or newer (Debian: `apt-get install openssl`, macOS: `brew install openssl`).';

const CONFIG = `[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
[leaf]
basicConstraints = CA:FALSE
subjectAltName = IP:127.0.0.1
extendedKeyUsage = serverAuth, clientAuth
`;

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** An authority of the test's own, which nobody else trusts. */
export function createAuthority(): CertificateAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-certificates-'));
  const config = join(folder, 'openssl.cnf');
  writeFileSync(config, CONFIG);
  const made = (name: string): Certificate => {
    const [certFile, keyFile] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
    const cert = readFileSync(certFile, 'utf8');
    const { fingerprint256: fingerprint } = new X509Certificate(cert);
    return { cert, key: readFileSync(keyFile, 'utf8'), certFile, keyFile, fingerprint };
  };
  const request = (name: string, subject: string, ...more: string[]): void => {
    const key = join(folder, `${name}.key`);
    openssl(['req', '-config', config, ...NEW_KEY, '-keyout', key, '-subj', subject, ...more]);
  };
  request(
    'authority',
    '/CN=authority',
    '-x509',
    '-extensions',
    'authority',
    '-days',
    '2',
    '-out',
    join(folder, 'authority.pem'),
  );
  const certificate = made('authority');
  return {
    certificate,
    issue(subject) {
      const name = randomUUID();
      const wanted = join(folder, `${name}.csr`);
      request(name, subject, '-new', '-out', wanted);
      const by = ['-CA', certificate.certFile, '-CAkey', certificate.keyFile, '-CAcreateserial'];
      const extensions = ['-extfile', config, '-extensions', 'leaf'];
      openssl([
        'x509',
        '-req',
        '-in',
        wanted,
        ...by,
        ...extensions,
        '-days',
        '2',
        '-out',
        join(folder, `${name}.pem`),
      ]);
      return made(name);
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function openssl(args: readonly string[]): void {
  const { error, status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' });
  if (error !== undefined) throw new Error(MISSING);
  if (status !== 0) throw new Error(`openssl ${args[0] ?? ''} ended with ${status}: ${stderr}`);
}
