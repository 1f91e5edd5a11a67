/*
 * Verifies a bundle of `countersign audit export`, with Node 20 or newer and nothing else:
 *
 *     node verify.mjs [DIRECTORY] [HASH…]
 *
 * DIRECTORY is the bundle (default: the directory of this file). The bundle must have each HASH: the SHA-256 of
 * its manifest, or an end of the archive, that you got on another way. Exit code 0: no fault. 1: faults, or the
 * bundle says that something is missing. 2: it can't be read.
 *
 * It proves that the files are those of the manifest; that no line was changed, removed, added, moved or repeated;
 * that archived lines still have the hashes of the archive; that the entries are in order and in the period, with
 * an explanation each; that each revision in use is there, and its document has its SHA-256; that what is repeated,
 * late or released refers to an entry, and a SUCCESS to a SUCCESS.
 *
 * It does not prove that whoever wrote the bundle left nothing out and wrote the truth: who has all files can
 * compute all hashes again. A HASH of the manifest proves that nothing was changed since the export. An end of the
 * archive proves that no archived line before it was changed since that end was noted; the bundle has an end only
 * if its period goes on after it. Entries that were not archived were first chained by the export. Explanations,
 * and whether the files of a revision make its document, are not computed again: Countersign can do that. And it
 * proves nothing if it is not the file that Countersign ships.
 *
 * No bundle has what no journal keeps: settings and keys, sign-ins to the console, callbacks that were not
 * authenticated. Sources that are neither in the settings nor in the archive are unknown, and so are prices from
 * before the oldest change that the store keeps. In lists.jsonl, null means that the journal does not say it.
 */
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const HASH = /^[0-9a-f]{64}$/i;
const given = process.argv.slice(2);
const directory = given.find((each) => !HASH.test(each)) ?? fileURLToPath(new URL('.', import.meta.url));
const expected = new Set(given.filter((each) => HASH.test(each)).map((each) => each.toLowerCase()));
const FIRST_PREVIOUS = '0'.repeat(64);

const escaped = (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`;
const print = (text) => console.log(text.replace(/[^ -~]/gu, escaped));
let faults = 0;
function fault(file, line, because) {
  if (++faults <= 1000) print(`${file}${line === 0 ? '' : `:${line}`}: ${because}`);
}
const sha256 = (text) => createHash('sha256').update(text).digest('hex');

/** The lines of a file, with bounded memory; none if it is missing. */
async function* linesOf(file, onCut = () => undefined) {
  let [rest, line] = [Buffer.alloc(0), 0];
  try {
    for await (const chunk of createReadStream(join(directory, file), { highWaterMark: 1 << 20 })) {
      rest = Buffer.concat([rest, chunk]);
      for (let end; (end = rest.indexOf(10)) !== -1; rest = rest.subarray(end + 1)) {
        yield { line: ++line, text: rest.toString('utf8', 0, end) };
      }
    }
  } catch (thrown) {
    if (thrown.code !== 'ENOENT') throw thrown;
  }
  if (rest.length > 0) onCut(line + 1);
}

/** The content of the lines of a file, whose chain begins with `before`; anywhere if that is undefined. */
async function* chained(file, before) {
  const onCut = (line) => fault(file, line, 'it has no line break: the file was cut off here');
  for await (const { line, text } of linesOf(file, onCut)) {
    const [, members, previous, hash] = /^(.*),"previous":"(\w{64})","hash":"(\w{64})"\}$/s.exec(text) ?? [];
    let json;
    try {
      json = JSON.parse(`${members}}`);
    } catch {
      fault(file, line, 'it is not a line of a bundle');
      continue;
    }
    if (sha256(`${members},"previous":"${previous}"}`) !== hash) {
      fault(file, line, 'its hash is not the hash of its content: it was changed');
    }
    if (previous !== (before ?? previous)) {
      fault(file, line, 'it does not follow the line before: lines were removed, added, moved or repeated');
    }
    before = hash;
    expected.delete(hash);
    yield { line, json };
  }
}

async function checkFiles(files, manifest) {
  const lines = manifest.split('\n');
  const present = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) =>
      relative(directory, join(entry.parentPath ?? entry.path, entry.name)).replaceAll(sep, '/'),
    );
  const extra = present.filter((file) => file !== 'manifest.json' && !Object.hasOwn(files, file));
  for (const file of extra) fault(file, 0, 'the manifest does not have it');
  for (const [file, hash] of Object.entries(files)) {
    const place = `manifest.json:${lines.findIndex((line) => line.includes(`${JSON.stringify(file)}: "`)) + 1}`;
    const digest = createHash('sha256');
    if (!present.includes(file)) fault(file, 0, `it is missing, but ${place} has it`);
    else for await (const chunk of createReadStream(join(directory, file))) digest.update(chunk);
    if (present.includes(file) && digest.digest('hex') !== hash)
      fault(file, 0, `its SHA-256 is not that of ${place}`);
  }
}

const canonical = (value) => {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
};

/** Returns the revisions whose document is there. */
async function checkRevisions(files, { fromMs, toMs }) {
  const revisions = new Set();
  for (const file of Object.keys(files)) {
    const [, revision] = /^revisions\/(\w{64})\/document\.json$/.exec(file) ?? [];
    if (revision === undefined) continue;
    try {
      const isIts = sha256(canonical(JSON.parse(readFileSync(join(directory, file), 'utf8')))) === revision;
      if (isIts) revisions.add(revision);
      else fault(file, 1, 'its canonical form has another SHA-256 than its name');
    } catch (thrown) {
      if (thrown.code !== 'ENOENT') fault(file, 1, `it can't be read: ${thrown.message}`);
    }
  }
  let sequence = -1;
  for await (const { line, json: push } of chained('revisions.jsonl', FIRST_PREVIOUS)) {
    const atMs = Date.parse(push.at);
    if (!revisions.has(push.revision))
      fault('revisions.jsonl', line, `${push.revision} is not in the bundle`);
    if (push.sequence <= sequence) fault('revisions.jsonl', line, 'it is not after the push before');
    if (atMs >= toMs || (line > 1 && atMs < fromMs))
      fault('revisions.jsonl', line, 'it is not in the period');
    sequence = push.sequence;
  }
  return revisions;
}

