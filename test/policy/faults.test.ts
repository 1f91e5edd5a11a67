import { describe, expect, it } from 'vitest';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { type PolicyFault, formatFault } from '../../src/policy/fault.ts';
import { tablesOf, string } from '../cases.ts';

function faults(...texts: readonly string[]): readonly PolicyFault[] {
  const files = texts.map((text, index) => ({ name: `${'abc'[index]}.yaml`, text }));
  const compiled = readPolicyFiles(files, () => undefined);
  return compiled.ok ? [] : compiled.faults;
}

const SOUND = `policy: sound
callback: payment
rules:
  - amount-limit: { max: 1 }
`;

const rowsOf = tablesOf(new URL('cases/faults.yaml', import.meta.url), { SOUND });

const cases: readonly (readonly [
  what: string,
  text: string,
  place: string,
  message: string,
  expectedFix: string,
])[] = rowsOf('faults', string, string, string, string, string);

describe('a fault in a policy file', () => {
  it('is not found in a sound one', () => {
    expect(faults(SOUND)).toEqual([]);
  });

  it.each(cases)('%s is told with its place and its cure', (_, text, place, message, expectedFix) => {
    const found = faults(text);
    expect(found).toHaveLength(1);
    const [fault] = found;
    if (fault === undefined) throw new Error('no fault');
    const { file, line, column, path } = fault;
    expect(`${file}${line === 0 ? '' : `:${line}:${column}`}${path === '' ? '' : ` ${path}`}`).toBe(place);
    expect(fault.message).toContain(message);
    expect(fault.fix).toContain(expectedFix);
  });

  it('is told together with all others, of all files, in order', () => {
    const bad = SOUND.replace('payment', 'pay').replace('max', 'mix').replace('sound', 'x x');
    const found = faults(`${bad}extra: 1\n`, SOUND, 'policy: [\n');
    expect(found.map(({ file, line }) => `${file}:${line}`)).toEqual([
      'a.yaml:1',
      'a.yaml:2',
      'a.yaml:4',
      'a.yaml:5',
      'c.yaml:2',
    ]);
    expect(new Set(found.map(({ path }) => path))).toEqual(
      new Set(['policy', 'callback', 'extra', 'rules[0].amount-limit.mix', '']),
    );
  });

  it('names both places of one name in two files, whatever their order', () => {
    const found = faults(SOUND, SOUND);
    expect(found.map(formatFault)).toEqual([
      'b.yaml:1:9: policy: there is a policy sound already, in a.yaml:1; give one of the two another name',
    ]);
  });

  it('is that there is no file at all', () => {
    expect(faults()).toMatchObject([{ message: 'there is no policy file' }]);
  });

  it('is more policies than anybody reviews', () => {
    const text = Array.from({ length: 501 }, (_, i) => SOUND.replace('sound', `p${i}`)).join('---\n');
    expect(faults(text, text.replaceAll('policy: p', 'policy: q'))).toMatchObject([
      { message: 'there are 1002 policies; at most 1000 are read' },
    ]);
  });
});
