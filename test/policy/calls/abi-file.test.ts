import { describe, expect, it } from 'vitest';
import { type AbiMethod, readAbiFile } from '../../../src/policy/calls/abi-file.ts';
import { methodOf } from '../../../src/policy/calls/methods.ts';

const PARTS = 'struct One { uint256 most; uint256 least; }\nstruct Other { uint256 least; uint256 most; }\n';
const wrapping = (part: string): string => `${PARTS}struct Whole { ${part} part; }\nrun(Whole whole)`;

function only(text: string): AbiMethod {
  const [method, another] = readAbiFile(text);
  if (method === undefined || another !== undefined) throw new Error('there is not one method');
  if ('because' in method) throw new Error(`line ${method.at().line}: ${method.because}`);
  return method;
}

const paths = (text: string): readonly string[] => {
  const { name, inputs } = only(text);
  return methodOf(name, inputs).arguments.map(({ path }) => path);
};

/** Each struct has the one before it twice. */
const doubling = (structs: number): string =>
  Array.from({ length: structs }, (_, i) =>
    i === 0 ? 'struct S0 { uint256 a; }' : `struct S${i} { S${i - 1} a; S${i - 1} b; }`,
  ).join('\n');

describe('structs in a human-readable ABI', () => {
  it('are those of their own file, whatever a file read before calls by the same names', () => {
    expect(paths(wrapping('One'))).toEqual(['whole.part.most', 'whole.part.least']);
    expect(paths(wrapping('Other'))).toEqual(['whole.part.least', 'whole.part.most']);
  });

  it.each([
    ['run(Whole[] calldata whole, uint256 One)', 'run(((uint256,uint256),address)[],uint256)'],
    ['function run(uint256, Whole) external returns (Whole)', 'run(uint256,((uint256,uint256),address))'],
    ['run( Whole )', 'run(((uint256,uint256),address))'],
    ['run(Whole[2][] x,Wholesale y)', 'run(((uint256,uint256),address)[2][],(bool))'],
  ])('stand for their fields: %s', (line, signature) => {
    const text = `struct Whole { One part; address to; }\n${PARTS}struct Wholesale { bool yes; };\n${line}`;
    const { name, inputs } = only(text);
    expect(methodOf(name, inputs).signature).toBe(signature);
  });

  it.each([
    ['that contain themselves', 'struct S { S[] a; }\nrun(S s)', 'line 2: it is not a signature'],
    [
      'that contain each other',
      'struct S { T a; }\nstruct T { S a; }\nrun(S s)',
      'line 3: it is not a signature',
    ],
    ['that grow without end', `${doubling(40)}\nrun(S39 s)`, 'more than 4000 characters'],
    ['of one name', 'struct S { bool a; }\nstruct S { address a; }\nrun(S s)', 'the struct S a second time'],
    ['that are none', 'struct S { bool a;\nrun(S s)', 'line 1 is not a struct'],
    ['without fields', 'struct S { }\nrun(S s)', 'line 2: it is not a signature'],
    ['that nobody wrote', 'run(Unknown s)', 'line 1: it is not a signature'],
  ])('%s are at fault, at once', (_, text, fault) => {
    expect(() => only(text)).toThrow(fault);
  });

  it('and tuples may be nested 16 deep, and no deeper', () => {
    const structs = (depth: number): string =>
      Array.from(
        { length: depth },
        (_, i) => `struct S${i} { ${i === 0 ? 'uint256' : `S${i - 1}`} v; }\n`,
      ).join('');
    const tuples = (depth: number): string => `${'('.repeat(depth)}uint256 v${') v'.repeat(depth)}`;
    const path = Array.from({ length: 17 }, () => 'v').join('.');
    expect(paths(`${structs(16)}run(S15 v)`)).toEqual([path]);
    expect(paths(`run(${tuples(16)})`)).toEqual([path]);
    expect(() => paths(`${structs(17)}run(S16 v)`)).toThrow('its structs are nested more than 16 deep');
    expect(() => paths(`run(${tuples(17)})`)).toThrow('its types are nested more than 16 deep');
  });

  it.each(['constructor', 'toString', '__proto__'])('are none that nobody wrote: %s', (name) => {
    expect(() => paths(`run(${name} s)`)).toThrow(/tuple has no members|not a function/);
  });

  it('take no longer for being many', () => {
    const chain = Array.from(
      { length: 490 },
      (_, i) => `struct S${i} { bool a; ${i > 0 ? `S${i - 1} b;` : ''} }`,
    );
    const methods = Array.from({ length: 490 }, (_, i) => `m${i}(S${i % 7} s)`);
    expect(readAbiFile([...chain, ...methods].join('\n'))).toHaveLength(490);
  });

  it('end with their line, also where another character than a line feed ends it for some', () => {
    expect(readAbiFile('run() # the\u2028old one\nrun2() // and\rthis')).toHaveLength(2);
  });
});

describe('a method that can not be read', () => {
  const found = (text: string): readonly unknown[] =>
    readAbiFile(text).map((each) => ['because' in each ? each.because : 'read', each.name, each.at()]);

  it('has its line and its name, and does not keep the others from being read', () => {
    expect(found('stake(uint256 amount)\n\nfunction burn(uint256 amount\nhello\n7(uint256)\nexit()')).toEqual(
      [
        ['read', 'stake', { line: 1, column: 1 }],
        [expect.stringContaining('it is not a signature'), 'burn', { line: 3, column: 1 }],
        [expect.stringContaining('it is not a signature'), 'hello', { line: 4, column: 1 }],
        [expect.stringContaining('it is not a signature'), '7', { line: 5, column: 1 }],
        ['read', 'exit', { line: 6, column: 1 }],
      ],
    );
  });

  it('has its place in JSON, also under abi', () => {
    const items =
      '[\n  {"type":"event","name":"E"},\n  {"name":"stake","inputs":[{"type":7}]},\n  {"name":7},\n  {"name":"exit"}\n]';
    const unreadable = [
      ['its member inputs.0.type is not valid', 'stake', { line: 3, column: 3 }],
      ['its member name is not valid', '', { line: 4, column: 3 }],
      ['read', 'exit', { line: 5, column: 3 }],
    ];
    expect(found(items)).toEqual(unreadable);
    expect(found(`{"contractName":"X","abi":${items}}`)).toEqual(unreadable);
  });

  it('may be nested a thousand levels deep', () => {
    const deep = (levels: number): string =>
      `[{"name":"f","inputs":[${'{"type":"tuple","components":['.repeat(levels)}${']}'.repeat(levels)}]}]`;
    expect(found(deep(10))).toMatchObject([['read', 'f', { line: 1 }]]);
    expect(found(deep(1000))).toMatchObject([['its types are nested more than 16 deep', 'f', { line: 1 }]]);
    expect(found(`f(${'('.repeat(1000)}uint256 a${')'.repeat(1000)} b)`)).toMatchObject([['read', 'f', {}]]);
  });
});
