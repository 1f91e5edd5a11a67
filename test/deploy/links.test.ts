import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, textOf } from './documents.ts';

const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path)),
];

/** The anchors that a Markdown file gives its headings. */
function anchorsOf(path: string): readonly string[] {
  const outsideFences = textOf(path).replaceAll(/^ *```[^]*?^ *```$/gm, '');
  return [...outsideFences.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

const links = DOCUMENTS.flatMap((path) =>
  [...textOf(path).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target = '']) => [path, target] as const),
);

it('docs/README.md leads to every page of docs', () => {
  const linked = new Set(links.filter(([path]) => path === 'docs/README.md').map(([, target]) => target));
  const pages = readdirSync(join(ROOT, 'docs')).filter(
    (name) => name.endsWith('.md') && name !== 'README.md',
  );
  expect(pages.filter((name) => !linked.has(name))).toEqual([]);
});

describe('links of the documents lead somewhere:', () => {
  it('there are many', () => {
    expect(links.length).toBeGreaterThan(40);
  });

  it.each(links)('from %s to %s', (path, target) => {
    const [file = '', anchor = ''] = target.split('#');
    const to = file === '' ? path : relative(ROOT, join(ROOT, dirname(path), file));
    const anchors = existsSync(join(ROOT, to))
      ? ['', ...(to.endsWith('.md') ? anchorsOf(to) : [])]
      : ['there is no such file'];
    expect(anchors).toContain(anchor);
  });
});
