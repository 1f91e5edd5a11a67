import { spawnSync } from 'node:child_process';

/*
 * Runs before the tests (`pretest`), and with the argument `long` before the long ones: they start Redis
 * servers of their own, a browser, promtool, systemd-analyze, shells, ssh-keygen, and the runtimes of the
 * examples in docs/callbacks. Installs what is missing, where that can be done without a question, by apt-get
 * or brew. Otherwise it prints the command that does, and ends with 1. Without an optional program, its tests
 * are skipped.
 */

/** A program that the tests start. */
interface Program {
  /** Its names on the PATH. */
  readonly names: readonly string[];
  /** What the tests do with it. */
  readonly use: string;
  readonly title: string;
  readonly leastVersion: number;
  /** Finds the version in what `--version` prints. */
  readonly version: RegExp;
  /** Prints the version. `--version` without it. */
  readonly versionArgument?: string;
  /** Only the long tests start it. */
  readonly long?: true;
  /** The tests that start it are skipped where it is missing. */
  readonly optional?: true;
  /** The arguments that install it. */
  readonly apt: readonly string[];
  /** Absent if there is none for macOS. */
  readonly brew?: readonly string[];
}

const PROGRAMS: readonly Program[] = [
  {
    names: ['redis-server'],
    use: 'start Redis servers',
    title: 'Redis',
    leastVersion: 7,
    version: /\bv=([\d.]+)/,
    apt: ['redis-server'],
    brew: ['redis'],
  },
  {
    names: ['chromium', 'chromium-browser', 'google-chrome'],
    use: 'look at pages in a browser',
    title: 'Chromium',
    leastVersion: 128,
    version: /\b(?:Chromium|Chrome) ([\d.]+)/,
    apt: ['--no-install-recommends', 'chromium', 'fonts-dejavu-core'],
    brew: ['--cask', 'chromium'],
  },
  {
    names: ['promtool'],
    use: 'ask Prometheus which alerts fire',
    title: 'Prometheus',
    leastVersion: 2,
    version: /\bversion ([\d.]+)/,
    apt: ['--no-install-recommends', 'prometheus'],
    brew: ['prometheus'],
  },
  {
    names: ['zsh'],
    use: 'complete commands in zsh',
    title: 'zsh',
    leastVersion: 5,
    version: /^zsh ([\d.]+)/,
    apt: ['--no-install-recommends', 'zsh'],
    brew: ['zsh'],
  },
  {
    names: ['fish'],
    use: 'complete commands in fish',
    title: 'fish',
    leastVersion: 3,
    version: /version ([\d.]+)/,
    apt: ['--no-install-recommends', 'fish'],
    brew: ['fish'],
  },
  {
    names: ['ssh'],
    use: 'sign with SSH keys',
    title: 'OpenSSH',
    leastVersion: 9,
    version: /^OpenSSH_([\d.]+)/,
    versionArgument: '-V',
    apt: ['--no-install-recommends', 'openssh-client'],
    brew: ['openssh'],
  },
  {
    names: ['php'],
    use: 'run the example in PHP',
    title: 'PHP',
    leastVersion: 8,
    version: /^PHP ([\d.]+)/,
    optional: true,
    apt: ['--no-install-recommends', 'php-cli'],
    brew: ['php'],
  },
  {
    names: ['systemd-analyze'],
    use: 'verify the unit of systemd',
    title: 'systemd',
    leastVersion: 1,
    version: /^systemd (\d+)/,
    optional: true,
    apt: ['--no-install-recommends', 'systemd'],
  },
  {
    names: ['go'],
    use: 'run the example in Go',
    title: 'Go',
    leastVersion: 1,
    version: /\bgo([\d.]+)/,
    versionArgument: 'version',
    long: true,
    optional: true,
    apt: ['--no-install-recommends', 'golang-go'],
    brew: ['go'],
  },
  {
    names: ['javac'],
    use: 'run the example in Java',
    title: 'a JDK of version',
    leastVersion: 11,
    version: /^javac ([\d.]+)/,
    long: true,
    optional: true,
    apt: ['--no-install-recommends', 'default-jdk-headless'],
    brew: ['openjdk'],
  },
];

type Command = readonly [program: string, ...args: string[]];

const succeeds = ([program, ...args]: Command): boolean => spawnSync(program, args).status === 0;

/** The name and version of the first that is on the PATH. */
function found({
  names,
  version,
  versionArgument = '--version',
}: Program): { readonly name: string; readonly version: string } | undefined {
  for (const name of names) {
    const { stdout, stderr, error } = spawnSync(name, [versionArgument], { encoding: 'utf8' });
    if (error !== undefined) continue;
    // `ssh -V` prints it as an error.
    return { name, version: (version.exec(stdout) ?? version.exec(stderr))?.[1] ?? 'of an unknown version' };
  }
  return undefined;
}

/** How it is installed here: the commands as they are run, and as a person would write them. */
function installation({
  apt,
  brew,
}: Program): { readonly commands: readonly Command[]; readonly text: string } | undefined {
  if (succeeds(['apt-get', '--version'])) {
    const rights: readonly string[] = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
    const by = (...args: string[]): Command => {
      const [program = '', ...more] = [
        ...rights,
        'env',
        'DEBIAN_FRONTEND=noninteractive',
        'apt-get',
        ...args,
      ];
      return [program, ...more];
    };
    const sudo = rights.length === 0 ? '' : 'sudo ';
    return {
      commands: [by('update', '-qq'), by('install', '-qq', '--yes', ...apt)],
      text: `${sudo}apt-get update && ${sudo}apt-get install --yes ${apt.join(' ')}`,
    };
  }
  if (brew === undefined || !succeeds(['brew', '--version'])) return undefined;
  return {
    commands: [['brew', 'install', '--quiet', ...brew]],
    text: `brew install ${brew.join(' ')}`,
  };
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** Installs it. Returns why that is not possible. */
function install(program: Program): string | undefined {
  const { use, title, leastVersion } = program;
  const [name] = program.names;
  const how = installation(program);
  if (how === undefined) {
    return `the tests ${use}, and there is no ${name} on the PATH: install ${title} ${leastVersion} or newer`;
  }
  console.error(`the tests ${use}, and there is no ${name}: ${how.text}`);
  const [last] = how.commands
    .map(([command, ...args]) => spawnSync(command, args, { stdio: 'inherit' }))
    .slice(-1);
  if (found(program) !== undefined) return undefined;
  return last?.status === 0
    ? `${name} is installed, and not on the PATH: put its folder there`
    : `${name} could not be installed without you: run\n\n  ${how.text}\n`;
}

function requireNewEnough(program: Program): void {
  const { name, version } = found(program) ?? { name: program.names[0], version: 'of an unknown version' };
  const { leastVersion } = program;
  if (Number.parseInt(version, 10) >= leastVersion) return;
  fail(
    `${name} ${version} is on the PATH, and the tests need version ${leastVersion} or newer: ` +
      'put one before it on the PATH',
  );
}

const long = process.argv.includes('long');
for (const program of PROGRAMS.filter((one) => long || one.long !== true)) {
  const missing = found(program) === undefined ? install(program) : undefined;
  if (missing === undefined) requireNewEnough(program);
  else if (program.optional === true) console.error(`${missing}\nIts tests are skipped.`);
  else fail(missing);
}
