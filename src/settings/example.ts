import { type SettingKey, settingKeys } from './keys.ts';

/**
 * config/countersign.example.yaml: every setting at its default, those without one as comments, a service and
 * a module as comments, and each form of a source.
 */
export function settingsExample(): string {
  const keys = settingKeys().filter(({ path }) => path[0] !== 'sources' && !path.includes('*'));
  return `${HEADING}${keys.map((key) => lines(key, keys)).join('')}${INQUIRIES}\n${SOURCES}`;
}

const WIDTH = 110;

const HEADING = `# yaml-language-server: $schema=schemas/settings.schema.json
#
# Every setting at its default. A file needs only the sources and what differs from this one.
# Generated from the schema of the settings by \`npm run generate\`.
`;

function lines(key: SettingKey, keys: readonly SettingKey[]): string {
  const indent = '  '.repeat(key.path.length - 1);
  const isSection = keys.some(({ path }) => path.length > key.path.length && startsWith(path, key.path));
  const optional = key.default === undefined && (!isSection || !hasDefault(key, keys));
  // What belongs to a section that is left out is left out with it.
  if (keys.some((above) => isAbove(above, key) && !hasDefault(above, keys))) return '';
  const comment = wrapped(key.description, WIDTH - indent.length - 2).map((line) => `${indent}# ${line}\n`);
  const name = key.path.at(-1) ?? '';
  const value = optional
    ? `# ${name}: ${formOf(key, keys)}`
    : isSection
      ? `${name}:`
      : `${name}: ${written(key.default)}`;
  return `${key.path.length === 1 ? '\n' : ''}${comment.join('')}${indent}${value}\n`;
}

function hasDefault(section: SettingKey, keys: readonly SettingKey[]): boolean {
  const within = keys.filter(({ path }) => startsWith(path, section.path));
  return within.some((key) => key.default !== undefined);
}

function isAbove(above: SettingKey, key: SettingKey): boolean {
  return above.path.length < key.path.length && startsWith(key.path, above.path);
}

function startsWith(path: readonly string[], beginning: readonly string[]): boolean {
  return beginning.every((step, index) => path[index] === step);
}

/**
 * How a setting without a default is written: `{ file: PATH }` for a reference, `{ a: …, b: … }` for a
 * section.
 */
function formOf(key: SettingKey, keys: readonly SettingKey[]): string {
  const children = keys.filter(
    ({ path }) => path.length === key.path.length + 1 && startsWith(path, key.path),
  );
  const names = children.map(({ path }) => path.at(-1) ?? '');
  if (names.join(' ') === 'file env') return '{ file: PATH }';
  if (names.length === 0) return key.types.includes('file path') ? 'PATH' : 'NAME';
  return `{ ${children.map((child, index) => `${names[index]}: ${formOf(child, keys)}`).join(', ')} }`;
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function wrapped(text: string, width: number): readonly string[] {
  const rows: string[] = [];
  for (const word of text.split(' ')) {
    const row = rows.at(-1);
    if (row === undefined || row.length + 1 + word.length > width) rows.push(word);
    else rows[rows.length - 1] = `${row} ${word}`;
  }
  return rows;
}

const INQUIRIES = `
# A service and a module, with all that they can have:
# services:
#   - name: risk
#     url: https://risk.example/ask
#     secret: { file: keys/risk.secret }
#     timeoutMs: 500
#     concurrency: 32
#     waiting: 64
#     breaker: { failures: 5, cooldownMs: 5000 }
#     ca: keys/own-authority.pem
# modules:
#   - name: own-check
#     file: modules/own-check.mjs
#     sha256: 64 hexadecimal digits, as sha256sum tells them
#     timeoutMs: 200
#     memoryMb: 64
#     concurrency: 2
#     waiting: 64
#     breaker: { failures: 5, cooldownMs: 5000 }
`;

const SOURCES = `# Who may call, and how each shows who it is.
sources:
  # One merchant application, whose payments the platform asks about.
  - name: shop
    callback: payment
    appKey: '0816016bb06417f5'
    # The schemes that are accepted. Two entries of one scheme are two keys, while one is being rotated.
    signatures:
      - scheme: md5
        secret: { env: SHOP_SECRET }
        # Whether a member whose value is the empty text is part of the signed text: keep or skip.
        emptyValues: keep
      - scheme: rsa
        platformKey: { file: keys/platform.pub }
        # sha256 or sha1
        digest: sha256
        # What is signed: the text of the members, string, or its MD5, md5-hex.
        signs: string
        emptyValues: keep
      - scheme: rsa-envelope
        platformKey: { file: keys/platform.pub }
        merchantKey: { file: keys/shop.pem }
    # plain, json, or the two texts:
    # answer: { contentType: application/json, success: '{"ok":true}', failure: '{"ok":false}' }
    answer: plain

  # One co-signer, behind a gateway. All proofs must hold.
  - name: vault
    callback: cosigner
    paths:
      withdraw: /cosigner/withdraw
      web3: /cosigner/web3
    authenticate:
      - addresses: [10.1.2.0/24, 'fd00::/8']
      - header: { name: authorization, secret: { file: keys/cosigner.token } }
      # A last segment of the path that only the co-signer knows:
      - path: { secret: { env: COSIGNER_PATH } }
      # A client certificate. Without \`header\` it is that of the connection, which needs public.tls.clientCa; with it, that
      # of which the gateway says so, which needs public.trustedProxies.
      # - certificate: { header: x-client-cert-sha256, fingerprints: [SHA256] }
    # The public keys by which the co-signer's own check of its configuration is answered.
    selfCheck:
      clientSystemKey: { file: keys/client-system.pub }
      verifySignKey: { file: keys/verify-sign.pub }

  # A co-signer that anybody who reaches the port can pose as. It must be written out, and stand alone.
  - name: laboratory
    callback: cosigner
    paths: { withdraw: /laboratory }
    authenticate: [none]
`;
