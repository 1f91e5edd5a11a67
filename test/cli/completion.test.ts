import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { runCall } from './terminal.ts';

/** The words before the one that is completed, and what it begins with; then what it may become. */
const COMPLETIONS = [
  [['countersign', 'comp'], ['completion']],
  [['countersign', 'policy', 'pu'], ['push']],
  [['countersign', 'policy', 'push', '--mes'], ['--message']],
  [['countersign', 'policy', 'push', '--by', 'ada', '--mes'], ['--message']],
  [
    ['countersign', 'sandbox', 're'],
    ['reset', 'restore'],
  ],
  [['countersign', 'completion', 'z'], ['zsh']],
  [['countersign', 'policy', 'nothing-begins-so'], []],
] as const;

/** The file of the script for a shell. */
async function scriptFor(shell: string): Promise<string> {
  const { code, out } = await runCall(['completion', shell]);
  expect(code).toBe(0);
  const file = join(temporaryFolder(), shell);
  writeFileSync(file, out);
  return file;
}

function outputOf(shell: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(shell, args, { encoding: 'utf8', timeout: 60_000 });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

const wordsOf = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '');

describe('a shell completes', () => {
  it.each(COMPLETIONS)('in bash: %j', async (typed, expected) => {
    const words = typed.map((word) => `'${word}'`).join(' ');
    const call = `COMP_WORDS=(${words}); COMP_CWORD=${typed.length - 1}; _countersign; echo "\${COMPREPLY[*]}"`;
    expect(wordsOf(outputOf('bash', '-c', `source ${await scriptFor('bash')}; ${call}`))).toEqual(expected);
  });

  it.each(COMPLETIONS)('in fish: %j', async (typed, expected) => {
    const call = `source ${await scriptFor('fish')}; cd (mktemp -d); complete -C "${typed.join(' ')}"`;
    expect(wordsOf(outputOf('fish', '--no-config', '-c', call))).toEqual(expected);
  });

  it('in zsh, at its prompt', async () => {
    const script = await scriptFor('zsh');
    const typed = String.raw`
      zmodload zsh/zpty
      zpty z zsh -f -i
      until_shown() {
        local shown='' part
        repeat 1000; do
          zpty -r -t z part 2> /dev/null && shown+=$part
          [[ $shown == *$1* ]] && print -r -- "shown: $1" && return
          sleep 0.02
        done
        print -r -- "not shown: $1, but $shown"
      }
      zpty -w z 'autoload -U compinit && compinit -u -D; source ${script}; echo rea"dy"'
      until_shown ready
      zpty -n -w z $'countersign policy pu\t'
      until_shown 'policy push'
      zpty -n -w z $'--mes\t'
      until_shown '--message'`;
    expect(outputOf('zsh', '-f', '-c', typed)).toBe('shown: ready\nshown: policy push\nshown: --message\n');
  });
});

it.each([[[]], [['tcsh']], [['bash', 'zsh']]])('another shell is an error: %j', async (shells) => {
  expect(await runCall(['completion', ...shells])).toMatchObject({ code: 2, out: '' });
});
