import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { decisionJson, describeDecision } from '../../../src/cli/decisions/entry.ts';
import type { JournalEntry } from '../../../src/store/store.ts';
import { formatAmount } from '../../../src/values/amount.ts';
import { entryOf } from '../../journal/entries.ts';
import { TO, type TestService, startTestService, transfer } from '../../service.ts';
import { type Place, placeIn } from '../terminal.ts';

const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2025, 2, 1, 10);

let service: TestService;
let at: Place;
let nowMs = START_MS;
/** By what was asked, the entry about it. */
const ids = new Map<string, string>();

async function recorded(what: string, ask: () => Promise<unknown>): Promise<void> {
  const before = new Set((await all()).map(nameOf));
  await ask();
  const [entry, ...others] = (await all()).filter((each) => !before.has(nameOf(each)));
  if (entry === undefined || others.length > 0) throw new Error(`${what} made no entry, or several`);
  ids.set(what, nameOf(entry));
}

const nameOf = ({ source, id }: JournalEntry): string => `${source}/${id}`;

async function all(): Promise<readonly JournalEntry[]> {
  const pages = await Promise.all(
    ['shop', 'vault'].map((source) => service.store.entries({ source, limit: 1000 })),
  );
  return pages.flat();
}

/** What commands print for machines, as far as a test asks about it. */
const listed = z.array(z.looseObject({ id: z.string() }));
const exported = z.looseObject({ source: z.string(), id: z.string() });

const idOf = (what: string): string => {
  const id = ids.get(what);
  if (id === undefined) throw new Error(`there is no ${what}`);
  return id;
};

// One service for all tests here, since none of them changes anything: an hour between two callbacks.
beforeAll(async () => {
  service = await startTestService({ clock: () => nowMs });
  at = placeIn(service.folder);
  const asks: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['approved', () => service.pay({ appOrderId: 'A-1', orderAmount: '100' })],
    ['repeated', () => service.pay({ appOrderId: 'A-1', orderAmount: '100' })],
    ['refused', () => service.pay({ appOrderId: 'A-2', orderAmount: '5000.5' })],
    ['changed terms', () => service.pay({ appOrderId: 'A-1', orderAmount: '101' })],
    ['transfer', () => service.cosign('/cosigner/withdraw', transfer({ request_id: 'w-1' }))],
    [
      'notice',
      () =>
        service.cosign(
          '/cosigner/withdraw',
          transfer({ request_id: 'w-2', type: 'sign_success', txid: '0xaa' }),
        ),
    ],
    [
      'no callback',
      () => service.cosign('/cosigner/withdraw', transfer({ request_id: 'w-3', amount: '-5' })),
    ],
    [
      'list',
      () =>
        service.store.changeList({
          source: 'shop',
          list: 'blocked',
          add: ['7'],
          remove: [],
          by: 'ada',
          message: 'fraud',
        }),
    ],
  ];
  for (const [what, ask] of asks) {
    await recorded(what, ask);
    nowMs += HOUR_MS;
  }
});

afterAll(async () => {
  await service.stop();
});

