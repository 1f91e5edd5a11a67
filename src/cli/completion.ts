import { Argument, Command } from 'commander';
import type { CommandRow } from './command.ts';
import { commandsFor } from './commands.ts';

const SHELLS = ['bash', 'zsh', 'fish'];

export const completion: CommandRow = {
  path: 'completion',
  summary: 'Print the script with which a shell completes commands and options.',
  example: 'completion bash > /etc/bash_completion.d/countersign\ncompletion zsh\ncompletion fish',
  define: (command) => void command.addArgument(new Argument('<shell>', 'the shell').choices(SHELLS)),
  async run(session, call) {
    const [shell] = call.arguments;
    const next = nextWords(await commandsFor([]));
    const script = shell === 'fish' ? fishScript(next) : shell === 'zsh' ? zshScript(next) : bashScript(next);
    session.print(script, { shell, script });
    return 0;
  },
};

/** The words that may follow, by the words before them, such as `policy`; by the empty text for the first. */
type NextWords = ReadonlyMap<string, ReadonlySet<string>>;

function nextWords(rows: readonly CommandRow[]): NextWords {
  const next = new Map<string, Set<string>>();
  const add = (path: string, ...words: readonly string[]): void => {
    const known = next.get(path) ?? new Set();
    for (const word of words) known.add(word);
    next.set(path, known);
  };
  for (const { path, define } of rows) {
    const words = path.split(' ');
    for (const [index, word] of words.entries()) add(words.slice(0, index).join(' '), word);
    const command = new Command();
    define?.(command);
    const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
    const options = command.options.flatMap(({ long }) => long ?? []);
    add(path, ...choices, ...options, '--config', '--json', '--help');
  }
  return next;
}

/** `' policy'|'policy push'`: the words of a command so far, and one that continues them. */
const steps = (next: NextWords): readonly string[] =>
  [...next.keys()].filter((path) => path !== '').map((path) => (path.includes(' ') ? path : ` ${path}`));

const quoted = (text: string): string => `'${text}'`;

function bashScript(next: NextWords): string {
  const cases = [...next].map(
    ([path, words]) => `    ${quoted(path)}) words=${quoted([...words].join(' '))} ;;`,
  );
  return `_countersign() {
  local path='' word words=''
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$path $word" in
      ${steps(next).map(quoted).join('|')}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _countersign countersign`;
}

/** The functions of bash, which zsh can use. */
const zshScript = (next: NextWords): string =>
  `#compdef countersign\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(next)}`;

function fishScript(next: NextWords): string {
  const lines = [...next].map(
    ([path, words]) =>
      `complete -c countersign -n 'test "$(__countersign_path)" = "${path}"' -a ${quoted([...words].join(' '))}`,
  );
  return `function __countersign_path
  set -l path ''
  for word in (commandline -opc)[2..]
    switch "$path $word"
      case ${steps(next).map(quoted).join(' ')}
        set path (string trim -- "$path $word")
    end
  end
  echo $path
end
${lines.join('\n')}`;
}
