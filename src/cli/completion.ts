import type { Argument, Command, Option } from 'commander';

/** Prints a script that completes commands and options in a shell. */
export function completion(shell: 'bash' | 'zsh', program: Command): number {
  process.stdout.write(shell === 'bash' ? bashScript(program) : zshScript(program));
  return 0;
}

/** The commands as the help lists them, with `help`, which the parser adds. */
const commandsOf = (program: Command): readonly Command[] => program.createHelp().visibleCommands(program);

const namesOf = (program: Command): readonly string[] => commandsOf(program).map((command) => command.name());

/** The options of every command as the help lists them, with `--help`, which the parser adds. */
const globalOptions = (program: Command): readonly Option[] => program.createHelp().visibleOptions(program);

/** The options of one command, without the hidden ones. */
const optionsOf = (command: Command): readonly Option[] => command.options.filter(({ hidden }) => !hidden);

const flagsOf = (options: readonly Option[]): readonly string[] =>
  options.flatMap(({ short, long }) => [short, long].filter((flag) => flag !== undefined));

/** The words that an option or an argument takes, if it takes no others. */
const choicesOf = ({ argChoices }: Option | Argument): readonly string[] => argChoices ?? [];

/** The words that the first argument of a command takes, if it takes no others. */
const firstWordsOf = (command: Command): readonly string[] =>
  command.registeredArguments.slice(0, 1).flatMap(choicesOf);

/** The options of all commands that take certain words, with those words. */
const optionsWithChoices = (program: Command): readonly Option[] =>
  program.commands.flatMap(optionsOf).filter((each) => choicesOf(each).length > 0);

function bashScript(program: Command): string {
  const common = flagsOf(globalOptions(program));
  const cases = program.commands.map(
    (command) =>
      `    ${command.name()}) words="${[...firstWordsOf(command), ...flagsOf(optionsOf(command)), ...common].join(' ')}" ;;`,
  );
  const values = optionsWithChoices(program).map(
    (each) => `    ${flagsOf([each]).join('|')}) words="${choicesOf(each).join(' ')}" ;;`,
  );
  return `# Completion for bash: eval "$(leasehold completion bash)"
_leasehold() {
  local word="\${COMP_WORDS[COMP_CWORD]}" command="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      --) return ;;
      ${namesOf(program).join(' | ')}) [ -n "$command" ] || command="\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$command" in
    "") words="${[...namesOf(program), ...common].join(' ')}" ;;
${cases.join('\n')}
    help) words="${namesOf(program).join(' ')}" ;;
  esac
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _leasehold leasehold
`;
}

function zshScript(program: Command): string {
  const described = (options: readonly Option[]): string =>
    options
      .flatMap(({ short, long, description }) =>
        [short, long].filter((flag) => flag !== undefined).map((flag) => zshEntry(flag, description)),
      )
      .join(' ');
  const commands = commandsOf(program).map((command) => zshEntry(command.name(), command.description()));
  const cases = program.commands.map(
    (command) => `    ${command.name()}) options=(${described(optionsOf(command))}) ;;`,
  );
  const values = optionsWithChoices(program).map(
    (each) => `    ${flagsOf([each]).join('|')}) compadd -- ${choicesOf(each).join(' ')}; return ;;`,
  );
  const firstWords = program.commands
    .filter((command) => firstWordsOf(command).length > 0)
    .map((command) => `    ${command.name()}) compadd -- ${firstWordsOf(command).join(' ')} ;;`);
  return `#compdef leasehold
# Completion for zsh: eval "$(leasehold completion zsh)" after compinit, or save this as _leasehold in a folder of $fpath.
_leasehold() {
  local -a commands options common
  local command="" each
  commands=(${commands.join(' ')})
  common=(${described(globalOptions(program))})
  for each in "\${(@)words[2,CURRENT-1]}"; do
    case "$each" in
      --) _files; return ;;
      ${namesOf(program).join('|')}) [[ -n "$command" ]] || command="$each" ;;
    esac
  done
  case "\${words[CURRENT-1]}" in
${values.join('\n')}
  esac
  case "$command" in
${firstWords.join('\n')}
  esac
  case "$command" in
    "") _describe command commands ;;
${cases.join('\n')}
    help) _describe command commands; return ;;
  esac
  options+=($common)
  _describe -o option options
}
# From a folder of $fpath, the first completion loads this file as the function, and calls it.
if [[ "\${funcstack[1]}" == _leasehold ]]; then
  _leasehold "$@"
else
  compdef _leasehold leasehold
fi
`;
}

const zshEntry = (name: string, description: string): string =>
  `'${`${name}:${description.replaceAll(':', '\\:')}`.replaceAll("'", "'\\''")}'`;
