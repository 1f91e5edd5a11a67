import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Act, overtaken, perform } from '../../src/act/act.ts';

/** An act on a number that counts its changes. */
function counting({ change = 1 } = {}) {
  const parts = { version: 3 };
  const input = z.strictObject({ by: z.number() });
  const act: Act<typeof parts, typeof input, { readonly version: number; readonly author: string }> = {
    name: 'count',
    summary: 'Count.',
    role: 'operate',
    input,
    async perform(given, _input, author) {
      given.version += change;
      return { version: given.version, author };
    },
    text: () => '',
    notice: () => '',
    json: (result) => result,
    version: {
      of: 'the count',
      before: async ({ version }) => version,
      after: ({ version }) => version,
    },
  };
  return { act, parts };
}

describe('an act', () => {
  it('is performed once, with its author', async () => {
    const { act, parts } = counting();
    expect(await perform(act, parts, { by: 1 }, { by: 'ada', fourEyes: undefined })).toEqual({
      version: 4,
      author: 'ada',
    });
    expect(parts.version).toBe(4);
  });

  it.each([
    [{}, 'by is missing; write { by }'],
    [{ by: '1' }, 'by is a text and must be a number; write { by }'],
    [{ by: 1, of: 2 }, 'the member "of" is unknown; write { by }'],
  ])('is not performed with an input that its schema refuses: %j', async (given, message) => {
    const { act, parts } = counting();
    // What the API passes on is not typed.
    const outside = given as { by: number };
    await expect(perform(act, parts, outside, { by: 'ada', fourEyes: undefined })).rejects.toMatchObject({
      code: 'USAGE',
      message,
    });
    expect(parts.version).toBe(3);
  });

  it.each([2, 4, -1])('is not performed on another version than its author saw: %i', async (seen) => {
    const { act, parts } = counting();
    await expect(
      perform(act, parts, { by: 1 }, { by: 'ada', seen, fourEyes: undefined }),
    ).rejects.toMatchObject({
      code: 'USAGE',
      message: 'the count changed meanwhile. Look at what would change again',
    });
    expect(parts.version).toBe(3);
  });

  it('is performed on the version that its author saw, and says if somebody else changed it between', async () => {
    const alone = counting();
    const done = await perform(
      alone.act,
      alone.parts,
      { by: 1 },
      { by: 'ada', seen: 3, fourEyes: undefined },
    );
    expect(await overtaken(alone.act, alone.parts, done, 3)).toBe('');
    const beside = counting({ change: 2 });
    const late = await perform(
      beside.act,
      beside.parts,
      { by: 1 },
      { by: 'ada', seen: 3, fourEyes: undefined },
    );
    expect(await overtaken(beside.act, beside.parts, late, 3)).toContain('may have changed the count');
  });
});

// ---- no surface changes the store by itself ----

const CHANGES =
  /\bstore\.(?:freeze|unfreeze|push|changeList|changePrices|expectOrder|cancelOrder|liftLockout|acceptClock|releaseApproval)\(/;
const SRC = join(import.meta.dirname, '../../src');
const directly = (text: string): boolean => CHANGES.test(text);

describe('commands, calls of the API and pages', () => {
  it('change the store through acts alone', () => {
    const found = ['cli', 'http', 'console'].flatMap((folder) =>
      readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts') && directly(readFileSync(join(SRC, folder, name), 'utf8')))
        .map((name) => `${folder}/${name}`),
    );
    expect(found).toEqual([]);
    expect(directly('await store.freeze({ reason, by })')).toBe(true);
  });
});
