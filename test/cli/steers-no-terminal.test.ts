import { describe, expect, it } from 'vitest';
import { signedPayment, startTestService, transfer } from '../service.ts';
import { type Ran, place, placeIn } from './terminal.ts';

/** Marks, embeddings, overrides and isolates of text direction; separators of lines; what is not seen. */
const DIRECTIONS = Array.from(
  '\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\u200b\ufff9\u{e0001}',
);
/** C0 and C1 controls, and DEL. */
const CONTROLS = ['\u0007', '\b', '\u001b', '\u007f', '\u0080', '\u0085', '\u009b', '\u009d', '\u009f'];
const STEERING = [...CONTROLS, '\ufeff', ...DIRECTIONS];
/** As somebody could write them in an argument; and in JSON or YAML without an escape. */
const ARGUMENT = STEERING.join('');
const UNESCAPED = DIRECTIONS.join('');

function expectSteady({ out, err }: Ran): void {
  for (const character of STEERING) expect(`${out}${err}`).not.toContain(character);
}

const shown = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16)}}`;

describe('what comes from outside is printed escaped', () => {
  it('a message, also as JSON', async () => {
    const { run } = place();
    const message = `before${ARGUMENT}after`;
    const pushed = await run`policy push --message ${message}`;
    expect(pushed).toMatchObject({ code: 0 });
    const [text, data] = [await run`policy history`, await run`policy history --json`];
    for (const ran of [pushed, text, data]) expectSteady(ran);
    expect(text.out).toContain(`before${STEERING.map(shown).join('')}after`);
    expect(data.json()).toMatchObject([{ message }]);
  });

  it.each([
    ['a callback', ['signature', 'explain'], signedPayment({}).replace('12345', `1${UNESCAPED}`)],
    ['a sign', ['signature', 'explain'], signedPayment({}).replace('"sign":"', `"sign":"${UNESCAPED}`)],
    ['a body that is no JSON', ['signature', 'explain'], ARGUMENT],
    ['a source that is not there', ['list', 'show', '--source', ARGUMENT], ''],
    ['an unknown command', [ARGUMENT], ''],
    ['an unknown option', ['policy', 'show', `--${ARGUMENT}`], ''],
    ['a directory that is not there', ['journal', 'verify', `/nowhere/${ARGUMENT}`], ''],
    ['an order that is not there', ['orders', 'show', 'payment', ARGUMENT], ''],
    ['the name of a list', ['list', 'add', ARGUMENT, 'x', '--create'], ''],
    ['a decision that is not there', ['decisions', 'show', ARGUMENT], ''],
  ])('%s', async (_, argv, body) => {
    const run = place().runWith({ input: () => Promise.resolve(Buffer.from(body)) });
    for (const words of [argv, [...argv, '--json']]) {
      const ran = await run(...words);
      expect(ran.code).not.toBe(0);
      expect(ran.out + ran.err).not.toBe('');
      expectSteady(ran);
    }
  });

  it('the faults of a policy', async () => {
    const { run, write } = place();
    write('policies/odd.yaml', `policy: odd\ncallback: "pay${UNESCAPED}"\nrules: 7\n`);
    const ran = await run`policy validate`;
    expect(ran.code).toBe(1);
    expectSteady(ran);
  });

  it('decisions, however they are shown', async () => {
    const service = await startTestService();
    try {
      const memo = `m${UNESCAPED}\u009b`;
      await service.cosign('/cosigner/withdraw', transfer({ memo, request_id: 'w-odd' }));
      const { run } = placeIn(service.folder);
      const found = await run`decisions search --json`;
      const [{ id }] = found.json() as readonly [{ readonly id: string }];
      for (const argv of [['search'], ['show', id], ['explain', id], ['export']]) {
        for (const words of [argv, [...argv, '--json']]) {
          const ran = await run`decisions ${words} --source vault`;
          expect(ran.out).not.toBe('');
          expectSteady(ran);
        }
      }
      const { out } = await run`decisions export --source vault`;
      const said = out.split('\n').filter((line) => line !== '');
      expect(said.map((line): unknown => JSON.parse(line))).toContainEqual(
        expect.objectContaining({
          detail: expect.objectContaining({ body: expect.stringContaining(UNESCAPED) }),
        }),
      );
    } finally {
      await service.stop();
    }
  });

  it('how far long work is', async () => {
    const lines: string[] = [];
    const { runWith } = place();
    const ran = await runWith({ progress: (line) => void lines.push(line) })('decisions', 'export');
    expect(ran.code).toBe(0);
    for (const character of STEERING) expect(lines.join('')).not.toContain(character);
  });
});