describe('decisions show', () => {
  it('shows what was decided, why, and what every rule said', async () => {
    const id = idOf('refused');
    const { code, out } = await at.run`decisions show ${id}`;
    expect(code).toBe(0);
    const [first, because, ...rest] = out.split('\n');
    expect(first).toBe(`FAILURE  RULE_REFUSED  ${id}  payment:A-2`);
    expect(because).toContain('because payments/amount-limit#1 refuses: ');
    expect(rest[0]).toMatch(/^ {2}refuse {2}payments\/amount-limit#1 {2}.*5000\.5.*1000/);
    expect(rest[1]).toMatch(/^ {2}pass {4}payments\/window-limit#2 {2}.*10000/);
    expect(out).toMatch(/^when +2025-03-01T12:00:00\.000Z$/m);
    expect(out).toMatch(/^sent by +md5 /m);
    expect(out).toMatch(/^revision +[0-9a-f]{64}$/m);
    expect(out).toMatch(/^values +.*5000\.5/m);
    expect(out).toContain('"appOrderId":"A-2"');
  });

  it('takes a bare id with --source', async () => {
    const [source = '', id = ''] = idOf('approved').split('/');
    const { code, out } = await at.run`decisions show ${id} --source ${source}`;
    expect(code).toBe(0);
    expect(out).toMatch(/^SUCCESS {2}APPROVED {2}shop\/\d+ {2}payment:A-1\nbecause approved: /);
  });

  it('of a repeat also shows what it repeats', async () => {
    const { code, out } = await at.run`decisions show ${idOf('repeated')}`;
    expect(code).toBe(0);
    expect(out).toContain(`(decided before, as ${idOf('approved')})`);
    expect(out).toContain(
      `The first decision, ${idOf('approved')}:\n\nSUCCESS  APPROVED  ${idOf('approved')}`,
    );
    const { json } = await at.run`decisions show ${idOf('repeated')} --json`;
    expect(json()).toMatchObject({
      id: idOf('repeated'),
      type: 'repeat',
      of: idOf('approved'),
      first: { id: idOf('approved'), type: 'decision', verdict: 'SUCCESS' },
    });
  });

  it('with --json has the rules, exact amounts and the body', async () => {
    const { json } = await at.run`decisions show ${idOf('refused')} --json`;
    expect(json()).toMatchObject({
      id: idOf('refused'),
      at: '2025-03-01T12:00:00.000Z',
      verdict: 'FAILURE',
      code: 'RULE_REFUSED',
      decidedBy: 'payments/amount-limit#1',
      rules: [
        { rule: 'amount-limit#1', verdict: 'FAILURE' },
        { rule: 'window-limit#2', verdict: 'SUCCESS' },
      ],
      claims: [{ holds: true, used: '100' }],
      detail: { kind: 'payment', terms: { amount: '5000.5' } },
    });
  });

  it.each([
    ['changed terms', 'TERMS_CHANGED', 'came before with other terms'],
    ['notice', 'SIGNED_WITHOUT_APPROVAL', 'no sign_start with these terms is approved'],
    ['no callback', 'MEMBER_INVALID', 'amount'],
  ])('explains %s', async (what, decisionCode, said) => {
    const { code, out } = await at.run`decisions show ${idOf(what)}`;
    expect(code).toBe(0);
    expect(out).toContain(`FAILURE  ${decisionCode}  ${idOf(what)}`);
    expect(out).toContain(said);
  });

  it('names the address that was looked for on a list', async () => {
    const { out } = await at.run`decisions show ${idOf('transfer')}`;
    expect(out).toMatch(new RegExp(`^ {2}pass {2}transfers/allow-list#2 {3}.*${TO}`, 'm'));
  });
});

describe('describeDecision', () => {
  const entry = entryOf({ id: '17', verdict: 'FAILURE', code: 'RULE_REFUSED' });

  it('lets no text of others steer the terminal', () => {
    const hostile = 'payment:\u001b[2J\u202e\n\u2028SUCCESS';
    const text = describeDecision({ ...entry, subject: hostile });
    expect(text.split('\n')).toHaveLength(2);
    expect(text).toContain('payment:\\u{1b}[2J\\u{202e}\\u{a}\\u{2028}SUCCESS');
  });

  it.each(['', 'no JSON', '[]', 'null', '{"proposal":{"revision":1}}', '{"question":7,"terms":"x"}'])(
    'shows an entry whose detail is %j as far as it can',
    (detail) => {
      expect(describeDecision({ ...entry, detail })).toContain('FAILURE  RULE_REFUSED  shop/17  payment:1');
      expect(decisionJson({ ...entry, detail })).toMatchObject({ id: 'shop/17', rules: [], decidedBy: '' });
    },
  );

  it('says that the decision can no longer be explained, in the words that were kept', () => {
    const note = "version 0.1.0 made the decision under a revision that this version can't compile";
    const detail = JSON.stringify({ body: '{}', note });
    expect(describeDecision({ ...entry, detail })).toContain(`because ${note}`);
  });

  it('says that the decision was explained otherwise when it was made', () => {
    const note = 'explained again by version 0.2.0; version 0.1.0 explained it otherwise';
    const proposal = { revision: 'a', approves: false, results: [], claims: [], retryable: false, prices: 0 };
    const detail = JSON.stringify({ note, proposal: { ...proposal, validFromMs: 0, validUntilMs: 1 } });
    expect(describeDecision({ ...entry, code: 'NO_POLICY', detail })).toContain(
      `see callback and when of the policies (${note})`,
    );
  });

  it('tells of an answer that came too late which decision stands', () => {
    const text = describeDecision({ ...entry, type: 'late', code: 'ANSWERED_LATE', of: '16' });
    expect(text).toContain('shop/16 was decided, but the answer was FAILURE');
  });

  it('tells which hash of a self-check was right', () => {
    const detail = JSON.stringify({ valid: { client: true, verify: false } });
    expect(describeDecision({ ...entry, type: 'self-check', code: 'SELF_CHECK', detail })).toContain(
      'client_system_pubkey_hash matches, verify_sign_pub_hash does not match',
    );
  });
});

describe('decisions search', () => {
  const found = async (...args: readonly string[]): Promise<readonly string[]> => {
    const { code, json } = await at.run`decisions search --json ${args}`;
    expect(code).toBe(0);
    return listed.parse(json()).map(({ id }) => id);
  };
  const idsOf = (...whats: readonly string[]): readonly string[] => whats.map(idOf);

  it('has all sources by time, oldest first, or the newest first', async () => {
    const inOrder = [...ids.values()];
    expect(await found()).toEqual(inOrder);
    expect(await found('--newest')).toEqual(inOrder.toReversed());
    expect(await found('--newest', '--limit', '2')).toEqual(inOrder.toReversed().slice(0, 2));
  });

  it.each([
    ['--source vault', 'transfer, notice, no callback'],
    ['--order A-1', 'approved, repeated, changed terms'],
    ['--subject payment:A-2', 'refused'],
    ['--request w-1', 'transfer'],
    ['--verdict success', 'approved, repeated, transfer'],
    ['--code TERMS_CHANGED', 'changed terms'],
    ['--rule payments', 'refused'],
    ['--rule payments/amount-limit', 'refused'],
    ['--rule payments/amount-limit#1', 'refused'],
    ['--rule payments/amount-limit#2', ''],
    ['--until 2025-03-01T12:00Z', 'approved, repeated'],
    ['--since 2025-03-01T11:00:00Z --until 2025-03-01T14:00+01:00 --verdict FAILURE', 'refused'],
    ['--order A-1 --newest', 'changed terms, repeated, approved'],
  ])('%s finds %s', async (options, whats) => {
    const names = whats.split(', ').filter((what) => what !== '');
    expect(await found(...options.split(' '))).toEqual(idsOf(...names));
  });

  it('--since 2h counts from the clock', async () => {
    const later = at.runWith({ clock: () => nowMs });
    const { json } = await later`decisions search --since 2h --json`;
    expect(listed.parse(json()).map(({ id }) => id)).toEqual(idsOf('no callback', 'list'));
  });
});

describe('decisions export', () => {
  const linesOf = (out: string): readonly z.output<typeof exported>[] =>
    out === ''
      ? []
      : out
          .trimEnd()
          .split('\n')
          .map((line) => exported.parse(JSON.parse(line)));

  it('has every entry with every field, a line each', async () => {
    const { code, out } = await at.run`decisions export`;
    expect(code).toBe(0);
    const byTime = (await all()).toSorted((a, b) => a.atMs - b.atMs);
    const expected = byTime.map(({ detail, claims, ...entry }) => ({
      ...entry,
      detail: z.unknown().parse(JSON.parse(detail)),
      claims: claims.map((claim) => {
        const { type: _unused, ...found } = claim;
        if (claim.type !== 'window') return found;
        return { ...found, reserved: formatAmount(claim.reserved), used: formatAmount(claim.used) };
      }),
    }));
    expect(linesOf(out)).toEqual(expected);
    expect((await at.run`decisions export --json`).out).toBe(out);
  });

  it('can be resumed after any entry, with nothing twice and nothing lost', async () => {
    const { out } = await at.run`decisions export --source shop`;
    const whole = linesOf(out);
    for (const [index, { id }] of whole.entries()) {
      const rest = await at.run`decisions export --source shop --after ${id}`;
      expect(linesOf(rest.out)).toEqual(whole.slice(index + 1));
    }
    const named = await at.run`decisions export --source shop --after ${idOf('approved')}`;
    expect(linesOf(named.out)).toEqual(whole.slice(1));
  });

  it('--limit bounds it', async () => {
    expect(linesOf((await at.run`decisions export --limit 3`).out)).toHaveLength(3);
  });
});
