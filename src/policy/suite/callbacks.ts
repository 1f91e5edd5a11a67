import type { Kind } from '../../callback/callback.ts';
import type { Json } from '../../values/canonical.ts';
import type { Member } from '../../values/members.ts';
import { KINDS, isObject } from '../document.ts';
import type { Path } from '../fault.ts';
import { type Reading, entriesOf, oneNameOf, readLayer, valueProblem } from './layer.ts';
import { VERDICTS, callbackShape, expectShape } from './shape.ts';
import type { Expectation, TestCallback } from './suite.ts';

/** What a co-signer's callback has where a test does not say otherwise. */
const DEFAULTS: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  payment: {},
  transfer: { type: 'sign_prepare', transfer_id: '1' },
  web3: { type: 'sign_prepare', trans_id: '1', input_data: '', interactive_contract: '' },
};

/** One callback of a test; undefined once its problems are told. */
export function readCallback(
  reading: Reading,
  written: Json,
  path: Path,
  line: number,
): TestCallback | undefined {
  const read = readLayer(reading, callbackShape, written, path);
  if (!isObject(written)) return undefined;
  const kind = oneNameOf(reading, written, KINDS, path);
  const expect = readExpectation(reading, written['expect'], [...path, 'expect']);
  if (read === undefined || kind === undefined || expect === undefined) return undefined;
  return {
    line,
    source: read.source,
    kind,
    members: readWire(reading, written[kind], kind, [...path, kind]),
    scheme: read.scheme,
    afterMs: read.after ?? 0,
    expect,
  };
}

/** Members as they would come in: texts, but for what only JSON's own kinds can say. */
function readWire(
  reading: Reading,
  written: Json | undefined,
  kind: Kind,
  path: Path,
): TestCallback['members'] {
  const members = new Map<string, Member>();
  for (const [name, value] of entriesOf(reading, written, path, 'the members of the callback, by name')) {
    const member = memberOf(name, value);
    if (member === undefined) reading.problems.push(valueProblem([...path, name], value, expectedOf(name)));
    else members.set(name, member);
  }
  const otherId = kind === 'transfer' && members.has('withdraw_id');
  for (const [name, text] of Object.entries(DEFAULTS[kind])) {
    if (members.has(name) || (otherId && name === 'transfer_id')) continue;
    members.set(name, { kind: 'string', text });
  }
  return members;
}

function memberOf(name: string, value: Json): Member | undefined {
  if (name === 'outputs' && Array.isArray(value)) return { kind: 'string', text: JSON.stringify(value) };
  if (typeof value !== 'string') return undefined;
  const isFlag = name === 'pending_round' && (value === 'true' || value === 'false');
  return { kind: isFlag ? 'boolean' : 'string', text: value };
}

const expectedOf = (name: string): string =>
  name === 'outputs' ? 'a list like [{ address_to: 0x…, amount: 1.5 }]' : 'a text';

const EXPECTED = 'SUCCESS, FAILURE, or a mapping like { verdict: FAILURE, rule: amount-limit#1 }';

function readExpectation(reading: Reading, written: Json | undefined, path: Path): Expectation | undefined {
  const { problems } = reading;
  if (written === undefined) {
    problems.push({ path, of: 'value', message: 'expect is missing', cure: `write ${EXPECTED}` });
    return undefined;
  }
  if (!isObject(written)) {
    const verdict = VERDICTS.find((each) => each === written);
    if (verdict === undefined) problems.push(valueProblem(path, written, EXPECTED));
    return verdict && { verdict };
  }
  const read = readLayer(reading, expectShape, written, path);
  const stray =
    read?.verdict === 'SUCCESS' ? (['rule', 'values'] as const).find((name) => read[name]) : undefined;
  if (stray !== undefined) {
    problems.push({
      path: [...path, stray],
      of: 'name',
      message: `${stray} is about the rule that refuses, and a SUCCESS has none`,
      cure: 'leave it out, or expect a FAILURE',
    });
  }
  return read;
}
