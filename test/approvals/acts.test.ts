import { describe, expect, it } from 'vitest';
import { type AskedAct, actOfRequest, createFourEyes, valuesNotInClear } from '../../src/approvals/acts.ts';
import type { ApprovalRequest } from '../../src/approvals/requests.ts';
import type { ApprovalRequestChange, ApprovalRequests } from '../../src/store/store.ts';
import { sha256Hex } from '../../src/values/canonical.ts';

const NOW = Date.UTC(2026, 2, 2, 10);

/** Makes a request, in a store that keeps nothing. */
async function asked(act: Partial<AskedAct>): Promise<ApprovalRequest> {
  const store: ApprovalRequests = {
    openApprovalRequests: () => Promise.resolve([]),
    approvalRequest: () => Promise.resolve(undefined),
    changeApprovalRequest: (_change: ApprovalRequestChange) => Promise.resolve({ done: true }),
  };
  const { ask } = createFourEyes({
    acts: [],
    deployment: 'acme',
    store: () => Promise.resolve(store),
    clock: () => NOW,
  });
  return ask({ act: 'list', input: {}, seen: undefined, about: [], by: 'ada', ...act });
}
const inputOf = async (input: object): Promise<string> =>
  (await asked({ input })).statement.split('\n').slice(3, -4).join('\n');

describe('the statement of an act', () => {
  it('has all that the act is given, who asks, and until when', async () => {
    const { statement } = await asked({ input: { id: '7' }, seen: 3, about: ['f1 by ben: drill'] });
    expect(statement).toBe(
      'countersign-act/1\ndeployment acme\nact list\ninput id 7\nseen 3\nabout f1 by ben: drill\nasked ada\n' +
        'created 2026-03-02T10:00:00.000Z\nexpires 2026-03-03T10:00:00.000Z\n',
    );
  });

  it.each([
    [{ a: 'x\ninput b y' }, String.raw`input a "x\u000ainput b y"`.replace('\\u000a', '\\n')],
    [{ a: 'pаypal' }, String.raw`input a "p\u0430ypal"`],
    [{ a: '' }, 'input a ""'],
    [{ a: 'two  blanks' }, String.raw`input a "two \u0020blanks"`],
    [{ a: '"quoted"' }, String.raw`input a "\"quoted\""`],
    [{ a: true, b: 'true' }, 'value a true\ninput b true'],
    [{ a: 100, b: '100' }, 'value a 100\ninput b 100'],
    [{ a: [], b: {}, c: null }, 'value a []\nvalue b {}\nvalue c null'],
    [{ a: ['x', 'y'] }, 'input a.0 x\ninput a.1 y'],
    [{ a: { 'b.c': 'x' } }, 'input a."b.c" x'],
    [{ a: { b: { c: 'x' } } }, 'input a.b.c x'],
    [{ a: { 'b x': 'y' } }, String.raw`input a."b\u0020x" y`],
  ])('writes %j so that nothing else reads the same', async (input, lines) => {
    expect(await inputOf(input)).toBe(lines);
  });

  it('has the hash of a long list, whose values are shown', async () => {
    const values = Array.from({ length: 21 }, (_, at) => `v${at}`);
    const request = await asked({ input: { add: values } });
    expect(request.statement).toContain(`\nvalues add 21 sha256:${sha256Hex(JSON.stringify(values))}\n`);
    expect(valuesNotInClear(actOfRequest(request, 'acme'))).toEqual([
      'add, 21 values:',
      ...values.map((each) => `  ${each}`),
    ]);
    // A value can't look like two.
    const [first = '', ...others] = values;
    const lines = valuesNotInClear(
      actOfRequest(await asked({ input: { add: [`${first}\n  v1`, ...others] } }), 'acme'),
    );
    expect(lines.slice(0, 3)).toEqual(['add, 21 values:', String.raw`  "v0\n \u0020v1"`, '  v1']);
    expect(valuesNotInClear(actOfRequest(await asked({ input: { add: ['v'] } }), 'acme'))).toEqual([]);
  });

  it('is refused if the act has more than a person can agree to, or a too long author', async () => {
    await expect(asked({ input: { add: ['x'.repeat(1_000_000)] } })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('make several smaller changes'),
    });
    await expect(asked({ by: 'x'.repeat(57) })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('write a shorter name'),
    });
  });
});

describe('the act of a request', () => {
  it.each([
    [{ by: 'ben' }],
    [{ createdAtMs: NOW + 1 }],
    [{ expiresAtMs: NOW }],
    [{ content: '{"act":"list","input":{"id":"8"},"about":[]}' }],
    [{ content: '{"act":"unfreeze","input":{"id":"7"},"about":[]}' }],
    [{ content: '{"act":"list","input":{"id":"7"},"about":[],"seen":1}' }],
    [{ content: '{"act":"list","input":{"id":"7"},"about":["f1"]}' }],
    [{ content: 'what?' }],
  ])('is refused if the statement does not follow from it: %j', async (change) => {
    const request = await asked({ input: { id: '7' } });
    expect(actOfRequest(request, 'acme')).toEqual({ act: 'list', input: { id: '7' }, about: [] });
    expect(() => actOfRequest({ ...request, ...change }, 'acme')).toThrow('is not about its act');
  });

  it('is refused in another deployment, and for another kind of request', async () => {
    const request = await asked({});
    expect(() => actOfRequest(request, 'other')).toThrow('is not about its act');
    expect(() => actOfRequest({ ...request, kind: 'callback' }, 'acme')).toThrow('is about no act');
  });
});
