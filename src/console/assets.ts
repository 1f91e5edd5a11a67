import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A file that the browser loads besides the pages. */
export interface Asset {
  readonly path: string;
  readonly contentType: string;
  readonly content: string;
}

export interface Assets {
  readonly files: readonly Asset[];
  /** The paths with the digest of the content, which may be cached for ever. */
  readonly stylesheet: string;
  readonly script: string;
}

const FOLDER = new URL('assets/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');

/** Reads the files once. */
export function loadAssets(): Assets {
  const stylesheet = read('console.css');
  const script = read('console.js');
  const named = (name: string, extension: string, content: string): string =>
    `/console/assets/${name}-${createHash('sha256').update(content).digest('hex').slice(0, 12)}.${extension}`;
  const paths = {
    stylesheet: named('console', 'css', stylesheet),
    script: named('console', 'js', script),
  };
  return {
    ...paths,
    files: [
      { path: paths.stylesheet, contentType: 'text/css; charset=utf-8', content: stylesheet },
      { path: paths.script, contentType: 'text/javascript; charset=utf-8', content: script },
      { path: '/console/assets/icon.svg', contentType: 'image/svg+xml', content: read('icon.svg') },
    ],
  };
}
