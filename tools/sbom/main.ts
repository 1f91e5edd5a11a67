import { readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { UNUSED } from '../image/prune.ts';

/*
 * Writes the bill of materials of the service, in CycloneDX 1.6: `npm run sbom -- FILE`.
 *
 * It lists the packages of package-lock.json that the image installs, with the hashes with which npm verifies
 * them. It needs no network and no installed packages, and the same lock file always gives the same text.
 */

interface Locked {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export interface Lock {
  readonly packages: Readonly<Record<string, Locked>>;
}

/** A package of the lock file with its path, such as `node_modules/zod`. The project's path is empty. */
type Entry = readonly [path: string, locked: Locked];

const ALGORITHMS: Readonly<Record<string, string>> = { sha512: 'SHA-512', sha256: 'SHA-256', sha1: 'SHA-1' };
const INSTALLED = 'node_modules/';

/** The bill of materials of a lock file, as JSON. */
export function billOf({ packages }: Lock): string {
  const entries = Object.entries(packages).filter(
    ([path, { dev, link }]) => dev !== true && link !== true && !UNUSED.some((name) => isOf(path, name)),
  );
  const listed = new Set(entries.map(([path]) => path));
  const project = entries.find(([path]) => path === '');
  if (project === undefined)
    throw new Error('package-lock.json has no entry for the project. Run npm install');
  const others = entries.filter(([path]) => path !== '');
  const workspaces = others.map(([path]) => path).filter((path) => !path.startsWith(INSTALLED));
  const dependencies = entries.map(([path, locked]) => ({
    ref: refOf(path),
    dependsOn: [...(path === '' ? workspaces : []), ...neededBy([path, locked], packages)]
      .filter((needed) => listed.has(needed))
      .map(refOf)
      .sort(),
  }));
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...componentOf(project), type: 'application' } },
    components: others.map(componentOf),
    dependencies,
  };
  return `${JSON.stringify(bill, undefined, 2)}\n`;
}

const isOf = (path: string, name: string): boolean =>
  path === INSTALLED + name || path.startsWith(`${INSTALLED}${name}/`);

const refOf = (path: string): string => (path === '' ? '.' : path);

function componentOf([path, locked]: Entry): object {
  const { version = '', license, integrity } = locked;
  const name = locked.name ?? path.slice(path.lastIndexOf(INSTALLED) + INSTALLED.length);
  return {
    type: 'library',
    'bom-ref': refOf(path),
    name,
    version,
    ...(integrity !== undefined && { hashes: hashesOf(integrity) }),
    ...(license !== undefined && { licenses: [{ expression: license }] }),
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  };
}

/** The hashes of `sha512-…`, which are in base64 and separated by blanks. */
function hashesOf(integrity: string): readonly object[] {
  return integrity.split(' ').map((each) => {
    const [algorithm = '', digest = ''] = each.split(/-(.*)/s);
    return { alg: ALGORITHMS[algorithm], content: Buffer.from(digest, 'base64').toString('hex') };
  });
}

/** The paths of the packages that a package loads: the nearest of each name, as Node looks for it. */
function neededBy([from, locked]: Entry, packages: Lock['packages']): readonly string[] {
  const { dependencies, optionalDependencies, peerDependencies } = locked;
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  return names.flatMap((name) => {
    for (let folder = from; ; folder = posix.dirname(folder)) {
      const path = posix.join(folder === '.' ? '' : folder, INSTALLED, name);
      const found = packages[path];
      if (found !== undefined) return found.link === true ? [found.resolved ?? ''] : [path];
      if (folder === '' || folder === '.') return [];
    }
  });
}

if (import.meta.main) {
  const [file] = process.argv.slice(2);
  if (file === undefined) throw new Error('the file is missing: run npm run sbom -- FILE');
  const lock = readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8');
  writeFileSync(file, billOf(JSON.parse(lock) as Lock));
}
