import { type SettingKey, settingKeys, settingsJsonSchema } from '../../src/settings/keys.ts';
import { type GeneratedFile, type ReadFile, pageWith } from './marks.ts';

/**
 * The checked-in files that are generated from the schema of the settings: path from the root, and content.
 */
export function generatedSettingsFiles(read: ReadFile): readonly GeneratedFile[] {
  return [
    ['config/schemas/settings.schema.json', `${JSON.stringify(settingsJsonSchema(), null, 2)}\n`],
    ['config/countersign.example.yaml', settingsExample()],
    pageWith(settingsReference(), 'docs/settings.md', read),
  ];
}

/** A table for each section; `<n>` in a variable is the number of an element. */
function settingsReference(): string {
  const keys = settingKeys();
  const sections = keys.filter(({ path }) => path.length === 1).map((top) => referenceSection(top, keys));
  return sections.join('\n\n');
}

/** A name at the top, with a table of what is below it. */
function referenceSection(top: SettingKey, keys: readonly SettingKey[]): string {
  const [name = ''] = top.path;
  const isSection = top.types.join() === 'a section';
  const rows = keys.filter((key) => key.path[0] === name && !(isSection && key === top));
  const table = [TABLE_HEAD, ...rows.map(referenceRow)].join('\n');
  const introduction = isSection ? wrapped(top.description, WIDTH).join('\n') : '';
  return [`## \`${name}\``, introduction, table].filter((part) => part !== '').join('\n\n');
}

const TABLE_HEAD = `| setting | type | default | variable | meaning |
| --- | --- | --- | --- | --- |`;

function referenceRow({ path, types, default: value, variable, description }: SettingKey): string {
  const cells = [
    `\`${path.join('.').replaceAll('.*', '[n]')}\``,
    types.join(', or '),
    value === undefined ? '' : `\`${valueText(value)}\``,
    variable === undefined ? '' : `\`${variable}\``,
    description,
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Every setting at its default, those without a default as comments, and each form of a source. */
function settingsExample(): string {
  const keys = settingKeys().filter(({ path }) => path[0] !== 'sources' && !path.includes('*'));
  return `${HEADING}${keys.map((key) => exampleLines(key, keys)).join('')}${PLUGINS}\n${SOURCES}`;
}

const WIDTH = 110;

const HEADING = `# yaml-language-server: $schema=schemas/settings.schema.json
#
# Every setting at its default. Your file needs only the sources and the settings that differ.
# Generated from the schema of the settings by \`npm run generate\`.
`;

function exampleLines(key: SettingKey, keys: readonly SettingKey[]): string {
  const indent = '  '.repeat(key.path.length - 1);
  const isSection = keys.some((other) => isAbove(key, other));
  const optional = key.default === undefined && (!isSection || !hasDefault(key, keys));
  // A section without defaults is one comment, with its settings on the same line.
  if (keys.some((above) => isAbove(above, key) && !hasDefault(above, keys))) return '';
  const comment = wrapped(key.description, WIDTH - indent.length - 2).map((line) => `${indent}# ${line}\n`);
  const name = key.path.at(-1) ?? '';
  const line = optional
    ? `# ${name}: ${formOf(key, keys)}`
    : isSection
      ? `${name}:`
      : `${name}: ${valueText(key.default)}`;
  return `${key.path.length === 1 ? '\n' : ''}${comment.join('')}${indent}${line}\n`;
}

function hasDefault(section: SettingKey, keys: readonly SettingKey[]): boolean {
  return keys.some((key) => startsWith(key.path, section.path) && key.default !== undefined);
}

function isAbove(above: SettingKey, key: SettingKey): boolean {
  return above.path.length < key.path.length && startsWith(key.path, above.path);
}

function startsWith(path: readonly string[], beginning: readonly string[]): boolean {
  return beginning.every((step, index) => path[index] === step);
}

/**
 * The value of a setting without a default: `{ file: PATH }` for a reference, `{ a: …, b: … }` for a section.
 */
function formOf(key: SettingKey, keys: readonly SettingKey[]): string {
  const children = keys.filter((child) => isAbove(key, child) && child.path.length === key.path.length + 1);
  const names = children.map(({ path }) => path.at(-1) ?? '');
  if (names.join(' ') === 'file env') return '{ file: PATH }';
  if (names.length === 0)
    return key.types.some((type) => type === 'file path' || type === 'directory') ? 'PATH' : 'NAME';
  return `{ ${children.map((child, index) => `${names[index]}: ${formOf(child, keys)}`).join(', ')} }`;
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

const PLUGINS = `
# A service, a module and a receiver of notifications, with all their settings:
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
#     sha256: 64 hexadecimal digits, as printed by sha256sum
#     timeoutMs: 200
#     memoryMb: 64
#     concurrency: 2
#     waiting: 64
#     breaker: { failures: 5, cooldownMs: 5000 }
# notifications:
#   - url: https://relay.example/countersign
#     secret: { file: keys/notifications.secret }
#     events: [request, expiring, decided, freeze, alarm]
#     ca: keys/own-authority.pem
`;

const SOURCES = `# Who may call, and how each caller authenticates.
sources:
  # One merchant application, whose payments the platform asks about.
  - name: shop
    callback: payment
    appKey: '0816016bb06417f5'
    # The accepted schemes. Two entries of one scheme are two keys, such as during a rotation.
    signatures:
      - scheme: md5
        secret: { env: SHOP_SECRET }
        # Whether the name of a member with an empty value is part of the signed text: keep or skip.
        emptyValues: keep
      - scheme: rsa
        platformKey: { file: keys/platform.pub }
        # Signs requests to the platform. Callbacks don't need it.
        merchantKey: { file: keys/shop.pem }
        # sha256 or sha1
        digest: sha256
        # The signed text: string for the members themselves, md5-hex for their MD5.
        signs: string
        emptyValues: keep
      - scheme: rsa-envelope
        platformKey: { file: keys/platform.pub }
        merchantKey: { file: keys/shop.pem }
    # plain, json, or your own texts:
    # answer: { contentType: application/json, success: '{"ok":true}', failure: '{"ok":false}' }
    answer: plain

  # One co-signer, behind a gateway. It must present all credentials.
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
      # A client certificate. Without \`header\`, that of the connection; this needs public.tls.clientCa.
      # With \`header\`, the one that the gateway names; this needs public.trustedProxies.
      # - certificate: { header: x-client-cert-sha256, fingerprints: [SHA256] }
    # The public keys that answer the co-signer's check of its own configuration.
    selfCheck:
      clientSystemKey: { file: keys/client-system.pub }
      verifySignKey: { file: keys/verify-sign.pub }

  # A co-signer without credentials: any caller that reaches the port can pose as it.
  - name: laboratory
    callback: cosigner
    paths: { withdraw: /laboratory }
    authenticate: [none]
`;
