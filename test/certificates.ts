import { X509Certificate, createHash, generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate as X509,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_clientAuth,
  id_kp_serverAuth,
} from '@peculiar/asn1-x509';

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
  /** `/O=Vault/CN=cosigner`; valid for 127.0.0.1 and localhost, as a server and as a client. */
  issue(subject: string): Certificate;
  /** Removes its files. */
  close(): void;
}

const DAY_MS = 86_400_000;
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const NAME_TYPES: Readonly<Record<string, string>> = { C: '2.5.4.6', O: '2.5.4.10', CN: '2.5.4.3' };

/** An authority of the test's own, which nobody else trusts. */
export function createAuthority(): CertificateAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-certificates-'));
  const issuer = { name: nameOf('/CN=authority'), keys: newKeys() };
  const written = (file: string, { subject, keys, extensions }: Signed): Certificate => {
    const [certFile, keyFile] = [join(folder, `${file}.pem`), join(folder, `${file}.key`)];
    const key = keys.privateKey.export({ type: 'pkcs8', format: 'pem' });
    const made = new X509Certificate(signed({ subject, keys, extensions }, issuer));
    const cert = made.toString();
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key, { mode: 0o600 });
    return { cert, key, certFile, keyFile, fingerprint: made.fingerprint256 };
  };
  return {
    certificate: written('authority', {
      subject: issuer.name,
      keys: issuer.keys,
      extensions: [
        extension(id_ce_basicConstraints, new BasicConstraints({ cA: true }), true),
        extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.keyCertSign), true),
      ],
    }),
    issue: (subject) =>
      written(randomUUID(), {
        subject: nameOf(subject),
        keys: newKeys(),
        extensions: [
          extension(id_ce_basicConstraints, new BasicConstraints({ cA: false })),
          extension(
            id_ce_subjectAltName,
            new SubjectAlternativeName([
              new GeneralName({ iPAddress: '127.0.0.1' }),
              new GeneralName({ dNSName: 'localhost' }),
            ]),
          ),
          extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth, id_kp_clientAuth])),
        ],
      }),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

type Keys = ReturnType<typeof newKeys>;
const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

interface Signed {
  readonly subject: Name;
  readonly keys: Keys;
  readonly extensions: readonly Extension[];
}

/** The DER of a certificate that is valid from an hour ago until the day after tomorrow. */
function signed(
  { subject, keys, extensions }: Signed,
  issuer: { readonly name: Name; readonly keys: Keys },
): Buffer {
  const signature = new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 });
  const nowMs = Date.now();
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    // Positive, and of the same length always.
    serialNumber: new Uint8Array([1, ...randomBytes(15)]).buffer,
    signature,
    issuer: issuer.name,
    validity: new Validity({
      notBefore: new Date(nowMs - DAY_MS / 24),
      notAfter: new Date(nowMs + 2 * DAY_MS),
    }),
    subject,
    subjectPublicKeyInfo: AsnConvert.parse(spkiOf(keys), SubjectPublicKeyInfo),
    extensions: new Extensions([
      ...extensions,
      extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(identifierOf(keys))),
      extension(
        id_ce_authorityKeyIdentifier,
        new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(identifierOf(issuer.keys)) }),
      ),
    ]),
  });
  const certificate = new X509({
    tbsCertificate,
    signatureAlgorithm: signature,
    signatureValue: arrayOf(
      sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), issuer.keys.privateKey),
    ),
  });
  return Buffer.from(AsnConvert.serialize(certificate));
}

const arrayOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;
const spkiOf = ({ publicKey }: Keys): ArrayBuffer =>
  arrayOf(publicKey.export({ type: 'spki', format: 'der' }));
const identifierOf = (keys: Keys): ArrayBuffer =>
  arrayOf(
    createHash('sha1')
      .update(Buffer.from(spkiOf(keys)))
      .digest(),
  );

function extension(extnID: string, value: object, critical = false): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

/** `/O=Vault/CN=cosigner`, each part a name of its own. */
function nameOf(subject: string): Name {
  const parts = subject.split('/').slice(1);
  return new Name(
    parts.map((part) => {
      const [short = '', value = ''] = part.split(/=(.*)/s);
      const type = NAME_TYPES[short];
      if (type === undefined) throw new Error(`a subject of these tests has no ${short}: ${subject}`);
      const text = short === 'C' ? { printableString: value } : { utf8String: value };
      return new RelativeDistinguishedName([
        new AttributeTypeAndValue({ type, value: new AttributeValue(text) }),
      ]);
    }),
  );
}
