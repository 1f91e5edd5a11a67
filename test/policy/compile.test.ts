import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileRelease, readPolicyFiles } from '../../src/policy/compile.ts';
import { sha256Hex } from '../../src/values/canonical.ts';
import { NO_ASSETS, NOON, payment, release, transfer, evaluateAt } from './callbacks.ts';
import { tablesOf, string } from '../cases.ts';

const SMALL = `policy: small
callback: payment
when: { source: shop, symbol: [USDT1742] }
rules:
  - amount-limit: { max: 1000 }
`;
const BLOCKED = `policy: blocked
description: those we know
callback: payment
rules:
  - deny-list: { of: userId, file: users.txt }
  - velocity-limit: { window: 1m, max: 3 }
    mode: observe
`;
const VAULT = `policy: vault
callback: transfer
rules:
  - window-limit: { per: [symbol, to], window: week, zone: Europe/Berlin, max: 5 }
`;
const LISTS: Readonly<Record<string, string>> = { 'users.txt': '3\n1\n2\n1\n' };

function revisionOf(...texts: readonly string[]): string {
  const files = texts.map((text, index) => ({ name: `${index}.yaml`, text }));
  const compiled = readPolicyFiles(files, (name) => LISTS[name]);
  return compiled.ok ? compiled.release.revision : `faults: ${JSON.stringify(compiled.faults)}`;
}

const rowsOf = tablesOf(new URL('cases/compile.yaml', import.meta.url));

describe('a release', () => {
  it('is named by the SHA-256 of its document', () => {
    const { revision, document } = release(SMALL, {}, NO_ASSETS);
    expect(revision).toMatch(/^[0-9a-f]{64}$/);
    expect(revision).toBe(sha256Hex(document));
    expect(document).toBe(
      '{"format":1,"lists":{},"policies":[{"callback":"payment","policy":"small","rules":[{"amount-limit":{"max":"1000"}}],"when":{"source":"shop","symbol":["USDT1742"]}}]}',
    );
  });

  it('holds the list files, sorted and each value once', () => {
    const { document } = release(BLOCKED, LISTS);
    expect(document).toContain('"lists":{"users.txt":["1","2","3"]}');
    expect(release(BLOCKED, { 'users.txt': '# ours\n1\n2\n3' }).document).toBe(document);
    expect(release(BLOCKED, { 'users.txt': '1\n2\n' }).document).not.toBe(document);
  });

  it('holds one address of a list file, however its hexadecimal is written', () => {
    const yaml = 'policy: a\ncallback: transfer\nrules:\n  - allow-list: { of: to, file: f }\n';
    expect(release(yaml, { f: '0xAB\n0xab\nAB\n' }).document).toContain('"lists":{"f":["0xab","AB"]}');
  });

  it('is the same whatever the order of files, of policies in them and of members, and whatever their comments', () => {
    const same = revisionOf(SMALL, BLOCKED, VAULT);
    expect(same).toMatch(/^[0-9a-f]{64}$/);
    expect(revisionOf(VAULT, SMALL, BLOCKED)).toBe(same);
    expect(revisionOf(`${BLOCKED}---\n${VAULT}`, SMALL)).toBe(same);
    expect(revisionOf(`# all\n${BLOCKED}---\n${SMALL}---\n${VAULT}`)).toBe(same);
    const asList = [SMALL, VAULT, BLOCKED]
      .map((text) => `- ${text.trimEnd().replaceAll('\n', '\n  ')}\n`)
      .join('');
    expect(revisionOf(asList)).toBe(same);
    const reordered =
      'callback: payment\nrules: [{ amount-limit: { "max": "1000" } }]\nwhen: { symbol: [USDT1742], source: shop }\npolicy: small\n';
    expect(revisionOf(VAULT, reordered, BLOCKED)).toBe(same);
  });

  it('is another if anything that decides is another', () => {
    const revisions = [
      SMALL,
      SMALL.replace('1000', '1001'),
      SMALL.replace('USDT1742', 'USDT1743'),
      SMALL.replace('small', 'small-2'),
      SMALL.replace('payment', 'transfer'),
      `${SMALL}    mode: observe\n`,
      `${SMALL}  - amount-limit: { min: 1 }\n`,
    ].map((text) => revisionOf(text));
    expect(new Set(revisions).size).toBe(revisions.length);
    expect(revisions.every((revision) => /^[0-9a-f]{64}$/.test(revision))).toBe(true);
  });

  it('compiles from its document to the same revision, and decides the same', () => {
    const first = release(`${SMALL}---\n${BLOCKED}---\n${VAULT}`, LISTS);
    const again = compileRelease(first.document);
    if (!again.ok) throw new Error(JSON.stringify(again.faults));
    expect(again.release.revision).toBe(first.revision);
    expect(again.release.document).toBe(first.document);
    for (const callback of [
      payment(),
      payment({ userId: '2' }),
      payment({ orderAmount: '1001' }),
      transfer(),
    ]) {
      expect(evaluateAt(again.release, callback, NOON)).toEqual(evaluateAt(first, callback, NOON));
    }
  });

  it('keeps the revision that it always had if it holds half a surrogate pair', () => {
    const text = String.raw`policy: one
callback: web3
when: { symbol: ETH }
rules:
  - contract-calls:
      abis: x.abi
      calls:
        - contract: '0xdac17f958d2ee523a2206206994597c13d831ec7'
          method: 'note(string)'
          where: { s: { values: ["\ud800"] } }
`;
    const { revision, document } = release(text, { 'x.abi': 'note(string s)' }, NO_ASSETS);
    expect(document).toContain(String.raw`{"values":["\ud800"]}`);
    expect(revision).toBe('62f8e67c987ac54abb3ef86d1b9f6a912a3376ddc03325070caa2a7538be9bf0');
  });

  it('compiles to the same revision again whatever texts it holds', () => {
    const text = fc.string({ minLength: 1, unit: 'binary' }).filter((each) => each.isWellFormed());
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), (values) => {
        const yaml = `policy: p\ncallback: transfer\nrules:\n  - deny-list: ${JSON.stringify({ of: 'memo', values })}\n`;
        const compiled = readPolicyFiles([{ name: 'p.yaml', text: yaml }], () => undefined);
        if (!compiled.ok) return;
        const again = compileRelease(compiled.release.document);
        expect(again.ok && again.release.revision).toBe(compiled.release.revision);
      }),
      { numRuns: 40 },
    );
  });

  it.each(rowsOf('faults', string, string, string))(
    'does not come from a document with %s',
    (_, document, message) => {
      const compiled = compileRelease(document);
      expect(compiled.ok).toBe(false);
      expect(compiled.ok ? [] : compiled.faults.map((fault) => fault.message)).toEqual([
        expect.stringContaining(message),
      ]);
    },
  );

  it('leaves nothing out: one bad rule beside good ones is no release', () => {
    const compiled = readPolicyFiles(
      [{ name: 'a.yaml', text: `${SMALL}  - amuont-limit: { max: 1 }\n` }],
      () => undefined,
    );
    expect(compiled.ok).toBe(false);
  });

  it('tells of a list file that may not be read', () => {
    const compiled = readPolicyFiles([{ name: 'a.yaml', text: BLOCKED }], () => {
      throw new Error('users.txt leads out of the directory');
    });
    expect(compiled.ok ? [] : compiled.faults).toMatchObject([
      { file: 'a.yaml', line: 5, message: 'users.txt leads out of the directory' },
    ]);
  });
});