const numbersOf = (id) => id.split('-').map(BigInt);
function isBefore(a, b) {
  const [[first, second = 0n], [otherFirst, otherSecond = 0n]] = [numbersOf(a), numbersOf(b)];
  return first === otherFirst ? second < otherSecond : first < otherFirst;
}

/** Whether an entry can refer to the other. */
function fits({ type, subject, verdict }, other) {
  const isDecided = type !== 'repeat' || (other.type === 'decision' && other.verdict === verdict);
  const isApproved = (type !== 'late' && type !== 'release') || other.verdict === 'SUCCESS';
  return other.subject === subject && isDecided && isApproved;
}

async function checkEntries(source, archived, { fromMs, toMs }, revisions) {
  const [file, explained] = [`journal/${source}.jsonl`, `explained/${source}.jsonl`];
  // Only entries that others refer to are kept in memory.
  const referred = new Set();
  for await (const { text } of linesOf(file)) {
    for (const [, id] of text.matchAll(/"of":"([\d-]+)"/g)) referred.add(id);
  }
  const known = new Map();
  const count = { entries: 0, SUCCESS: 0, FAILURE: 0, '': 0, earlier: 0 };
  const words = chained(explained, FIRST_PREVIOUS);
  let [first, last, isExplained] = [undefined, undefined, true];
  for await (const { line, json: entry } of chained(file, archived > 0 ? undefined : FIRST_PREVIOUS)) {
    if ('archive' in entry || 'end' in entry) continue; // A header or a footer of the archive.
    const { id, atMs, type, subject, verdict, revision, of } = entry;
    first ??= id;
    count.entries++;
    count[verdict]++;
    if (entry.source !== source) fault(file, line, `it is an entry of ${entry.source}`);
    if (!(atMs >= fromMs && atMs < toMs)) fault(file, line, `${id} is not in the period`);
    if (last !== undefined && !(isBefore(last.id, id) && last.atMs <= atMs))
      fault(file, line, `${id} is not after ${last.id}`);
    if (revision !== '' && !revisions.has(revision))
      fault(file, line, `its revision ${revision} is not in the bundle`);
    if (verdict === 'SUCCESS' && type === 'decision' && revision === '')
      fault(file, line, 'a SUCCESS without a revision');
    if (of !== '' && isBefore(of, first)) count.earlier++;
    else if (of !== '' && !known.has(of)) fault(file, line, `it refers to ${of}, which is not before it`);
    else if (of !== '' && !fits(entry, known.get(of)))
      fault(file, line, `it refers to ${of}, which does not fit`);
    if (referred.has(id)) known.set(id, { type, subject, verdict });
    last = entry;
    const word = isExplained ? (await words.next()).value : undefined;
    const same = ['id', 'type', 'subject', 'verdict', 'code'].every(
      (name) => word?.json[name] === entry[name],
    );
    if (isExplained && !same) fault(explained, word?.line ?? 0, `it does not explain ${file}:${line}`);
    isExplained &&= same;
  }
  for await (const { line } of words) if (isExplained) fault(explained, line, 'it explains no entry');
  print(
    `${source}: ${count.entries} entries, ${archived} archived; ${count.SUCCESS} SUCCESS, ${count.FAILURE} FAILURE`,
  );
  if (count.earlier > 0) print(`${source}: ${count.earlier} references to entries before the period`);
}

async function verify() {
  const text = readFileSync(join(directory, 'manifest.json'), 'utf8');
  const { bundle, format, from, to, files, sources, missing } = JSON.parse(text);
  if (bundle !== 'countersign-audit' || format !== 1) throw new Error('it has another format');
  const period = { fromMs: Date.parse(from), toMs: Date.parse(to) };
  expected.delete(sha256(text));
  print(`${from} to ${to}, manifest ${sha256(text)}`);
  await checkFiles(files, text);
  const revisions = await checkRevisions(files, period);
  for (const file of Object.keys(files)) {
    const [, source] = /^journal\/(.+)\.jsonl$/.exec(file) ?? [];
    const row = sources.find((each) => each.source === source);
    if (source !== undefined) await checkEntries(source, row?.archived ?? 0, period, revisions);
  }
  for (const file of ['lists.jsonl', 'prices.jsonl']) for await (const _ of chained(file, FIRST_PREVIOUS));
  for (const hash of expected) fault(hash, 0, 'neither the manifest nor a line has this hash');
  for (const because of missing) print(`missing: ${because}`);
  print(`${Object.keys(files).length} files, ${revisions.size} revisions, ${faults} faults`);
  return faults > 0 || missing.length > 0 ? 1 : 0;
}

try {
  process.exitCode = await verify();
} catch (thrown) {
  print(`${directory} is not a bundle that can be read: ${thrown.message}`);
  process.exitCode = 2;
}
