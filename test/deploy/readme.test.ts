import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROOT, textOf } from './documents.ts';

const README = textOf('README.md');

it('every npm script that it names exists', () => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
  const named = [...README.matchAll(/npm run ([a-z:-]+)/g)].map(([, name = '']) => name);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

it('the policy of the README is that of the demo', () => {
  const [, shown = ''] = /```yaml\n(policy: [^]*?)```/.exec(README) ?? [];
  expect(parse(shown)).toEqual(parse(readFileSync(join(ROOT, 'config/policies/payments.yaml'), 'utf8')));
});
